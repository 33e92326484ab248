"""What happens while the database cannot be reached."""

import asyncio
import logging
import sqlite3
import threading
from contextlib import closing, contextmanager

import pytest
import sqlalchemy as sa
from agents import (
    Scripted,
    away,
    engine,
    eventually,
    finish,
    new_run,
    query,
    start,
    stopwatch,
    until,
)

from agent_server.engine import StorageError
from agent_server.executor import RunResult
from agent_server.runs import DatabaseAwayError


async def refused(runs):
    async with stopwatch() as seconds:
        with pytest.raises(DatabaseAwayError):
            await runs.create(new_run())
    return seconds()


async def test_while_the_database_is_away_clients_hear_it_and_runs_go_on_when_it_is_back(
    tmp_path, caplog
):
    caplog.set_level(logging.INFO, "agent_server")
    path = tmp_path / "runs.sqlite"
    reached = asyncio.Event()

    async def work(run):
        await run.tell("before", {})
        await run.step("first", lambda: asyncio.sleep(0.3, b"done"))
        await run.tell("after", {})
        return RunResult(status="succeeded", output="all")

    async with engine(f"sqlite:///{path}", Scripted(work=work)) as runs:
        run_id = await start(runs, "work")
        await until(runs, run_id, lambda run: run.status == "running")
        with away(path):
            await refused(runs)  # this one finds out
            again = await refused(runs)
            with pytest.raises(DatabaseAwayError):
                await runs.get(run_id, tenant="ada")
            with pytest.raises(DatabaseAwayError):
                await runs.ping()
            is_away = runs.statistics().database_is_away
            await asyncio.sleep(1)
            reached.set()
        async with stopwatch() as seconds:
            run = None
            while run is None:
                try:
                    run = await finish(runs, run_id)
                except DatabaseAwayError:
                    await asyncio.sleep(0.05)
        await runs.ping()
        events = await runs.read_events(run_id, tenant="ada")

    assert again < 1  # and not the 2 s that SQLite waits
    assert is_away
    assert run.status == "succeeded"
    assert seconds() < 5
    assert [event.type for event in events] == ["run_started", "before", "after", "run_succeeded"]
    lines = [record.getMessage() for record in caplog.records]
    assert len([line for line in lines if "the database is away" in line]) == 1
    assert len([line for line in lines if "the database is back" in line]) == 1
    assert len(lines) == 2, lines


@pytest.mark.usefixtures("short_waits")
async def test_a_server_can_be_stopped_while_the_database_is_away(tmp_path, caplog):
    path = tmp_path / "runs.sqlite"

    async def sleep(run):
        await run.tell("before", {})
        await asyncio.sleep(600 if run.attempt == 1 else 0)
        return RunResult(status="succeeded")

    async with engine(f"sqlite:///{path}", Scripted(sleep=sleep)) as runs:
        run_id = await start(runs, "sleep")
        await until(runs, run_id, lambda run: run.last_event == 2)
        keeping = away(path)
        keeping.__enter__()
        await refused(runs)
    keeping.__exit__(None, None, None)
    async with engine(f"sqlite:///{path}", Scripted(sleep=sleep)) as runs:
        run = await finish(runs, run_id)

    assert (run.status, run.attempt) == ("succeeded", 2)
    assert "Traceback" not in caplog.text


async def test_a_table_that_cannot_be_read_now_and_then_is_an_outage_that_is_told_once(
    tmp_path, caplog
):
    path = tmp_path / "runs.sqlite"

    def rename(before, after):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(f"ALTER TABLE {before} RENAME TO {after}")

    async with engine(f"sqlite:///{path}") as runs:
        run_id = await start(runs)
        await finish(runs, run_id)
        for _ in range(2):
            rename("agent_run_events", "hidden")
            with pytest.raises(DatabaseAwayError):
                await runs.read_events(run_id, tenant="ada")
            rename("hidden", "agent_run_events")
            await eventually(lambda: not runs.statistics().database_is_away)
        events = await runs.read_events(run_id, tenant="ada")

    assert len(events) == 4
    assert [record.getMessage()[:20] for record in caplog.records] == [
        "the database is away",
        "the database is back",
    ]


async def test_a_server_is_not_started_on_a_database_of_which_a_table_is_gone(tmp_path):
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"

    async def open_and_close():
        async with engine(database):
            pass

    await open_and_close()
    query(database, "DROP TABLE agent_servers")

    with pytest.raises(StorageError, match="database: expected one that can be used now"):
        await open_and_close()


async def test_an_operation_that_fails_harms_no_other(tmp_path):
    path = tmp_path / "runs.sqlite"

    async with engine(f"sqlite:///{path}") as runs:
        # Text is refused by a database where bytes that are no text stand for it.
        asked = [runs.create(new_run(tenant=tenant)) for tenant in ("a", "\udc80", "b")]
        created = await asyncio.gather(*asked, return_exceptions=True)
        first, failed, last = [
            one if isinstance(one, Exception) else one[0].tenant for one in created
        ]

    assert (first, last) == ("a", "b")
    assert isinstance(failed, UnicodeEncodeError)


@pytest.mark.usefixtures("short_waits")
async def test_a_server_without_anything_to_do_notices_when_the_database_is_back(tmp_path, caplog):
    path = tmp_path / "runs.sqlite"

    async with engine(f"sqlite:///{path}", lease_seconds=60) as runs:
        await finish(runs, await start(runs))
        await asyncio.sleep(0.3)  # now nothing waits to be written
        with away(path):
            await refused(runs)
            await asyncio.sleep(2)  # what it tries by itself fails some times
            still = runs.statistics().database_is_away
        await eventually(lambda: not runs.statistics().database_is_away)
        run = await finish(runs, await start(runs))
    with pytest.raises(DatabaseAwayError):
        await start(runs)  # it has been stopped

    assert still
    assert run.status == "succeeded"
    assert caplog.text.count("the database is away") == 1


@pytest.fixture
def postgresql(cluster):
    yield cluster
    cluster.go_on()


@pytest.mark.postgresql
@pytest.mark.parametrize("way", ["stop", "pause"])
async def test_runs_go_on_within_5_seconds_of_the_return_of_postgresql(postgresql, way, caplog):
    async def work(run):
        for number in range(3):
            await run.tell("text", {"number": number})
            await run.step(str(number), lambda: asyncio.sleep(1, b"done"))
        return RunResult(status="succeeded")

    url = postgresql.create()
    async with engine(url, Scripted(work=work), lease_seconds=3) as runs:
        ids = [await start(runs, "work") for _ in range(4)]
        await until(runs, ids[-1], lambda run: run.last_event > 1)
        await asyncio.to_thread(getattr(postgresql, way))
        await refused(runs)
        await asyncio.sleep(4)
        seconds = await refused(runs)
        await asyncio.to_thread(postgresql.go_on)
        async with stopwatch() as noticed:
            await eventually(lambda: not runs.statistics().database_is_away)
        ended = [await finish(runs, run_id) for run_id in ids]
        told = [await runs.read_events(run_id, tenant="ada") for run_id in ids]

    assert seconds < 1
    assert noticed() < 5
    assert {(run.status, run.attempt) for run in ended} == {("succeeded", 1)}
    for events in told:
        assert [event.number for event in events] == [1, 2, 3, 4, 5]
    assert caplog.text.count("the database is away") == 1


def read_only(cluster, _database):
    """Nothing is refused but what writes."""
    return cluster.read_only()


@contextmanager
def demoted(cluster, database):
    """Sessions that begin meanwhile can read alone for as long as they last, as with a server that another has replaced."""
    name = sa.make_url(database).database
    cluster.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    cluster.disconnect(name)
    yield
    cluster.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


@contextmanager
def closed(cluster, database):
    """Connections end with 57P01, and new ones are refused."""
    name = sa.make_url(database).database
    cluster.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    cluster.disconnect(name)
    yield
    cluster.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


@contextmanager
def without_table(_cluster, database):
    query(database, "ALTER TABLE agent_runs RENAME TO hidden")
    yield
    query(database, "ALTER TABLE hidden RENAME TO agent_runs")


async def is_refused(ask):
    try:
        await ask()
    except DatabaseAwayError:
        return True
    return False


async def until_refused(ask):
    for _ in range(400):
        if await is_refused(ask):
            return
        await asyncio.sleep(0.05)


@pytest.mark.postgresql
@pytest.mark.parametrize("failing", [read_only, demoted, closed, without_table])
async def test_whatever_postgresql_answers_all_runs_end_once_it_can_be_written(
    postgresql, failing, caplog
):
    async def work(run):
        for number in range(3):
            await run.tell("text", {"number": number})
            await run.step(str(number), lambda: asyncio.sleep(0.5, b"done"))
        return RunResult(status="succeeded")

    url = postgresql.create()
    settings = {"lease_seconds": 2, "concurrency": 2}
    executor = Scripted(work=work)
    async with (
        engine(url, executor, **settings) as one,
        engine(url, executor, **settings) as two,
    ):
        ids = [await start(one, "work") for _ in range(10)]
        await until(one, ids[1], lambda run: run.last_event > 1)
        with failing(postgresql, url):
            # It may take a moment until each of its processes knows.
            await until_refused(lambda: one.create(new_run()))
            for _ in range(6):
                assert await is_refused(one.ping)
                await asyncio.sleep(0.5)
        for runs in (one, two):
            await eventually(lambda runs=runs: not runs.statistics().database_is_away)
        ended = [await finish(two, run_id) for run_id in ids]
        later = [await finish(runs, await start(runs)) for runs in (one, two)]
        ended = ended + later

    assert {run.status for run in ended} == {"succeeded"}
    lines = [record.getMessage() for record in caplog.records]
    for what in ("the database is away", "the database is back"):
        assert len([line for line in lines if what in line]) <= 2, lines
    assert "Traceback" not in caplog.text


@pytest.mark.postgresql
async def test_a_server_that_stands_still_inside_a_transaction_holds_the_others_up_for_seconds(
    postgresql,
):
    stands, goes_on = threading.Event(), threading.Event()

    def stand_still(_run_id, _attempts):
        stands.set()
        goes_on.wait(120)

    async def work(_run):
        await asyncio.sleep(600)

    async def cancel(runs, run_id):
        while True:
            try:
                return await runs.cancel(run_id, tenant="ada")
            except DatabaseAwayError:
                await asyncio.sleep(0.2)

    url = postgresql.create()
    async with engine(url, Scripted(work=work)) as runs:
        run_id = await start(runs, "work")
        await until(runs, run_id, lambda run: run.status == "running")
    # It asks about the run that was begun before, with the right to write it in its hands.
    async with engine(url, Scripted(interrupted=stand_still, work=work)) as one:
        await asyncio.to_thread(stands.wait)
        async with engine(url, Scripted(), lease_seconds=60) as two:
            async with asyncio.timeout(55):
                await cancel(two, run_id)
                later = await finish(two, await start(two))
            goes_on.set()
            await eventually(lambda: not one.statistics().database_is_away)
            run = await finish(one, run_id)

    assert (run.status, later.status) == ("cancelled", "succeeded")
