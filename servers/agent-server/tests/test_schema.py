"""Databases of other versions, and servers that start on an empty one at the same time."""

import asyncio
import sqlite3
import threading
from contextlib import AsyncExitStack, closing
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from agents import Scripted, engine, finish, query, settings_of, start, watch

from agent_server.engine import StorageError, open_engine
from agent_server.runs import RunFilter


HERE = Path(__file__).parent

# A run that waits, and one that was begun by a server which died: what version 1 stored of them.
_RUNS = """
INSERT INTO agent_servers (name, token, executor, version, key_id, beat) VALUES ('dead', '0', 'scripted', '1', 'plain', 7);
INSERT INTO agent_runs (run_id, executor, version, tenant, agent, status, attempt, server, created_at, started_at,
  cancel_requested, metadata, fingerprint, request, last_event, bytes) VALUES
  ('00000000-0000-0000-0000-000000000000', 'scripted', '1', 'ada', 'echo', 'queued', 0, NULL, 1, NULL, {false}, {empty}, '', {request}, 0, 10),
  ('11111111-1111-1111-1111-111111111111', 'scripted', '1', 'ada', 'echo', 'running', 1, 'dead', 1, 2, {false}, {empty}, '', {request}, 1, 10);
INSERT INTO agent_run_events (run, first, last, body) SELECT seq, 1, 1, {events} FROM agent_runs WHERE status = 'running';
INSERT INTO agent_run_steps (run, key, result) SELECT seq, 'model:1', {step} FROM agent_runs WHERE status = 'running'
"""


def build_version_1(database):
    kind = sa.make_url(database).get_backend_name()

    def stored(text):
        digits = (b"plain\0\0\0" + text.encode()).hex()
        return f"X'{digits}'" if kind == "sqlite" else f"'\\x{digits}'"

    rows = _RUNS.format(
        false="0" if kind == "sqlite" else "false",
        empty=stored("{}"),
        request=stored('{"question": "why"}'),
        events=stored('[["run_started",2,{"attempt":1}]]'),
        step=stored('{"answer": "as it was recorded"}'),
    )
    tables = (HERE / f"schema_1_{kind}.sql").read_text()
    statements = (tables + rows).replace(":", "\\:").split(";\n")
    query(database, *(one for one in statements if one.strip()))


def shape(database):
    """Return the columns and indexes of all tables."""
    url = sa.make_url(database)
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    found = sa.inspect(sa.create_engine(url, poolclass=sa.NullPool))
    return {
        name: (
            [{**one, "type": str(one["type"])} for one in found.get_columns(name)],
            [
                {**one, "dialect_options": _texts(one["dialect_options"])}
                for one in found.get_indexes(name)
            ],
            found.get_pk_constraint(name)["constrained_columns"],
            sorted(one["column_names"] for one in found.get_unique_constraints(name)),
        )
        for name in found.get_table_names()
    }


def _texts(options):
    return {name: str(value) for name, value in options.items()}


async def test_a_database_of_version_1_becomes_like_a_new_one_and_its_runs_go_on(
    database, tmp_path, request
):
    build_version_1(database)

    async with engine(database) as runs:
        page = await runs.list(RunFilter(), tenant="ada", limit=10)
        begun, queued = [await finish(runs, run.run_id) for run in page.runs]
        told = await watch(runs, begun.run_id)

    assert (begun.status, begun.attempt, begun.result.output) == (
        "succeeded",
        2,
        "as it was recorded",
    )
    assert [event.number for event in told] == [1, 2, 3, 4]
    assert (queued.status, queued.result.output) == ("succeeded", "why")
    is_file = database.startswith("sqlite")
    new = (
        f"sqlite:///{tmp_path / 'new'}" if is_file else request.getfixturevalue("cluster").create()
    )
    async with open_engine(settings_of(new), Scripted()):
        pass
    assert shape(database) == shape(new)


@pytest.mark.postgresql
async def test_a_migration_waits_for_a_backup_to_end(cluster):
    database = cluster.create()
    build_version_1(database)

    with psycopg.connect(database) as backup:
        backup.execute("LOCK TABLE agent_runs IN ACCESS SHARE MODE")
        threading.Timer(4, backup.commit).start()
        async with engine(database) as runs:
            run = await finish(runs, await start(runs))

        assert run.status == "succeeded"


async def test_a_database_of_a_newer_version_is_left_alone(database):
    async def play():
        async with engine(database) as runs:
            return await finish(runs, await start(runs))

    await play()
    query(database, "UPDATE agent_server_schema SET version = 99")

    with pytest.raises(
        StorageError, match="its schema version 99 is newer than this release supports"
    ):
        await play()
    assert query(database, "SELECT version FROM agent_server_schema") == [(99,)]


async def test_servers_can_start_on_an_empty_database_at_the_same_time(database):
    async with AsyncExitStack() as stack:
        servers = await asyncio.gather(
            *(
                stack.enter_async_context(open_engine(settings_of(database), Scripted()))
                for _ in range(4)
            )
        )
        ids = [await start(runs) for runs in servers]
        ended = [(await finish(servers[0], run_id)).status for run_id in ids]

    assert ended == ["succeeded"] * 4


async def test_a_new_file_that_another_server_is_opening_is_waited_for(tmp_path, monkeypatch):
    path = tmp_path / "runs.sqlite"

    def wait_for(milliseconds):
        monkeypatch.setattr("agent_server._store.database._BUSY_MILLISECONDS", milliseconds)

    async def scene(seconds):
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            # As far as a server has come that is about to keep a write-ahead log.
            other.execute("PRAGMA auto_vacuum = INCREMENTAL")
            other.execute("CREATE TABLE IF NOT EXISTS of_another (what)")
            other.execute("BEGIN IMMEDIATE")
            asyncio.get_running_loop().call_later(seconds, other.execute, "ROLLBACK")
            async with engine(f"sqlite:///{path}") as runs:
                return await finish(runs, await start(runs))

    wait_for(100)
    with pytest.raises(StorageError, match="database is locked"):
        await scene(600)
    wait_for(600_000)
    assert (await scene(0.3)).status == "succeeded"
