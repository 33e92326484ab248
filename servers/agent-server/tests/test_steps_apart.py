"""Steps that are made apart from their run, by processes that may die, be cut off, or make the same step at once."""

import asyncio
from dataclasses import replace

import psycopg
import pytest
from agents import Scripted, eventually, until
from apart import Making, left_of, process, telling

from agent_server.executor import EventLimitError, RunResult, TransientError
from agent_server.store import StepLostError


DONE = RunResult(status="succeeded", output="done")


async def say(run, text):
    await run.tell("text", {"text": text})


class Gate:
    """A step that tells something and waits until the test goes on, and then does as its test says."""

    def __init__(self, after=None):
        self.entered, self.left, self.made = asyncio.Event(), asyncio.Event(), 0
        self._after = after

    async def __call__(self, run):
        self.made += 1
        number = self.made
        await say(run, f"{run.key}{number}")
        self.entered.set()
        try:
            await self.left.wait()
        except asyncio.CancelledError:
            if self._after is None:
                raise
            return self._after()
        return str(number).encode()


async def test_what_a_step_has_told_is_stored_before_its_error_is_raised(database):
    async def fail(run):
        await say(run, "before")
        raise ValueError("its own")

    async with process(database, Making(fail=fail)) as here:
        run_id, hold = await here.begin()
        with pytest.raises(ValueError, match="its own"):
            await here.make(hold, step="fail")
        await here.store.end(hold, DONE, telling("after"))
        told = await here.told(run_id)

    assert told == ["before", "after"]


async def test_what_a_step_has_told_that_is_cancelled_is_stored(database):
    gate = Gate()

    async with process(database, Making(gate=gate)) as here:
        run_id, hold = await here.begin()
        making = asyncio.create_task(here.make(hold, step="gate"))
        await gate.entered.wait()
        executing = here.runs.statistics(tenant="ada").executing
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
        await here.store.end(hold, DONE, telling())
        told = await here.told(run_id)
        idle = here.runs.statistics().executing

    assert told == ["a1"]
    assert (executing, idle) == (1, 0)


def _raise():
    raise ValueError("its own")


@pytest.mark.parametrize("after", [None, lambda: b"all the same", _raise])
async def test_a_step_whose_run_is_taken_over_ends_soon_and_leaves_nothing(database, after):
    gate = Gate(after)

    async with process(database, Making(gate=gate)) as here:
        run_id, hold = await here.begin()
        making = asyncio.create_task(here.make(hold, step="gate"))
        await gate.entered.wait()
        other = await here.store.hold(run_id, "other")
        with pytest.raises(StepLostError):
            await making
        told, steps = await here.told(run_id), await here.store.read_steps(other)

    assert (told, steps) == ([], {})


@pytest.mark.parametrize("is_held_back", [False, True])
async def test_of_a_step_only_the_newest_try_is_stored(database, is_held_back, monkeypatch):
    gate = Gate()
    if is_held_back:
        monkeypatch.setattr("agent_server._engine.gathering._GATHER_SECONDS", 600)

    async with process(database, Making(gate=gate)) as here:
        run_id, hold = await here.begin()
        first = asyncio.create_task(here.make(hold, step="gate"))
        await gate.entered.wait()
        if not is_held_back:
            await until(here.runs, run_id, lambda run: run.last_event == 2)
        second = asyncio.create_task(here.make(hold, step="gate", number=2))
        await eventually(lambda: gate.made == 2)
        with pytest.raises(StepLostError):
            await here.make(hold, step="gate")
        gate.left.set()
        with pytest.raises(StepLostError):
            await first
        made = await second
        again = await here.make(hold, step="gate", number=1)
        told = await here.told(run_id)

    assert (made, again, gate.made) == (b"2", b"2", 2)
    assert told == (["a2"] if is_held_back else ["a1", "a2"])


async def test_a_step_that_is_made_twice_at_once_has_one_result(database):
    gate = Gate()

    async with process(database, Making(gate=gate)) as here:
        run_id, hold = await here.begin()
        making = [asyncio.create_task(here.make(hold, step="gate")) for _ in "12"]
        await eventually(lambda: gate.made == 2)
        gate.left.set()
        made = await asyncio.gather(*making)
        steps, told = await here.store.read_steps(hold), await here.told(run_id)

    assert made == [steps["a"], steps["a"]]
    assert len(told) == len(set(told))


async def test_steps_of_one_run_are_made_at_once_by_two_processes(database):
    async with process(database) as here, process(database) as there:
        run_id, hold = await here.begin()
        keys = [f"tool:{number}" for number in range(8)]
        made = await asyncio.gather(
            *(
                (here, there)[index % 2].make(hold, key, telling=telling("x", "y"))
                for index, key in enumerate(keys)
            )
        )
        told, steps = await here.told(run_id), await there.store.read_steps(hold)

    assert made == [key.encode() for key in keys]
    assert steps == {key: key.encode() for key in keys}
    assert told[:2] == ["x", "y"]
    assert sorted(told[2:]) == keys


async def test_a_step_is_made_again_after_a_transient_error(database):
    tries = []

    async def waver(run):
        tries.append(run.is_again)
        if len(tries) == 1:
            raise TransientError("busy", retry_after_seconds=0)
        await say(run, f"try {len(tries)}")
        if len(tries) == 2:
            raise TransientError("broken off")
        return b"made"

    async with process(database, Making(waver=waver)) as here:
        run_id, hold = await here.begin()
        with pytest.raises(TransientError):  # it has told something already
            await here.make(hold, step="waver")
        made, told = await here.make(hold, step="waver", number=2), await here.told(run_id)

    assert (made, tries) == (b"made", [False, False, True])
    assert told == ["try 2", "try 3"]


async def test_a_step_that_tells_too_much_is_stopped_and_not_recorded(database):
    async def flood(run):
        for number in range(50):
            await say(run, f"{number:0100}")
        await asyncio.sleep(600)

    async def more(run):
        for number in range(9):
            await say(run, f"{number}")
        return b"more"

    async with process(database, Making(flood=flood, more=more), max_events=10) as here:
        run_id, hold = await here.begin()
        for step in ("flood", "more"):
            with pytest.raises(EventLimitError, match="at most 10 events"):
                await here.make(hold, step=step)
        with pytest.raises(EventLimitError):
            await here.make(hold, "b", telling=telling("x"))
        told, steps = await here.told(run_id), await here.store.read_steps(hold)
        await here.store.end(hold, RunResult(status="failed"), telling("x"))
        events = await here.events(run_id)

    assert told == [f"{number:0100}" for number in range(9)]
    assert steps == {}
    assert len(events) == 11


async def test_what_a_run_tells_is_stored_up_to_its_limit(database):
    async with process(database, max_events=10, max_event_bytes=1024) as here:
        run_id, hold = await here.begin()
        with pytest.raises(EventLimitError, match="1024 bytes"):
            await here.store.tell(hold, telling("x", "y" * 500, "z" * 900))
        with pytest.raises(EventLimitError):
            await here.store.tell(hold, telling("x", "y" * 500, "z" * 900))
        await here.store.end(hold, DONE, telling("x", "y" * 500, "z", "z" * 900, "late"))
        told, run = await here.told(run_id), await here.runs.get(run_id, tenant="ada")

    assert told == ["x", "y" * 500, "z"]
    assert run.status == "succeeded"


async def test_what_is_told_too_early_is_refused_until_the_rest_has_come(database):
    async with process(database) as here:
        run_id, hold = await here.begin()
        late, early = telling("y", first=1), telling("x")
        with pytest.raises(ValueError, match="first: expected at most 0"):
            await here.make(hold, telling=late)
        with pytest.raises(ValueError, match="first: expected"):
            await here.store.tell(hold, late)
        for one in (early, late, early, late, telling("x", "y", "z"), late):
            await here.store.tell(hold, one)
        await here.store.end(hold, DONE, telling("last", first=7))
        told = await here.told(run_id)

    assert told == ["x", "y", "z", "last"]


async def test_a_step_may_not_tell_what_the_server_does(database):
    async def forge(run):
        await run.tell("run_succeeded", {})

    async with process(database, Making(forge=forge)) as here:
        _, hold = await here.begin()
        with pytest.raises(ValueError, match="none of the server's own"):
            await here.make(hold, step="forge")


async def test_what_is_told_after_a_step_was_made_stands_behind_it(database):
    tasks, is_made = set(), asyncio.Event()

    async def tell_late(run):
        await is_made.wait()
        await say(run, "late")

    async def haste(run):
        tasks.add(asyncio.create_task(tell_late(run)))
        return b"made"

    async with process(database, Making(haste=haste)) as here:
        run_id, hold = await here.begin()
        await here.make(hold, step="haste")
        await here.store.tell(hold, telling("x"))
        is_made.set()
        await until(here.runs, run_id, lambda run: run.last_event == 3)
        told = await here.told(run_id)

    assert told == ["x", "late"]


@pytest.mark.postgresql
async def test_a_try_that_waits_for_a_later_one_to_begin_stores_nothing(cluster):
    gate, database = Gate(), cluster.create()

    async with process(database, Making(gate=gate)) as here:
        run_id, hold = await here.begin()
        making = asyncio.create_task(here.make(hold, step="gate"))
        await gate.entered.wait()
        with psycopg.connect(database) as connection:
            connection.execute("SELECT 1 FROM agent_runs FOR UPDATE")
            gate.left.set()
            await asyncio.sleep(0.3)
            connection.execute("UPDATE agent_run_marks SET tries = 2")
        with pytest.raises(StepLostError):
            await making
        told = await here.told(run_id)

    assert told == []


@pytest.mark.postgresql
async def test_two_processes_that_lock_runs_in_another_order_do_not_take_the_database_for_away(
    cluster, caplog
):
    database = cluster.create()

    def lock(connection, hold):
        connection.execute(f"SELECT 1 FROM agent_runs WHERE seq = {hold.seq} FOR UPDATE")

    async with process(database) as here:
        holds = [(await here.begin())[1] for _ in range(3)]
        with psycopg.connect(database) as other, psycopg.connect(database) as third:
            lock(third, holds[2])
            lock(other, holds[1])
            told = [here.store.tell(hold, telling("x")) for hold in (holds[2], *holds[:2])]
            tasks = [asyncio.create_task(one) for one in told]
            await asyncio.sleep(0.2)
            third.commit()  # the other two are told in one transaction
            await asyncio.sleep(0.3)
            await asyncio.to_thread(lock, other, holds[0])
            other.commit()
        await asyncio.gather(*tasks)

    assert "away" not in caplog.text


@pytest.mark.parametrize("name", ["a", "%kept:", "\0", "\udcff", "ä" * 4000])
async def test_what_a_step_keeps_is_found_by_later_ones_until_the_run_waits_or_ends(database, name):
    heard = []

    async def keep(run):
        await run.keep(name, run.key.encode())
        heard.append(await run.find([name, "unknown"]))
        return b"made"

    async with process(database, Making(keep=keep)) as here, process(database) as there:
        _, hold = await here.begin()
        for key in ("a", "Kept:b", "kept:c"):
            await here.make(hold, key, step="keep")
        steps = await here.store.read_steps(hold)
        await there.store.end(hold, DONE, telling())

    assert heard == [{name: b"a"}] * 3
    assert steps == dict.fromkeys(("a", "Kept:b", "kept:c"), b"made")
    assert left_of(database) == (0, 0)


class Steered(Making):
    """An executor whose runs are told things."""

    def check_steer(self, _agent, message):
        return message


async def test_a_step_reads_what_its_run_was_told_and_no_step_is_recorded_of_it(database):
    async def hear(run):
        return str(await run.read_steered(1)).encode()

    async with process(database, Steered(hear=hear)) as here:
        run_id, hold = await here.begin()
        for message in ("a", {"b": ["c"]}, "d"):
            await here.runs.steer(run_id, message, tenant="ada")
        heard = await here.make(hold, step="hear")
        steps = await here.store.read_steps(hold)
        await here.store.end(hold, replace(DONE, steered=2), telling())
        run = await here.runs.get(run_id, tenant="ada")

    assert (heard, steps) == (b"[{'b': ['c']}, 'd']", {"a": heard})
    assert run.result.details == {"unread": ["d"]}
    assert left_of(database) == (0, 0)


async def test_a_step_keeps_nothing_for_a_run_that_is_lost(database):
    gate = Gate()

    async def keep(run):
        await gate.left.wait()
        await run.keep("a", b"a")

    async with process(database, Making(keep=keep)) as here:
        run_id, hold = await here.begin()
        making = asyncio.create_task(here.make(hold, step="keep"))
        await eventually(lambda: here.store.executing == {"ada": 1})
        await here.store.hold(run_id, "other")
        gate.left.set()
        with pytest.raises(StepLostError):
            await making


async def test_an_executor_that_makes_no_steps_is_refused(database):
    async with process(database, Scripted()) as here:
        _, hold = await here.begin()
        with pytest.raises(TypeError, match="one that makes steps"):
            await here.make(hold)
