"""Servers of one database that are not alike: other agents, other keys, and word of the others that is lost."""

import asyncio
import time
from contextlib import AsyncExitStack

import psutil
import pytest
from agents import (
    Scripted,
    engine,
    eventually,
    finish,
    let_server_die,
    query,
    start,
    stopwatch,
    until,
    watch,
)
from cryptography.fernet import Fernet

from agent_server.engine import StorageError
from agent_server.executor import RunResult


OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


async def answer(run):
    return RunResult(status="succeeded", output=run.agent)


async def linger(run):
    await run.tell("began", {})
    await asyncio.sleep(600)


async def count(run):
    for number in range(10):
        await run.tell("text", {"number": number})
        await asyncio.sleep(0.15)
    return RunResult(status="succeeded")


@pytest.mark.usefixtures("living")
async def test_a_run_is_left_to_the_servers_that_have_its_agent(database):
    async with AsyncExitStack() as stack:
        one, two = [
            await stack.enter_async_context(engine(database, Scripted(**{name: answer})))
            for name in ("one", "two")
        ]
        ids = [await start(one, "one") for _ in range(5)]
        ids += [await start(two, "two") for _ in range(5)]
        ended = [await finish(two, run_id) for run_id in ids]
        for runs in (one, two):
            await eventually(lambda runs=runs: runs.statistics().ended == {"succeeded": 5})

    assert [run.result.output for run in ended] == ["one"] * 5 + ["two"] * 5


@pytest.mark.usefixtures("living")
async def test_a_run_whose_agent_no_server_has_waits_for_a_while_and_ends_with_a_reason(database):
    executor = Scripted(gone=linger, back=answer)
    async with engine(database, executor, concurrency=1) as runs:
        begun = await start(runs, "gone")
        await until(runs, begun, lambda run: run.last_event > 1)
        waiting, back = await start(runs, "gone"), await start(runs, "back")
    # Time enough for a server that has one of the agents to come.
    async with (
        engine(database, lease_seconds=0.4, unserved_seconds=60) as runs,
        engine(database, Scripted(back=answer), unserved_seconds=60),
    ):
        back = await finish(runs, back)
        kept = [await runs.get(one, tenant="ada") for one in (begun, waiting)]
    began = time.monotonic()
    async with engine(database, lease_seconds=0.4, unserved_seconds=0.8) as runs:
        begun, waiting = [await finish(runs, one) for one in (begun, waiting)]
        seconds = time.monotonic() - began
        told = await watch(runs, begun.run_id)

    assert [run.status for run in kept] == ["queued", "queued"]
    assert seconds >= 0.8
    assert begun.result.error_type == waiting.result.error_type == "agent_gone"
    assert waiting.result.error == "no server has had its agent gone for 0.8 s"
    assert told[-1].type == "run_failed"
    assert back.status == "succeeded"


async def test_an_agent_that_comes_after_the_start_is_served(database):
    executor = Scripted()
    async with engine(database, executor) as runs:
        executor.scripts["new"] = answer
        run = await finish(runs, await start(runs, "new"))

    assert run.result.output == "new"


@pytest.mark.usefixtures("living")
async def test_a_key_that_a_living_server_has_not_cannot_seal(database):
    async with engine(database, storage_keys=OLD, server_name="one") as runs:
        with pytest.raises(StorageError, match=r"storage_keys: expected a first key .* one has"):
            async with engine(database, storage_keys=f"{NEW},{OLD}"):
                pass
        run = await finish(runs, await start(runs))

    assert run.status == "succeeded"
    # What was refused has changed nothing.
    assert (await _play(database, storage_keys=OLD)).status == "succeeded"


@pytest.mark.usefixtures("living")
async def test_servers_take_a_new_key_one_after_the_other(database):
    async with AsyncExitStack() as old, AsyncExitStack() as both, AsyncExitStack() as new:
        servers = [
            await stack.enter_async_context(engine(database, storage_keys=keys))
            for stack, keys in ((old, OLD), (both, f"{OLD},{NEW}"))
        ]
        await old.aclose()
        servers.append(await new.enter_async_context(engine(database, storage_keys=f"{NEW},{OLD}")))
        ids = [await start(runs) for runs in servers[1:] for _ in range(3)]
        ended = [(await finish(runs, one)).status for one in ids for runs in servers[1:]]

    assert ended == ["succeeded"] * 12


async def test_a_dead_server_without_the_new_key_is_waited_for(database):
    async with engine(database) as runs:
        await finish(runs, await start(runs))
    let_server_die(database)
    began = time.monotonic()
    run = await _play(database, storage_keys=NEW)
    seconds = time.monotonic() - began

    assert run.status == "succeeded"
    assert seconds >= 0.8


async def _play(database, **settings):
    async with engine(database, **settings) as runs:
        return await finish(runs, await start(runs))


def _listeners(database):
    found = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
    return [pid for (pid,) in query(database, found)]


@pytest.mark.postgresql
async def test_watchers_hear_everything_though_listening_connections_are_cut(cluster):
    database = cluster.create()

    async def cut():
        while True:
            for pid in await asyncio.to_thread(_listeners, database):
                await asyncio.to_thread(query, database, f"SELECT pg_terminate_backend({pid})")
            await asyncio.sleep(0.2)

    async with engine(database, Scripted(count=count)) as one, engine(database) as two:
        cutting = asyncio.create_task(cut())
        run_id = await start(one, "count")
        async with stopwatch() as seconds:
            told = await watch(two, run_id)
            cutting.cancel()

    assert [event.number for event in told] == list(range(1, 13))
    assert seconds() < 5


@pytest.mark.postgresql
async def test_watchers_hear_everything_though_listening_connections_say_nothing(cluster):
    database = cluster.create()
    async with engine(database, Scripted(count=count)) as one, engine(database) as two:
        await asyncio.sleep(0.5)
        silent = [psutil.Process(pid) for pid in _listeners(database)]
        assert len(silent) == 2
        for process in silent:
            process.suspend()
        try:
            events = await watch(two, await start(one, "count"))
        finally:
            for process in silent:
                process.resume()

    assert len(events) == 12
