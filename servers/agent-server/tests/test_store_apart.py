"""Runs of an engine of another package, which holds them and has their steps made in any process."""

import asyncio
from contextlib import asynccontextmanager
from hashlib import sha256

import psycopg
import pytest
from agents import (
    PATIENCE,
    PAY,
    Scripted,
    away,
    engine,
    eventually,
    finish,
    pay,
    query,
    start,
    until,
    watch,
)
from apart import Making, left_of, process, telling
from cryptography.fernet import Fernet

from agent_server.engine import StorageError
from agent_server.executor import (
    Approval,
    EventLimitError,
    InputAnswer,
    InputRequest,
    Resumption,
    RunResult,
    Waiting,
)
from agent_server.runs import NewAnswer, RunNotFoundError
from agent_server.store import OpenRun, RunFacts, StepLostError


WAITING = Waiting(request=InputRequest(approvals=[PAY], results=[]), state=b"state")
GIVEN = InputAnswer(approvals={"c1": Approval(approved=True)})
WAIT_ID = "0" * 32
DONE = RunResult(status="succeeded", output="done")


async def test_a_run_is_held_has_its_steps_made_and_ends(database):
    async with process(database) as here:
        run_id, hold = await here.begin(metadata={"case": "1"})
        facts = await here.store.read_facts(hold)
        made = [await here.make(hold, key, telling=telling("x", "y")) for key in ("a", "b", "a")]
        recorded, found = (
            await here.store.read_steps(hold),
            await here.runs.get(run_id, tenant="ada"),
        )
        await here.store.end(hold, DONE, telling("x", "y", "z"))
        ended = await here.runs.get(run_id, tenant="ada")
        told, events = await here.told(run_id), await here.events(run_id)

    assert facts == RunFacts(
        run_id=run_id,
        tenant="ada",
        agent="echo",
        request={"question": "why"},
        metadata={"case": "1"},
        part=0,
        resumption=None,
    )
    assert made == [b"a", b"b", b"a"]
    assert recorded == {"a": b"a", "b": b"b"}
    assert (found.status, found.attempt) == ("running", 1)
    assert (ended.status, ended.result.output) == ("succeeded", "done")
    assert told == ["x", "y", "a", "b", "z"]
    assert (events[0].type, events[-1].type) == ("run_started", "run_succeeded")
    assert left_of(database) == (0, 0)


async def test_a_run_waits_and_goes_on_from_its_state_as_a_new_part(database):
    async with process(database) as here:
        run_id, hold = await here.begin()
        await here.make(hold, telling=telling("x"))
        waits = [await here.store.wait(hold, WAITING, WAIT_ID, telling("x", "y")) for _ in "12"]
        standing = await here.store.read_standing(run_id)
        left, held = left_of(database), await here.store.hold(run_id, "other")
        await here.runs.answer(run_id, NewAnswer(wait_id=WAIT_ID, answer=GIVEN), tenant="ada")
        after = await here.store.hold(run_id, "workflow")
        facts = await here.store.read_facts(after)
        with pytest.raises(StepLostError):
            await here.make(hold)
        await here.make(after, telling=telling("z"))
        late = await here.store.wait(hold, WAITING, WAIT_ID, telling("x", "y"))
        told = await here.told(run_id)

    assert waits == ["waiting", "waiting"]
    assert (standing.status, standing.waiting_for.request, standing.waiting_for.wait_id) == (
        "waiting",
        WAITING.request,
        WAIT_ID,
    )
    assert left == (0, 0)
    assert held is None
    assert (facts.part, facts.resumption) == (1, Resumption(state=b"state", answer=GIVEN))
    assert late == "left"
    assert told == ["x", "a", "y", "z", "a"]


async def test_a_run_is_held_again_by_its_owner_and_taken_over_by_another(database):
    async with process(database) as here, process(database) as there:
        run_id, hold = await here.begin()
        again = await there.store.hold(run_id, "workflow")
        other = await there.store.hold(run_id, "other")
        calls = (
            here.make(hold),
            here.store.tell(hold, telling("lost")),
            here.store.read_facts(hold),
        )
        for call in calls:
            with pytest.raises(StepLostError):
                await call
        await here.store.end(hold, DONE, telling("lost"))
        waits = await here.store.wait(hold, WAITING, WAIT_ID, telling("lost"))
        run, told = await here.runs.get(run_id, tenant="ada"), await here.told(run_id)

    assert again == hold
    assert other.attempt == 2
    assert waits == "left"
    assert (run.status, told) == ("running", [])


async def test_whoever_takes_a_run_over_tells_and_makes_only_what_is_missing(database):
    async with process(database) as here:
        run_id, hold = await here.begin()
        for number in (1, 2, 3):
            with pytest.raises(KeyError):
                await here.make(hold, "b", number=number, step="unknown", telling=telling("x"))
        await here.make(hold, telling=telling("x"))
        after = await here.store.hold(run_id, "other")
        made = [await here.make(after, key, telling=telling("x", "y")) for key in ("a", "b")]
        told = await here.told(run_id)

    assert made == [b"a", b"b"]
    assert told == ["x", "a", "y", "b"]


@pytest.mark.usefixtures("living")
async def test_neither_engine_touches_the_runs_of_the_other(database):
    async def rest(_run):
        await asyncio.sleep(600)

    both = Making(scripts={"rest": rest})
    async with (
        process(database, both) as here,
        engine(database, both, server_name="workflow", lease_seconds=0.3) as tables,
    ):
        ours, hold = await here.begin()
        waiting, held = await here.begin()
        await here.store.wait(held, WAITING, WAIT_ID, telling())
        queued = await here.start()
        theirs = await start(tables, "rest")
        await until(tables, theirs, lambda run: run.status == "running")
        calls = (here.store.hold, here.store.claim)
        taken = [await call(theirs, "workflow") for call in calls]
        await here.store.end_run(theirs, None)
        standing = await here.store.read_standing(theirs)
        open_runs = await here.store.read_open(seconds=0)
        await finish(tables, await start(tables))  # the servers have looked at all runs
        async with engine(database, both, server_name="other") as others:
            await finish(others, await start(others))
        runs = [await tables.get(one, tenant="ada") for one in (ours, waiting, queued, theirs)]
        await here.make(hold)

    assert taken == [None, None]
    assert standing is None
    assert [one.run_id for one in open_runs] == [ours, waiting, queued]
    assert [one.status for one in runs] == ["running", "waiting", "queued", "running"]
    assert [one.attempt for one in runs] == [1, 1, 0, 1]


async def test_a_run_that_is_to_be_cancelled_ends_instead_of_waiting(database):
    async with process(database) as here:
        run_id, hold = await here.begin()
        await here.make(hold)
        watching = asyncio.create_task(watch(here.runs, run_id))
        await here.runs.cancel(run_id, tenant="ada", reason="no longer wanted")
        (one,) = await here.store.read_open(seconds=0)
        waits = [await here.store.wait(hold, WAITING, WAIT_ID, telling("x")) for _ in "12"]
        run, events = await here.runs.get(run_id, tenant="ada"), await watching
        ended = here.runs.statistics(tenant="ada").ended

    assert one.is_cancelled
    assert waits == ["left", "left"]
    assert (run.status, ended) == ("cancelled", {"cancelled": 1})
    assert [event.type for event in events] == ["run_started", "text", "text", "run_cancelled"]
    assert events[-1].data == {"reason": "no longer wanted"}
    assert left_of(database) == (0, 0)


async def test_a_run_that_may_not_wait_goes_on(database):
    async with process(database, max_waiting_per_tenant=1, max_events=10) as here:
        _, hold = await here.begin()
        await here.store.wait(hold, WAITING, WAIT_ID, telling())
        run_id, hold = await here.begin()
        waits = await here.store.wait(hold, WAITING, WAIT_ID, telling("x"))
        with pytest.raises(EventLimitError):
            await here.store.wait(hold, WAITING, WAIT_ID, telling(*"x234567890"))
        run = await here.runs.get(run_id, tenant="ada")
        await here.store.end(hold, DONE, telling())

    assert (waits, run.status, run.last_event) == ("full", "running", 10)


@pytest.mark.parametrize("how", ["end", "end_run", "hold", "claim", "cancel"])
async def test_nothing_is_left_of_a_run_that_ends_whoever_ends_it(database, how):
    executor = Making(interrupted=lambda _run_id, _attempts: RunResult(status="failed"))
    async with process(database, executor) as here:
        run_id, hold = await here.begin()
        await here.make(hold, telling=telling("x"))
        await here.runs.cancel(run_id, tenant="ada")
        calls = {
            "end": lambda: here.store.end(hold, None, telling("x", "y")),
            "end_run": lambda: here.store.end_run(run_id, None),
            "hold": lambda: here.store.hold(run_id, "other"),
            "claim": lambda: here.store.claim(run_id, "other"),
            "cancel": lambda: here.store.wait(hold, WAITING, WAIT_ID, telling()),
        }
        for _ in "12":
            assert await calls[how]() in (None, True, False, "left")
        run, events = await here.runs.get(run_id, tenant="ada"), await here.events(run_id)
        ended = here.runs.statistics(tenant="ada").ended

    assert (run.status, ended) == ("cancelled", {"cancelled": 1})
    assert [event.type for event in events].count("run_cancelled") == 1
    assert left_of(database) == (0, 0)


async def test_who_watches_a_run_hears_what_is_told_of_it_wherever_that_is(database):
    async def next_texts(batches):
        async with asyncio.timeout(PATIENCE):
            return [event.data.get("text", event.type) for event in await anext(batches)]

    async with process(database) as here, process(database) as there:
        run_id, hold = await here.begin()
        watching = [one.runs.watch_events(run_id, tenant="ada", after=1) for one in (here, there)]
        for who, text in ((here, "x"), (there, "y")):
            heard = [asyncio.create_task(next_texts(one)) for one in watching]
            await asyncio.sleep(0.1)
            await who.make(hold, text)
            assert await asyncio.gather(*heard) == [[text], [text]]
        await here.store.wait(hold, WAITING, WAIT_ID, telling("z"))
        rest = [await next_texts(one) for one in watching]
        for one in watching:
            with pytest.raises(StopAsyncIteration):
                await next_texts(one)

    assert rest == [["z", "run_waiting"], ["z", "run_waiting"]]


async def test_a_run_is_executed_as_a_whole_and_goes_on_after_it_has_waited(database):
    async with process(database, Scripted(pay=pay)) as here:
        run_id = await here.start("pay")
        first = await here.store.claim(run_id, "1")
        outcomes = [await first.task]
        again = await here.store.claim(run_id, "1")
        asked = (await here.store.read_standing(run_id)).waiting_for
        given = InputAnswer(approvals=GIVEN.approvals, results={"c2": 1})
        await here.runs.answer(run_id, NewAnswer(wait_id=asked.wait_id, answer=given), tenant="ada")
        second = await here.store.claim(run_id, "2")
        executing = here.runs.statistics(tenant="ada").executing
        outcomes.append(await second.task)
        asked = (await here.store.read_standing(run_id)).waiting_for
        await here.runs.answer(
            run_id,
            NewAnswer(wait_id=asked.wait_id, answer=InputAnswer(answer="good")),
            tenant="ada",
        )
        outcomes.append(await (await here.store.claim(run_id, "3")).task)
        run, standing = (
            await here.runs.get(run_id, tenant="ada"),
            (await here.store.read_standing(run_id)).status,
        )
        idle = here.runs.statistics().executing

    assert again is None
    assert outcomes == ["waiting", "waiting", "ended"]
    assert (run.status, run.result.output["was"], standing) == (
        "succeeded",
        "good",
        "succeeded",
    )
    assert (executing, idle) == (1, 0)


async def tick(run):
    while True:
        await run.tell("text", {"text": f"{run.attempt}"})
        await asyncio.sleep(0.05)


async def test_whoever_claims_a_running_run_takes_its_holder_for_dead(database):
    executor = Scripted(tick=tick)
    async with (
        process(database, executor, max_attempts=2) as here,
        process(database, executor, max_attempts=2) as there,
    ):
        run_id = await there.start("tick")
        first = await here.store.claim(run_id, "1")
        second = await there.store.claim(run_id, "2")
        outcomes = [await first.task]
        await until(here.runs, run_id, lambda run: run.last_event > 3)
        third = await here.store.claim(run_id, "3")
        outcomes.append(await second.task)
        run, told = await here.runs.get(run_id, tenant="ada"), await here.told(run_id)

    assert third is None
    assert outcomes == ["left", "left"]
    assert (run.result.error_type, set(told)) == ("interrupted", {"2"})


async def test_a_claimed_run_hears_of_its_cancel_from_the_database(database):
    begun, heard = [], []

    async def hang(run):
        begun.append(run.run_id)
        try:
            await asyncio.sleep(600)
        finally:
            heard.append(run.cancel_reason)

    async with process(database, Scripted(hang=hang)) as here, process(database) as there:
        wanted, unwanted = [await here.start("hang") for _ in "12"]
        going, ending = [await here.store.claim(one, "1") for one in (wanted, unwanted)]
        await eventually(lambda: len(begun) == 2)
        reason = await here.store.read_cancel_reason(unwanted)
        await there.runs.cancel(unwanted, tenant="ada", reason="no longer wanted")
        outcome = await ending.task
        going.give_up()
        await going.task

    assert (reason, outcome) == (None, "ended")
    assert heard == ["no longer wanted", None]


async def test_a_claimed_run_is_cancelled_or_given_up(database):
    outcomes, found, begun = [], [], asyncio.Semaphore(0)

    async def hang(_run):
        begun.release()
        await asyncio.sleep(600)

    async with process(database, Scripted(hang=hang), max_attempts=1) as here:
        for has_begun in (False, True):
            run_id = await here.start("hang")
            first = await here.store.claim(run_id, "1")
            if has_begun:
                await begun.acquire()
            first.give_up()
            outcomes += [await first.task, (await here.store.read_standing(run_id)).status]
            second = await here.store.claim(run_id, "2")
            if has_begun:
                await begun.acquire()
            second.cancel("no longer wanted")
            outcomes.append(await second.task)
            run = await here.runs.get(run_id, tenant="ada")
            found.append((run.status, run.attempt))

    assert outcomes == ["left", "queued", "ended"] * 2
    assert found == [("cancelled", 2)] * 2


async def test_a_claim_that_nobody_waits_for_any_more_does_not_count(tmp_path):
    path = tmp_path / "runs.sqlite"
    async with process(f"sqlite:///{path}", max_attempts=1) as here:
        run_id = await here.start()
        with away(path):
            claiming = asyncio.create_task(here.store.claim(run_id, "1"))
            await asyncio.sleep(0.1)
            claiming.cancel()
            with pytest.raises(asyncio.CancelledError):
                await claiming
        await until(here.runs, run_id, lambda run: (run.status, run.attempt) == ("queued", 1))
        outcome = await (await here.store.claim(run_id, "2")).task
        late = asyncio.create_task(here.store.claim(run_id, "3"))
        await asyncio.sleep(0)
        late.cancel()
        with pytest.raises(asyncio.CancelledError):
            await late

    assert outcome == "ended"


async def test_all_runs_that_have_not_ended_are_read(database):
    async with process(database) as here:
        first, *others = [await here.start() for _ in range(210)]
        hold = await here.store.hold(others[0], "workflow")
        await here.store.end_run(first, DONE)
        found = await here.store.read_open(seconds=0)
        young = await here.store.read_open(seconds=3600)
        await here.store.end(hold, DONE, telling())

    assert [one.run_id for one in found] == others
    assert (found[0].status, found[0].is_begun, found[1].is_begun) == ("running", True, False)
    assert found[1] == OpenRun(
        run_id=others[1],
        status="queued",
        agent="echo",
        version="1",
        is_begun=False,
        is_cancelled=False,
        seconds=found[1].seconds,
    )
    assert 0 < found[1].seconds < 3600
    assert young == []


async def test_payloads_are_kept_as_long_as_their_run(database):
    async with process(database) as here, process(database) as there:
        run_id, hold = await here.begin()
        body = bytes(range(256)) * 4000
        names = [await one.store.put_payload(run_id, body) for one in (here, there)]
        await here.store.end(hold, DONE, telling())
        found = await there.store.get_payload(run_id, names[0])
        await here.runs.delete(run_id, tenant="ada")
        with pytest.raises(StorageError, match=f"payload {names[0]}: expected"):
            await there.store.get_payload(run_id, names[0])
        with pytest.raises(RunNotFoundError):
            await here.store.put_payload(run_id, body)
        rows = query(database, "SELECT * FROM agent_run_payloads")

    assert len(set(names)) == 1
    assert found == body
    assert rows == []


@pytest.mark.postgresql
async def test_no_payload_is_left_of_a_run_that_is_deleted_meanwhile(cluster):
    database = cluster.create()
    async with process(database) as here:
        run_id, hold = await here.begin()
        await here.store.end(hold, DONE, telling())
        with psycopg.connect(database) as connection:
            connection.execute("DELETE FROM agent_runs")
            putting = asyncio.create_task(here.store.put_payload(run_id, b"body"))
            await asyncio.sleep(0.3)
        with pytest.raises(RunNotFoundError):
            await putting

    assert query(database, "SELECT * FROM agent_run_payloads") == []


OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


async def test_what_is_stored_is_encrypted_anew_with_the_first_key(database):
    def kept():
        return query(
            database,
            "SELECT body FROM agent_run_payloads UNION ALL SELECT result FROM agent_run_steps"
            " UNION ALL SELECT request FROM agent_runs",
        )

    def is_of(key, stored):
        return bytes(stored).startswith(sha256(key.encode()).hexdigest()[:8].encode())

    async with process(database, storage_keys=OLD) as here:
        run_id, hold = await here.begin()
        await here.make(hold)
        name, sent = await here.store.put_payload(run_id, b"secret"), here.store.encrypt(b"secret")
    before = [row[0] for row in kept()]
    async with process(database, storage_keys=f"{NEW},{OLD}", lease_seconds=0.2) as here:
        opened = here.store.decrypt(sent)
        await asyncio.sleep(0.3)
        still = [row[0] for row in kept()]
        query(database, "UPDATE agent_server_seals SET used_at = 0")
        await eventually(lambda: all(is_of(NEW, row[0]) for row in kept()))
        await eventually(lambda: len(query(database, "SELECT * FROM agent_server_seals")) == 1)
    for keys in ({}, {"storage_keys": OLD}):
        with pytest.raises(StorageError, match="the key that the database was written with"):
            async with process(database, **keys):
                pass
    async with process(database, storage_keys=NEW) as here:
        found = await here.store.get_payload(run_id, name)
        with pytest.raises(StorageError):
            here.store.decrypt(sent)

    assert len(before) == 3
    assert all(is_of(OLD, one) for one in [*before, *still])
    assert name != sha256(b"secret").hexdigest()
    assert found == opened == b"secret"


async def test_a_process_without_a_key_leaves_runs_to_those_that_have_it(database):
    async with (
        process(database, storage_keys=OLD) as there,
        process(database, storage_keys=f"{NEW},{OLD}") as here,
    ):
        run_id = await here.start()
        for call in (there.store.hold, there.store.claim):
            with pytest.raises(StorageError, match="storage_keys"):
                await call(run_id, "other")
        hold = await here.store.hold(run_id, "workflow")
        with pytest.raises(StorageError, match="storage_keys"):
            await there.make(hold)
        made = await here.make(hold, number=2)

    assert made == b"a"


async def test_a_store_is_not_opened_if_nothing_can_be_written(tmp_path):
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"

    class Destroying(Making):
        @asynccontextmanager
        async def opened(self):
            query(database, "DROP TABLE agent_server_seals")
            yield

    with pytest.raises(StorageError, match="database: expected one that can be used now"):
        async with process(database, Destroying()):
            pass


async def test_what_large_runs_are_executed_with_is_read_anew(database):
    async with process(database, max_request_bytes=64 * 1024 * 1024) as here:
        holds = [(await here.begin(request={"text": "x" * 17_000_000}))[1] for _ in "12"]
        facts = [await here.store.read_facts(holds[number]) for number in (0, 0, 1, 0)]

    assert facts[0] == facts[3] != facts[2]
    assert facts[0] is facts[1]
    assert facts[0] is not facts[3]
