"""Runs as clients ask for them."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from agents import Scripted, engine, eventually, finish, new_run, start, until, watch

from agent_server.executor import InputRequest, Question, RequestRefusedError, RunResult, Waiting
from agent_server.runs import (
    IdempotencyConflictError,
    QueueFullError,
    RunFilter,
    RunNotFoundError,
    TooManyWatchersError,
)


async def sleep(_run):
    await asyncio.sleep(600)


async def test_an_idempotency_key_stands_for_one_run_of_a_tenant(database):
    async with engine(database) as runs:
        first = await runs.create(new_run(idempotency_key="k", fingerprint="a"))
        again = await runs.create(new_run(idempotency_key="k", fingerprint="a"))
        others = await runs.create(new_run(tenant="bob", idempotency_key="k", fingerprint="b"))
        with pytest.raises(IdempotencyConflictError):
            await runs.create(new_run(idempotency_key="k", fingerprint="b"))

    assert first[1]
    assert not again[1]
    assert again[0].run_id == first[0].run_id
    assert others[0].run_id != first[0].run_id


async def test_a_full_queue_takes_no_more(database):
    settings = {"concurrency": 1, "max_queued": 2, "max_active_per_tenant": 2}
    async with engine(database, Scripted(sleep=sleep), **settings) as runs:
        running = await start(runs, "sleep")
        await until(runs, running, lambda run: run.status == "running")
        await start(runs)
        with pytest.raises(QueueFullError):
            await start(runs)  # ada has two
        await start(runs, tenant="bob")
        with pytest.raises(QueueFullError):
            await start(runs, tenant="eve")  # two wait
        await runs.cancel(running, tenant="ada")
        await finish(runs, running)


async def test_runs_are_listed_newest_first_in_pages(database):
    async with engine(database) as runs:
        ids = [await start(runs) for _ in range(5)]
        page = await runs.list(RunFilter(), tenant="ada", limit=2)
        pages = [page]
        while page.next_cursor is not None:
            page = await runs.list(RunFilter(), tenant="ada", limit=2, cursor=page.next_cursor)
            pages.append(page)

    newest = ids[::-1]
    listed = [[run.run_id for run in page.runs] for page in pages]
    assert listed == [newest[:2], newest[2:4], newest[4:]]


async def answer_much(_run):
    return RunResult(status="succeeded", output="x" * 3_000_000)


async def ask_much(_run):
    question = Question(text="x" * 3_000_000, schema={})
    return Waiting(request=InputRequest(question=question), state=b"")


@pytest.mark.parametrize("agent", ["answer_much", "ask_much"])
async def test_a_page_of_runs_ends_where_results_or_questions_are_too_large_for_it(tmp_path, agent):
    executor = Scripted(answer_much=answer_much, ask_much=ask_much)
    async with engine(f"sqlite:///{tmp_path}/runs.sqlite", executor) as runs:
        ids = [await start(runs, agent) for _ in range(3)]
        for run_id in ids:
            await until(runs, run_id, lambda run: run.status in {"succeeded", "waiting"})
        first = await runs.list(RunFilter(), tenant="ada", limit=3)
        rest = await runs.list(RunFilter(), tenant="ada", limit=3, cursor=first.next_cursor)
        newest = ids[::-1]
        pages = [[run.run_id for run in page.runs] for page in (first, rest)]

    assert pages == [newest[:2], newest[2:]]
    assert rest.next_cursor is None


async def test_a_long_page_of_runs_has_each_of_them_once(tmp_path):
    async with engine(f"sqlite:///{tmp_path}/runs.sqlite") as runs:
        ids = [await start(runs) for _ in range(50)]
        page = await runs.list(RunFilter(), tenant="ada", limit=100)
        listed = [run.run_id for run in page.runs]

    assert listed == ids[::-1]


@pytest.mark.parametrize("cursor", ["", "x", "é", "bm90", "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAx"])
async def test_a_cursor_that_was_not_given_is_refused(tmp_path, cursor):
    async with engine(f"sqlite:///{tmp_path}/runs.sqlite") as runs:
        with pytest.raises(RequestRefusedError, match="cursor: expected the next_cursor"):
            await runs.list(RunFilter(), tenant="ada", limit=2, cursor=cursor)


async def test_runs_are_found_by_agent_state_metadata_and_time(database):
    strange = {"a\0b": "\udc80", "ключ": "значение"}

    async with engine(database, Scripted(sleep=sleep)) as runs:
        before = datetime.now(UTC)
        one = await start(runs, metadata={"case": "1", "user": "x"})
        await finish(runs, one)
        two = await start(runs, "sleep", metadata={"case": "2", "user": "x"})
        three = await start(runs, "sleep", metadata=strange)
        await until(runs, three, lambda run: run.status == "running")
        middle = (await runs.get(two, tenant="ada")).created_at
        names = {one: "one", two: "two", three: "three"}

        async def found(**fields):
            page = await runs.list(RunFilter(**fields), tenant="ada", limit=10)
            return [names[run.run_id] for run in page.runs]

        found, metadata = (
            [
                await found(agent="echo"),
                await found(agent="echo\0") + await found(agent="\udc80"),
                await found(status=frozenset({"running"})),
                await found(metadata={"user": "x"}),
                await found(metadata={"user": "x", "case": "1"}),
                await found(metadata={"user": "1"}),
                await found(metadata=strange),
                await found(created_after=middle),
                await found(created_before=middle),
                await found(created_before=before.replace(tzinfo=None) - timedelta(days=1)),
            ],
            (await runs.get(three, tenant="ada")).metadata,
        )

    assert found == [
        ["one"],
        [],
        ["three", "two"],
        ["two", "one"],
        ["one"],
        [],
        ["three"],
        ["three"],
        ["one"],
        [],
    ]
    assert metadata == strange


async def test_an_id_that_is_none_has_no_run(tmp_path):
    async with engine(f"sqlite:///{tmp_path}/runs.sqlite") as runs:
        for run_id in ("x", "\0", "00000000-0000-0000-0000-000000000000"):
            with pytest.raises(RunNotFoundError):
                await runs.get(run_id, tenant="ada")
            with pytest.raises(RunNotFoundError):
                await runs.cancel(run_id, tenant="ada")


async def test_a_finished_run_stays_as_it_is_when_it_is_cancelled(tmp_path):
    async with engine(f"sqlite:///{tmp_path}/runs.sqlite") as runs:
        run_id = await start(runs)
        ended, cancelled = (
            await finish(runs, run_id),
            await runs.cancel(run_id, tenant="ada", reason="x"),
        )

    assert cancelled == ended


async def test_whoever_comes_back_reads_from_where_it_was(database):
    async def many(run):
        for number in range(1300):
            await run.tell("text", {"number": number, "text": "x" * 500})
        await run.step("model", lambda: asyncio.sleep(0.3, b""))
        raise RuntimeError

    async with engine(database, Scripted(many=many)) as runs:
        run_id = await start(runs, "many")
        live = asyncio.create_task(watch(runs, run_id))
        await until(runs, run_id, lambda run: run.last_event > 1290)
        late = asyncio.create_task(watch(runs, run_id, after=1290))
        whole, late = await live, await late
        again = await watch(runs, run_id)
        behind = await watch(runs, run_id, after=1290)
        beyond = await watch(runs, run_id, after=5000)
        page = await runs.read_events(run_id, tenant="ada", after=700, limit=3)
        nothing = await runs.read_events(run_id, tenant="ada", after=10**30)

    assert [event.number for event in whole] == list(range(1, 1303))
    assert again == whole
    assert late == behind == whole[1290:]
    assert beyond == nothing == []
    assert page == whole[700:703]
    assert whole[-1].data["error_type"] == "internal_error"


async def test_all_who_watch_a_run_get_the_same_events(tmp_path):
    seen = asyncio.Event()

    async def slowly(run):
        await run.tell("text", {"number": 1})
        await seen.wait()
        await run.tell("text", {"number": 2})
        await asyncio.sleep(0.15)
        raise RuntimeError

    async with engine(
        f"sqlite:///{tmp_path}/runs.sqlite", Scripted(slowly=slowly), max_watchers=20
    ) as runs:
        run_id = await start(runs, "slowly")
        watching = [asyncio.create_task(watch(runs, run_id)) for _ in range(19)]
        watching.append(asyncio.create_task(watch(runs, run_id, after=99)))
        await eventually(lambda: runs.statistics().watchers == 20)
        with pytest.raises(TooManyWatchersError):
            await watch(runs, run_id)
        count = runs.statistics().watchers
        seen.set()
        watching[0].cancel()
        *told, beyond = await asyncio.gather(*watching[1:])
        assert [event.type for event in beyond][-2:] == ["text", "run_failed"]
        left = runs.statistics().watchers

    assert (count, left) == (20, 0)
    for events in told:
        assert events == told[0]
    # Made once: whoever sends it keeps the bytes for all.
    assert all(events[-1] is told[0][-1] for events in told)


async def test_who_watches_large_events_gets_all_of_them_though_few_are_kept(tmp_path):
    is_watched = asyncio.Event()

    async def flood(run):
        await is_watched.wait()
        for _ in range(12):
            await run.tell("text", {"text": "x" * 300_000})
            await asyncio.sleep(0.01)
        return RunResult(status="succeeded")

    async with engine(f"sqlite:///{tmp_path}/runs.sqlite", Scripted(flood=flood)) as runs:
        run_id = await start(runs, "flood")
        quick = asyncio.create_task(watch(runs, run_id))
        await eventually(lambda: runs.statistics().watchers == 1)
        is_watched.set()
        slow = []
        async for batch in runs.watch_events(run_id, tenant="ada"):
            slow.append([event.number for event in batch])
            await asyncio.sleep(0.1)
        page = await runs.read_events(run_id, tenant="ada", limit=1000)
        quick = await quick

    assert [event.number for event in quick] == list(range(1, 15))
    assert [number for batch in slow for number in batch] == list(range(1, 15))
    # A reader is given some of them at a time, of however large a run.
    assert max(map(len, slow)) <= 5
    assert len(page) == 2


@pytest.mark.parametrize(
    "statement", ["DELETE FROM agent_runs", "UPDATE agent_runs SET last_event = 99"]
)
async def test_watching_ends_where_a_run_or_its_events_were_deleted(tmp_path, statement):
    async with engine(f"sqlite:///{tmp_path}/runs.sqlite", Scripted(sleep=sleep)) as runs:
        run_id = await start(runs, "sleep")
        seen = []
        async for batch in runs.watch_events(run_id, tenant="ada"):
            seen += batch
            with closing(sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)) as db:
                db.execute(statement)

    assert [event.type for event in seen] == ["run_started"]
