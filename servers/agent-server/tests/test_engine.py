import asyncio
import re

import pytest
import sqlalchemy as sa
from agents import Scripted, engine, finish, new_run, start, watch

from agent_server.executor import RunResult
from agent_server.runs import RunFilter, RunNotFoundError


async def test_a_run_is_executed_and_can_be_read_afterwards(database):
    async with engine(database) as runs:
        run, is_new = await runs.create(new_run(metadata={"case": "1"}))
        told = await watch(runs, run.run_id)
        ended = await finish(runs, run.run_id)
        page = await runs.list(RunFilter(), tenant="ada", limit=10)
        later = await runs.read_events(run.run_id, tenant="ada", after=2, limit=1)

    assert (run.status, run.attempt, is_new) == ("queued", 0, True)
    assert [event.number for event in told] == [1, 2, 3, 4]
    assert [event.type for event in told] == ["run_started", "asked", "text", "run_succeeded"]
    assert told[0].data == {"attempt": 1}
    assert not hasattr(told[0], "text")
    assert told[-1].data["output"] == "why"
    assert (ended.status, ended.attempt, ended.last_event) == ("succeeded", 1, 4)
    assert ended.result.output == "why"
    assert ended.metadata == {"case": "1"}
    assert page.runs == [ended]
    assert later == [told[2]]


async def test_what_a_run_executes_was_built_for_others(database):
    executed = {}

    def note(_connection, statement, *_):
        executed[id(statement)] = statement

    sa.event.listen(sa.Engine, "before_execute", note)
    try:
        async with engine(database) as runs:
            for _ in range(2):
                run_id = await start(runs, "echo")
                await watch(runs, run_id)
                await finish(runs, run_id)
    finally:
        sa.event.remove(sa.Engine, "before_execute", note)

    # What looks after the database comes at any time, and is about other tables.
    texts = [str(one) for one in executed.values()]
    own = [one for one in texts if re.search("agent_run_(events|steps)|INSERT", one)]
    assert len(own) > 3
    assert len(own) == len(set(own))


async def test_a_run_is_cancelled_with_a_reason_that_its_executor_hears(database):
    heard = []

    async def sleep(run):
        try:
            await asyncio.sleep(600)
        finally:
            heard.append(run.cancel_reason)

    async with engine(database, Scripted(sleep=sleep)) as runs:
        run_id = await start(runs, "sleep")
        async for batch in runs.watch_events(run_id, tenant="ada"):
            if batch[-1].type == "run_started":
                await runs.cancel(run_id, tenant="ada", reason="no longer wanted")
        run, last = await finish(runs, run_id), batch[-1]

    assert (run.status, run.cancel_reason, run.result) == ("cancelled", "no longer wanted", None)
    assert run.started_at is not None
    assert (last.type, last.data) == ("run_cancelled", {"reason": "no longer wanted"})
    assert heard == ["no longer wanted"]


async def test_a_waiting_run_is_cancelled_without_being_begun(database):
    async def sleep(_run):
        await asyncio.sleep(600)

    async with engine(database, Scripted(sleep=sleep), concurrency=1) as runs:
        await start(runs, "sleep")
        run_id = await start(runs, "echo")
        watching = asyncio.create_task(watch(runs, run_id))
        await asyncio.sleep(0.1)
        run, told = await runs.cancel(run_id, tenant="ada"), await watching

    assert (run.status, run.attempt, run.started_at) == ("cancelled", 0, None)
    assert [event.type for event in told] == ["run_cancelled"]


async def test_what_a_stopped_server_left_is_gone_on_with_by_the_next_without_repeating_steps(
    database,
):
    done = []

    async def two_steps(run):
        async def work(name):
            done.append(name)
            return name.encode()

        await run.step("first", lambda: work("first"))
        if run.attempt == 1:
            await run.tell("waiting", {})
            await asyncio.sleep(600)
        second = await run.step("second", lambda: work("second"))
        return RunResult(status="succeeded", output=second.decode())

    async with engine(database, Scripted(two_steps=two_steps)) as runs:
        run_id = await start(runs, "two_steps")
        async for batch in runs.watch_events(run_id, tenant="ada"):
            if batch[-1].type == "waiting":
                break
    async with engine(database, Scripted(two_steps=two_steps)) as runs:
        told, run = await watch(runs, run_id), await finish(runs, run_id)

    assert done == ["first", "second"]
    assert run.result.output == "second"
    assert [event.number for event in told] == list(range(1, len(told) + 1))
    attempts = [event.data["attempt"] for event in told if event.type == "run_started"]
    assert attempts == [1, 2]


async def test_who_reads_a_run_at_the_same_time_gets_what_was_read_once(database):
    async def is_read_once(runs, run_id):
        first, *others = await asyncio.gather(*(watch(runs, run_id) for _ in range(5)))
        assert first[-1].type == "run_succeeded"
        pairs = [pair for told in others for pair in zip(told, first, strict=True)]
        return all(one is other for one, other in pairs)

    async with engine(database) as runs:
        run_id = await start(runs)
        await finish(runs, run_id)
        # On a busy machine the first may be done before the last begins.
        for _ in range(200):
            if await is_read_once(runs, run_id):
                return
    pytest.fail("each of them read the run anew")


async def test_a_tenant_does_not_see_the_runs_of_another(database):
    async with engine(database) as runs:
        run_id = await start(runs, tenant="ada")
        for ask in (runs.get, runs.cancel, runs.read_events):
            with pytest.raises(RunNotFoundError):
                await ask(run_id, tenant="bob")
        with pytest.raises(RunNotFoundError):
            await watch(runs, run_id, tenant="bob")
        assert not (await runs.list(RunFilter(), tenant="bob", limit=10)).runs
