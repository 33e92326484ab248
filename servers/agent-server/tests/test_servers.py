"""Several servers on one database, and what becomes of the runs of those that die."""

import asyncio
import sqlite3
from contextlib import closing

import pytest
from agents import (
    PAY,
    Scripted,
    engine,
    eventually,
    finish,
    let_server_die,
    query,
    start,
    until,
    watch,
)
from dying_server import LEDGERED

from agent_server._engine.presence import Presence  # noqa: PLC2701 - no file system here is without locks
from agent_server.engine import ServerNameTakenError
from agent_server.executor import InputRequest, RunResult, Waiting
from agent_server.runs import RunFilter


async def sleep(run):
    await run.tell("began", {"server": run.attempt})
    await asyncio.sleep(600)


async def wait_for_second(run):
    if run.attempt == 1:
        await asyncio.sleep(600)
    return RunResult(status="succeeded", output=run.attempt)


async def wait_for_fourth(run):
    if run.attempt < 4:
        await asyncio.sleep(600)
    return RunResult(status="succeeded", output=run.attempt)


def forget_server(database, name):
    """Do what others do with a server that has been silent."""
    with sqlite3.connect(database.removeprefix("sqlite:///")) as connection:
        connection.execute("DELETE FROM agent_servers WHERE name = ?", [name])
        connection.execute("UPDATE agent_runs SET status = 'queued', server = NULL")
    connection.close()


@pytest.mark.usefixtures("living")
async def test_two_servers_share_the_runs_and_each_sees_the_events_of_the_other(database):
    async def where(run):
        await run.tell("first", {})
        await asyncio.sleep(0.3)
        await run.tell("second", {})
        return RunResult(status="succeeded")

    executor = Scripted(where=where)
    if database.startswith("postgresql"):
        asyncio.get_running_loop().call_later(0.5, query, database, "NOTIFY agent_server, 'x'")
    async with (
        engine(database, executor, concurrency=1, server_name="one") as one,
        engine(database, executor, concurrency=1, server_name="two") as two,
    ):
        ids = [await start(one, "where") for _ in range(2)]
        told = [
            await asyncio.gather(*(watch(runs, run_id) for run_id in ids)) for runs in (one, two)
        ]
        together = [
            await asyncio.gather(watch(one, run_id), watch(two, run_id))
            for run_id in [await start(one, "where"), await start(two, "where")]
        ]

    assert told[0] == told[1]
    assert [event.type for event in told[0][0]] == [
        "run_started",
        "first",
        "second",
        "run_succeeded",
    ]
    for one, two in together:
        assert one == two


@pytest.mark.usefixtures("living")
async def test_a_run_is_cancelled_through_another_server_than_that_which_executes_it(database):
    executor = Scripted(sleep=sleep)
    async with (
        engine(database, executor, server_name="one") as one,
        engine(database, executor, server_name="two") as two,
    ):
        run_id = await start(one, "sleep")
        await until(one, run_id, lambda run: run.last_event == 2)
        other = two if one.statistics().executing else one
        asked = await other.cancel(run_id, tenant="ada", reason="enough")
        run = await finish(other, run_id)

    assert asked.cancel_requested
    assert (run.status, run.cancel_reason) == ("cancelled", "enough")


async def test_a_server_that_others_took_for_dead_lets_its_runs_go_and_begins_anew(
    tmp_path, caplog
):
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"

    executor = Scripted(work=wait_for_second)
    # It hears late of it, after it has found that the run waits.
    async with engine(database, executor, server_name="one", lease_seconds=6) as runs:
        run_id = await start(runs, "work")
        await until(runs, run_id, lambda run: run.status == "running")
        await asyncio.to_thread(forget_server, database, "one")
        run = await finish(runs, run_id)
        await eventually(lambda: "took this server for dead" in caplog.text)
        later = await finish(runs, await start(runs))

    assert run.result.output >= 2
    assert later.status == "succeeded"


async def test_a_server_that_cannot_enter_again_claims_nothing_and_goes_on_trying(tmp_path, caplog):
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"

    async with engine(database, server_name="one", lease_seconds=0.4) as runs:
        query(database, "UPDATE agent_servers SET token = 'another'")
        run_id = await start(runs)
        after = 0
        while after < 10:
            # The other one lives, or its name would be free after a lease.
            query(database, "UPDATE agent_servers SET beat = beat + 1")
            after += "is already used by a running server" in caplog.text
            await asyncio.sleep(0.05)
        waiting = await runs.get(run_id, tenant="ada")
        query(database, "DELETE FROM agent_servers")
        run = await finish(runs, run_id)

    assert (waiting.status, run.status) == ("queued", "succeeded")
    assert caplog.text.count("could not show that it lives, and it is tried again") == 1
    assert "has ended" not in caplog.text


@pytest.mark.usefixtures("living")
async def test_a_living_servers_name_is_refused_and_a_dead_ones_can_be_had(database):
    async with engine(database, server_name="one") as runs:
        with pytest.raises(
            ServerNameTakenError, match="server_name: one is already used by a running server"
        ):
            async with engine(database, server_name="one"):
                pass
        run = await finish(runs, await start(runs))

    assert run.status == "succeeded"


async def test_runs_of_a_version_that_is_gone_are_ended_with_a_reason(database):
    old = Scripted(version="1", sleep=sleep)
    async with engine(database, old, concurrency=1) as runs:
        begun = await start(runs, "sleep")
        waiting = await start(runs, "echo")
        await until(runs, begun, lambda run: run.last_event == 2)
    async with engine(database, Scripted(version="2")) as runs:
        begun, waiting, told = (
            await finish(runs, begun),
            await finish(runs, waiting),
            await watch(runs, begun),
        )

    assert (begun.status, begun.result.error_type) == ("failed", "version_changed")
    assert "begun by version 1" in begun.result.error
    assert [event.type for event in told] == ["run_started", "began", "run_failed"]
    assert waiting.status == "succeeded"


async def test_a_run_that_was_interrupted_ends_as_its_executor_says(database):
    def verdict(_run_id, attempts):
        if attempts == 1:
            return RunResult(status="failed", error="who knows", error_type="interrupted")
        return None

    async with engine(database, Scripted(sleep=sleep)) as runs:
        run_id = await start(runs, "sleep")
        await until(runs, run_id, lambda run: run.last_event == 2)
    async with engine(database, Scripted(sleep=sleep, interrupted=verdict)) as runs:
        run = await finish(runs, run_id)
        await eventually(lambda: runs.statistics().ended == {"failed": 1})

    assert (run.result.error, run.attempt) == ("who knows", 1)


async def test_a_run_under_which_too_many_servers_died_ends_failed(database):
    async with engine(database, Scripted(sleep=sleep)) as runs:
        run_id = await start(runs, "sleep")
        await until(runs, run_id, lambda run: run.last_event == 2)
    let_server_die(database)
    async with engine(database, Scripted(sleep=sleep), max_attempts=2) as runs:
        await until(runs, run_id, lambda run: run.last_event == 4)
    let_server_die(database)
    async with engine(database, Scripted(sleep=sleep), max_attempts=2) as runs:
        run = await finish(runs, run_id)

    assert (run.result.error_type, run.attempt) == ("interrupted", 2)
    assert run.result.error == "its server died 2 times while the run was executed"


async def test_servers_that_stop_in_good_order_are_not_counted(database):
    for number in range(1, 5):
        executor = Scripted(work=wait_for_fourth)
        async with engine(database, executor, max_attempts=1, stop_seconds=0) as runs:
            if number == 1:
                run_id = await start(runs, "work")
            run = await until(runs, run_id, lambda run, n=number: run.attempt == n)
            if number == 4:
                run = await finish(runs, run_id)

    assert (run.status, run.attempt) == ("succeeded", 4)


async def test_a_run_goes_on_under_another_server_after_kill_9_and_repeats_no_step(database, dying):
    server = dying(database, name="one")
    assert server.read_line() == "begun second"
    server.kill()

    async with engine(database, LEDGERED, server_name="two") as runs:
        (run,) = (await runs.list(RunFilter(), tenant="ada", limit=10)).runs
        run, told = await finish(runs, run.run_id), await watch(runs, run.run_id)

    assert (run.status, run.attempt, run.result.output) == ("succeeded", 2, "first second third")
    assert [event.number for event in told] == list(range(1, len(told) + 1))
    assert [event.data["attempt"] for event in told if event.type == "run_started"] == [1, 2]
    assert [event.data["step"] for event in told if event.type == "begun"] == [
        "first",
        "second",
        "second",
        "third",
    ]


async def test_a_dead_servers_name_can_be_had_again_once_it_is_sure_to_be_dead(database, dying):
    server = dying(database, name="one")
    assert server.read_line() == "begun second"
    server.kill()

    async with engine(database, LEDGERED, server_name="one") as runs:
        (run,) = (await runs.list(RunFilter(), tenant="ada", limit=10)).runs
        run = await finish(runs, run.run_id)

    assert run.result.output == "first second third"


@pytest.mark.usefixtures("living")
async def test_on_one_machine_nobody_waits_for_the_lease_of_a_process_that_has_ended(
    tmp_path, dying
):
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"
    server = dying(database, name="one")
    assert server.read_line() == "begun second"
    async with engine(database, LEDGERED, server_name="two", lease_seconds=2) as other:
        (run,) = (await other.list(RunFilter(), tenant="ada", limit=10)).runs
        await asyncio.sleep(1.5)  # It lives, and some beats are read of it.
        before = await other.get(run.run_id, tenant="ada")
        server.kill()
        async with engine(database, LEDGERED, server_name="one", lease_seconds=600) as again:
            run = await finish(again, run.run_id)

    assert (before.status, before.attempt) == ("running", 1)
    assert (run.status, run.attempt) == ("succeeded", 2)
    assert [path.name for path in tmp_path.glob("*.alive")] == []


async def test_a_server_is_there_as_soon_as_another_has_taken_over_from_its_predecessor(
    tmp_path, dying
):
    """The other one has cleared up behind that already, so that nobody else can see its end."""
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"
    server = dying(database, name="one")
    assert server.read_line() == "begun second"
    server.kill()
    [shown] = tmp_path.glob("*.alive")
    shown.unlink()
    async with (
        engine(database, LEDGERED, server_name="two", lease_seconds=2),
        asyncio.timeout(60),
        engine(database, LEDGERED, server_name="one", lease_seconds=600),
    ):
        pass


@pytest.mark.parametrize("locked", [[False], [True, True], [OSError]])
def test_where_no_process_can_be_seen_nobody_is_taken_for_gone(tmp_path, monkeypatch, locked):
    """On a file system that has no locks, and on one that only pretends."""
    database, answers = tmp_path / "runs.sqlite", iter(locked)

    def flock(_descriptor, _how):
        answer = next(answers)
        if answer is not True:
            raise answer() if answer else BlockingIOError

    with closing(Presence(database, "a")) as real:
        assert not real.is_gone("a")
        assert not real.is_gone("nobody")
    monkeypatch.setattr("fcntl.flock", flock)
    with closing(Presence(database, "b")) as presence:
        assert not presence.is_gone("a")


def test_where_there_can_be_no_file_nobody_is_taken_for_gone(tmp_path):
    with closing(Presence(tmp_path / "none" / "runs.sqlite", "a")) as presence:
        assert not presence.is_gone("b")


@pytest.mark.parametrize("what", ["tell", "step", "end", "wait"])
async def test_who_has_lost_a_run_writes_nothing_of_it_any_more(tmp_path, what):
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"
    lost = asyncio.Event()

    async def work(run):
        if run.attempt == 1:
            await run.tell("before", {})
            await lost.wait()
            if what == "tell":
                await run.tell("after", {})
                await asyncio.sleep(600)
            if what == "step":
                await run.step("late", lambda: asyncio.sleep(0, b"late"))
                await asyncio.sleep(600)
            if what == "wait":
                return Waiting(request=InputRequest(approvals=[PAY]), state=b"late")
            return RunResult(status="succeeded", output="late")
        recorded = await run.step("late", lambda: asyncio.sleep(0, b"anew"))
        return RunResult(status="succeeded", output=recorded.decode())

    executor = Scripted(work=work)
    # Too seldom to hear of it in any other way than by what is refused.
    async with engine(database, executor, concurrency=1, lease_seconds=8) as runs:
        run_id = await start(runs, "work")
        await until(runs, run_id, lambda run: run.last_event == 2)
        await asyncio.to_thread(forget_server, database, "another")
        lost.set()
        run, told = await finish(runs, run_id), await watch(runs, run_id)

    assert (run.attempt, run.result.output) == (2, "anew")
    assert [event.type for event in told] == [
        "run_started",
        "before",
        "run_started",
        "run_succeeded",
    ]


async def test_an_interrupted_run_of_which_the_end_was_asked_for_is_not_begun_again(tmp_path):
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"

    async with engine(database, Scripted(sleep=sleep)) as runs:
        run_id = await start(runs, "sleep")
        await until(runs, run_id, lambda run: run.last_event == 2)
    with closing(sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)) as connection:
        connection.execute("UPDATE agent_runs SET cancel_requested = 1")
    async with engine(database, Scripted(sleep=sleep)) as runs:
        run = await finish(runs, run_id)

    assert (run.status, run.attempt) == ("cancelled", 1)


async def test_a_run_whose_cleanup_takes_long_is_interrupted_once(tmp_path):
    heard = []

    async def work(run):
        await run.tell("began", {})
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            await asyncio.sleep(0.3)
            heard.append(run.cancel_reason)
            raise

    async with engine(f"sqlite:///{tmp_path}/runs.sqlite", Scripted(work=work)) as runs:
        ids = [await start(runs, "work") for _ in range(2)]
        for run_id in ids:
            await until(runs, run_id, lambda run: run.last_event == 2)
            await runs.cancel(run_id, tenant="ada", reason="enough")
            await asyncio.sleep(0.1)
        ended = [await finish(runs, run_id) for run_id in ids]

    assert [run.status for run in ended] == ["cancelled", "cancelled"]
    assert heard == ["enough", "enough"]
