"""What is on disk: for whom, under which key, of which version, and how much."""

import asyncio
import re
import sqlite3
import stat
import threading
import time
from contextlib import closing
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from agents import Scripted, engine, eventually, finish, new_run, start, until
from cryptography.fernet import Fernet

from agent_server.engine import StorageError, open_engine
from agent_server.executor import InputRequest, Question, RunResult, Waiting
from agent_server.runs import IdempotencyConflictError, RunFilter, RunNotFoundError
from agent_server.settings import ServerSettings


CLEAR = Path("/proc/self/clear_refs")
OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


async def secret(run):
    await run.tell("text", {"text": "a-secret-event"})
    await run.step("model", lambda: asyncio.sleep(0, b"a-secret-step"))
    if run.request.get("wait"):
        await asyncio.sleep(600)
    return RunResult(status="succeeded", output="a-secret-output")


SECRETIVE = Scripted(secret=secret)


async def play(database, **settings):
    """Run one that ends and one that is left, and return the first's id."""

    async with engine(database, SECRETIVE, **settings) as runs:
        asked = {"request": {"text": "a-secret-request"}, "metadata": {"user": "a-secret-name"}}
        run_id = await start(runs, "secret", **asked)
        await finish(runs, run_id)
        left = await start(runs, "secret", request={"wait": True, "text": "a-secret-request"})
        await until(runs, left, lambda run: run.last_event > 1)
        await asyncio.sleep(0.05)
        return run_id


async def read(database, run_id, **settings):
    async with engine(database, SECRETIVE, **settings) as runs:
        run = await runs.get(run_id, tenant="ada")
        return run, await runs.read_events(run_id, tenant="ada")


def content(tmp_path):
    return b"".join(path.read_bytes() for path in tmp_path.glob("runs.sqlite*"))


def sealed_under(key):
    """Return how everything begins that a key has sealed: the key's id, and a Fernet token's head."""
    return sha256(key.encode()).hexdigest()[:8].encode() + b"gAAAA"


def query(tmp_path, statement):
    with closing(sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


@pytest.fixture
def sqlite(tmp_path):
    return f"sqlite:///{tmp_path / 'runs.sqlite'}"


async def test_the_database_is_its_owners_alone(tmp_path):
    folder = tmp_path / "state"

    async with open_engine(ServerSettings(state=folder), Scripted()):
        pass

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "runs.sqlite").stat().st_mode) == 0o600


async def test_without_a_folder_the_database_is_where_a_users_programs_keep_such_things(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    async with open_engine(ServerSettings(), Scripted()):
        pass

    assert (tmp_path / "scripted" / "runs.sqlite").exists()


async def test_nothing_that_was_said_is_readable_without_the_key(tmp_path, sqlite):
    run_id = await play(sqlite, storage_keys=OLD)

    assert b"a-secret" not in content(tmp_path)
    run, events = await read(sqlite, run_id, storage_keys=OLD)
    assert run.result.output == "a-secret-output"
    assert events[1].data == {"text": "a-secret-event"}


@pytest.mark.parametrize("first", [None, OLD])
async def test_the_key_can_be_changed(tmp_path, sqlite, first):
    keys = {} if first is None else {"storage_keys": first}
    run_id = await play(sqlite, **keys)
    assert (sealed_under(first) if first else b"a-secret") in content(tmp_path)

    both = NEW if first is None else f"{NEW}, {first}"
    async with engine(sqlite, SECRETIVE, storage_keys=both):
        await eventually(lambda: len(query(tmp_path, "SELECT * FROM agent_server_seals")) == 1)
        # Neither in pages that are free now nor in the write-ahead log.
        await eventually(lambda: b"a-secret" not in content(tmp_path))
        if first is not None:
            await eventually(lambda: sealed_under(first) not in content(tmp_path))

    run, events = await read(sqlite, run_id, storage_keys=NEW)
    assert run.result.output == "a-secret-output"
    assert run.metadata == {"user": "a-secret-name"}
    assert events[1].data == {"text": "a-secret-event"}


async def test_a_fingerprint_says_nothing_without_the_key_and_is_only_there_for_who_comes_again(
    tmp_path, sqlite
):
    said = sha256(b"{}").hexdigest()

    async def come(keys, fingerprint):
        async with engine(sqlite, storage_keys=keys, lease_seconds=0.2) as runs:
            run, is_new = await runs.create(
                new_run(idempotency_key="k", fingerprint=fingerprint, request={})
            )
            await finish(runs, run.run_id)
            await eventually(lambda: len(query(tmp_path, "SELECT * FROM agent_server_seals")) == 1)
            return is_new

    assert await come(OLD, said)
    async with engine(sqlite, storage_keys=OLD) as runs:
        await finish(runs, await start(runs, fingerprint=said))
    keyed, unkeyed = query(tmp_path, "SELECT fingerprint FROM agent_runs ORDER BY seq")
    assert said not in keyed[0]
    assert unkeyed == ("",)
    assert not await come(f"{NEW},{OLD}", said)
    with pytest.raises(IdempotencyConflictError):
        await come(f"{NEW},{OLD}", "another")
    # Whose key was taken away nobody can tell from another.
    assert not await come(NEW, "another")


@pytest.mark.parametrize("keys", [None, NEW])
async def test_a_missing_key_ends_the_start(sqlite, keys):
    await play(sqlite, storage_keys=OLD)

    with pytest.raises(StorageError, match="storage_keys: expected the key that the database"):
        await read(sqlite, "x", storage_keys=keys)


async def test_a_database_that_cannot_be_opened_ends_the_start():
    with pytest.raises(StorageError, match="database: expected one that can be opened"):
        await read("sqlite:////dev/null/x", "x")


async def test_a_file_that_is_no_database_ends_the_start(tmp_path, sqlite):
    (tmp_path / "runs.sqlite").write_bytes(b"x" * 5000)

    with pytest.raises(StorageError, match=r"runs\.sqlite: DatabaseError: file is not a database"):
        await read(sqlite, "x")


async def deleted(runs, run_id, tenant="ada"):
    """Return the runs that are left once the oldest is gone."""

    async def find():
        page = await runs.list(RunFilter(), tenant=tenant, limit=20)
        return [run.run_id for run in page.runs]

    left = await find()
    while run_id in left:
        left = await find()
    return left


async def prune(database, **settings):
    """Let runs end, and return those that are left after the next start."""

    async with engine(database) as runs:
        ids = [await start(runs, request={"question": "x" * 5000}) for _ in range(10)]
        for run_id in ids:
            await finish(runs, run_id)
    async with engine(database, **settings) as runs:
        left = await deleted(runs, ids[0])
        with pytest.raises(RunNotFoundError):
            await runs.read_events(ids[0], tenant="ada")
        return ids, left


async def test_the_newest_finished_runs_are_kept(database):
    ids, left = await prune(database, keep_runs=4)

    assert left == ids[:5:-1]


async def test_old_runs_are_deleted(database):
    _, left = await prune(database, keep_days=0)

    assert left == []


async def large(run):
    for _ in range(5):
        await run.tell("text", {"text": "x" * 60_000})
    return RunResult(status="succeeded")


@pytest.mark.parametrize("bound", [{"keep_runs": 4}, {"keep_bytes": 1024**2}])
async def test_a_flood_of_one_tenant_deletes_nothing_of_another(database, bound):
    async with engine(database, Scripted(large=large)) as runs:
        first = await start(runs, "large", idempotency_key="k", fingerprint="f")
        await finish(runs, first)
        flood = [await start(runs, "large", tenant="bob") for _ in range(8)]
        for run_id in flood:
            await finish(runs, run_id, tenant="bob")
    async with engine(database, Scripted(large=large), **bound) as runs:
        left = await deleted(runs, flood[0], tenant="bob")
        again, is_new = await runs.create(new_run("large", idempotency_key="k", fingerprint="f"))
        left = len(left)
        is_same = again.run_id == first
    assert (left < 5, is_new, is_same) == (True, False, True)


@pytest.mark.skipif(not CLEAR.exists(), reason="only Linux tells how much memory it was at most")
async def test_to_keep_limits_nothing_is_read_of_what_runs_hold(sqlite):
    """It took seconds, in which nothing else could be written, and as much memory as all runs hold."""
    async with engine(sqlite) as runs:
        large = {"input": "x" * 4_000_000}
        ids = [await start(runs, shown=large) for _ in range(8)]
        for run_id in ids:
            await finish(runs, run_id)
    del large
    before = begin_peak()
    async with engine(sqlite, keep_bytes=30_000_000) as runs:
        left = await deleted(runs, ids[0])

    assert set(left) == set(ids[1:])
    assert resident("VmHWM") - before < 15_000_000


@pytest.mark.skipif(not CLEAR.exists(), reason="only Linux tells how much memory it was at most")
async def test_with_its_events_nothing_is_written_again_of_what_a_run_holds(sqlite):
    large, rises = "x" * 8_000_000, []

    async def busy(run):
        before = begin_peak()
        for number in range(3):
            await run.tell("text", {"text": "x"})
            await run.step(f"step {number}", lambda: asyncio.sleep(0, b"x"))
        rises.append(resident("VmHWM") - before)
        return RunResult(status="succeeded", state=large.encode())

    async with engine(sqlite, Scripted(busy=busy)) as runs:
        run_id = await start(runs, "busy", request={"input": large}, shown={"input": large})
        await finish(runs, run_id)
        state = await runs.read_state(run_id, tenant="ada")

    assert state == large.encode()
    assert max(rises) < 8_000_000


@pytest.mark.skipif(not CLEAR.exists(), reason="only Linux tells how much memory it was at most")
async def test_of_many_runs_not_all_that_is_large_is_read_at_once(sqlite, tmp_path):
    large, rises = Question(text="x" * 1_000_000, schema={}), []

    async def ask(_run):
        return Waiting(request=InputRequest(question=large), state=b"")

    async def in_state(runs, status, count):
        await eventually(lambda: runs.statistics(tenant="ada").runs == {status: count})

    async with engine(sqlite, Scripted(ask=ask)) as runs:
        for _ in range(16):
            await start(runs, "ask")
        await in_state(runs, "waiting", 16)
    before = begin_peak()
    async with engine(sqlite, Scripted(ask=ask), storage_keys=NEW) as runs:
        await eventually(lambda: len(query(tmp_path, "SELECT * FROM agent_server_seals")) == 1)
        rises.append(resident("VmHWM") - before)
        before = begin_peak()
        page = await runs.list(RunFilter(), tenant="ada", limit=20)
        rises.append(resident("VmHWM") - before)
        assert (len(page.runs), page.next_cursor is None) == (4, False)
        del page
    before = begin_peak()
    async with engine(sqlite, Scripted(ask=ask), storage_keys=NEW, keep_waiting_days=0) as runs:
        await in_state(runs, "failed", 16)
        rises.append(resident("VmHWM") - before)

    key, listing, end = rises
    assert key < 30_000_000
    assert listing < 25_000_000
    assert end < 10_000_000


class Slow(dict):
    """A request that takes longer to write than a database at the end of a network is waited for."""

    begun = threading.Event()

    def items(self):
        self.begun.set()
        time.sleep(5)
        return super().items()


async def test_what_is_slow_at_a_file_is_the_machine_and_the_file_not_away(sqlite):
    async with engine(sqlite) as runs:
        slow = asyncio.create_task(start(runs, request=Slow(question="why")))
        await asyncio.to_thread(Slow.begun.wait)
        for run_id in (await start(runs), await slow):
            assert (await finish(runs, run_id)).status == "succeeded"


def begin_peak():
    """Have the peak begin anew, and return what there is now."""
    CLEAR.write_text("5")
    return resident("VmRSS")


def resident(name):
    """Return what the system says of this process's memory, in bytes."""
    [found] = re.findall(rf"{name}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found) * 1024


@pytest.mark.parametrize("days", [8, -8])
async def test_a_server_whose_clock_is_wrong_deletes_nothing_and_no_run_ends_before_it_began(
    database, monkeypatch, days
):
    class Wrong(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime.now(zone) + timedelta(days=days)

    async def tidied(runs):
        await finish(runs, await start(runs, tenant="bob"), tenant="bob")
        await eventually(lambda: runs.statistics(tenant="bob").runs == {"succeeded": 1})

    async with engine(database, concurrency=1, lease_seconds=0.2) as runs:
        kept = await start(runs)
        await finish(runs, kept)
    async with engine(database, lease_seconds=0.2) as runs:
        monkeypatch.setattr("agent_server._store.records.datetime", Wrong)
        await tidied(runs)
        other = await finish(runs, await start(runs))
        figures = runs.statistics()
        monkeypatch.undo()
        kept = await runs.get(kept, tenant="ada")
    for run in (kept, other):
        assert run.created_at <= run.started_at <= run.finished_at
    assert abs(other.created_at - kept.created_at) < timedelta(days=1)
    assert 0 <= figures.duration_sum_seconds < 60


async def test_what_is_deleted_leaves_no_row_behind(tmp_path, sqlite):
    await prune(sqlite, keep_days=0)

    for table in ("agent_runs", "agent_run_events", "agent_run_steps", "agent_run_labels"):
        assert query(tmp_path, f"SELECT count(*) FROM {table}") == [(0,)]


@pytest.mark.parametrize("is_ours", [True, False])
async def test_the_oldest_go_first_where_there_is_too_much_and_the_file_shrinks(
    tmp_path, sqlite, is_ours
):
    path = tmp_path / "runs.sqlite"
    if not is_ours:
        query(tmp_path, "CREATE TABLE of_another (what)")
        assert query(tmp_path, "PRAGMA auto_vacuum") == [(0,)]

    async with engine(sqlite, Scripted(large=large)) as runs:
        ids = [await start(runs, "large") for _ in range(16)]
        for run_id in ids:
            await finish(runs, run_id)
    before = path.stat().st_size
    async with engine(sqlite, keep_bytes=1024**2) as runs:
        left = await deleted(runs, ids[0])
        await eventually(lambda: path.stat().st_size < 0.3 * before)

    assert len(left) == 3
    assert set(left) <= set(ids)
    assert query(tmp_path, "PRAGMA freelist_count") == [(0,)]


@pytest.mark.usefixtures("short_waits")
async def test_a_file_that_cannot_be_written_anew_now_is_used_as_it_is(tmp_path, sqlite, caplog):
    query(tmp_path, "CREATE TABLE of_another (what)")
    with closing(sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")

        async def let_go():
            await eventually(lambda: "the database's file does not shrink" in caplog.text)
            other.execute("ROLLBACK")

        going = asyncio.create_task(let_go())
        async with engine(sqlite) as runs:
            run = await finish(runs, await start(runs))
        await going
    assert run.status == "succeeded"
    assert "the database's file does not shrink: database is locked" in caplog.text


async def test_the_figures_tell_how_long_the_oldest_run_has_waited(sqlite):
    async with engine(sqlite, SECRETIVE, concurrency=1, lease_seconds=0.2) as runs:
        running = await start(runs, "secret", request={"wait": True})
        await start(runs, "secret")
        # A count from before the first was begun has it among those that wait.
        await eventually(lambda: runs.statistics().runs == {"running": 1, "queued": 1})
        figures = runs.statistics()
        await runs.cancel(running, tenant="ada")

    assert figures.oldest_queued_seconds > 0
    assert figures.executing == 1


async def test_a_row_that_was_tampered_with_holds_up_nothing(tmp_path, sqlite, caplog):
    await play(sqlite, storage_keys=OLD)
    query(tmp_path, "UPDATE agent_run_events SET body = substr(body, 1, 20)")

    async with engine(sqlite, storage_keys=f"{NEW},{OLD}") as runs:
        await eventually(lambda: "could not be kept tidy" in caplog.text)
        run = await finish(runs, await start(runs))

    assert run.status == "succeeded"


async def test_a_run_of_which_the_request_was_tampered_with_ends_and_others_go_on(
    tmp_path, sqlite, caplog
):
    async with engine(sqlite, SECRETIVE, storage_keys=OLD, concurrency=1) as runs:
        await start(runs, "secret", request={"wait": True})
        spoilt, good = await start(runs, "secret"), await start(runs, "secret")
    query(
        tmp_path,
        f"UPDATE agent_runs SET request = substr(request, 1, 30) WHERE run_id = '{spoilt}'",
    )
    async with engine(sqlite, SECRETIVE, storage_keys=OLD) as runs:
        spoilt, good = await finish(runs, spoilt), await finish(runs, good)

    assert spoilt.result.error_type == "unreadable"
    assert "Traceback" not in caplog.text
    assert good.status == "succeeded"


async def test_a_run_whose_end_cannot_be_stored_is_begun_again(tmp_path, sqlite, caplog):
    async with engine(sqlite, SECRETIVE) as runs:
        run_id = await start(runs, "secret", request={"wait": True})
        await until(runs, run_id, lambda run: run.last_event == 2)
        query(tmp_path, "INSERT INTO agent_run_events SELECT seq, 3, 3, x'' FROM agent_runs")
        await runs.cancel(run_id, tenant="ada")
        await eventually(lambda: "no run could be taken" in caplog.text)
        query(tmp_path, "DELETE FROM agent_run_events WHERE body = x''")
        run = await finish(runs, run_id)

    assert run.status == "cancelled"
    assert "could not be ended" in caplog.text
