"""Another version's unfinished runs, other agents, and other keys, under both commands."""

import json
import time
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from cryptography.fernet import Fernet

from systems import NOTE, Watcher, create, finish, until


OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


def query(database, statement):
    url = sa.make_url(database)
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        connection.execute(sa.text(statement))


@pytest.mark.parametrize("how", ["end", "kill"])
def test_what_another_version_has_begun_is_ended_with_a_reason_and_the_rest_is_run(
    system, database, how
):
    server = system.start(database, concurrency=1)
    begun = create(server, system.request(1, rounds=50, seconds=0.5))
    waiting = create(server, system.request(2, rounds=1))
    until([server], begun, lambda run: run["last_event"] > 1)
    getattr(server, how)()
    query(database, "UPDATE agent_runs SET version = '0'")
    query(database, "UPDATE agent_servers SET version = '0'")

    server = system.start(database)
    watcher = Watcher([server], begun)
    run = finish([server], begun)

    assert (run["status"], run["error"]["type"]) == ("failed", "version_changed")
    assert "begun by version 0 of" in run["error"]["message"]
    assert finish([server], waiting)["status"] == "succeeded"
    watcher.join(600)
    assert watcher.types[-1] == "run_failed"
    assert watcher.numbers == list(range(1, len(watcher.numbers) + 1))


def test_a_newer_database_ends_the_start_with_a_sentence(system, database):
    system.start(database).end()
    query(database, "UPDATE agent_server_schema SET version = 99")

    server = system.start(database)

    assert server.wait() == 2
    assert len(server.lines) == 1
    assert "its schema version 99 is newer than this release supports" in server.output


def test_servers_with_different_folders_execute_runs_of_their_own(scripts, database):
    first = scripts.start(database)
    scripts.add_agent("other")
    second = scripts.start(database, unserved_seconds=1)
    first_only = [create(first, scripts.request(n, rounds=1, seconds=0)) for n in range(3)]
    second_only = [
        create(second, scripts.request(n, rounds=1, seconds=0, agent="other")) for n in range(3)
    ]
    assert {finish([first], one)["status"] for one in first_only + second_only} == {"succeeded"}
    second.end()
    late = create(scripts.start(database), scripts.request(9, rounds=50, agent="other"))
    refused = first.client.post("/v1/runs", json=scripts.request(1, agent="other"))
    assert refused.status_code in {404, 422}
    until([first], late, lambda run: run["last_event"] > 1)


def sealed_under(key):
    """Return how everything begins that a key has sealed: the key's id, and a Fernet token's head."""
    return sha256(key.encode()).hexdigest()[:8].encode() + b"gAAAA"


def stored(database, request):
    """Return what stands in the files of a database."""
    if database.startswith("sqlite"):
        files = Path(sa.make_url(database).database).parent.glob("runs.sqlite*")
        return b"".join(one.read_bytes() for one in files)
    cluster = request.getfixturevalue("cluster")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        connection.execute("CHECKPOINT")
        (folder,) = connection.execute(
            "SELECT 'base/' || oid FROM pg_database WHERE datname = current_database()"
        ).fetchone()
    return b"".join(one.read_bytes() for one in (cluster.data / folder).iterdir())


def test_keys_are_changed_while_runs_go_on(system, database, request):
    first = system.start(database, storage_keys=OLD)
    ids = [create(first, system.request(n, rounds=6, seconds=0.3)) for n in range(4)]
    servers = [first]
    watchers = [Watcher(servers, run_id) for run_id in ids]
    until(servers, ids[0], lambda run: run["last_event"] > 2)

    refused = system.start(database, storage_keys=f"{NEW},{OLD}")
    assert refused.wait() == 2
    assert "storage_keys: expected a first key that all living servers have" in refused.output
    first.end()
    servers[0] = system.start(database, storage_keys=f"{NEW},{OLD}")
    ids += [create(servers[0], system.request(n, rounds=1)) for n in range(4, 8)]
    for run_id in ids:
        finish(servers, run_id)
    for watcher in watchers:
        watcher.join(600)
        assert watcher.numbers == list(range(1, len(watcher.numbers) + 1))

    deadline = time.monotonic() + 40
    while sealed_under(OLD) in stored(database, request):
        assert time.monotonic() < deadline
        time.sleep(1)
    assert sealed_under(NEW) in stored(database, request)
    assert NOTE.encode() not in stored(database, request)
    servers[0].end()
    for keys in (OLD, None):
        wrong = system.start(database, **({} if keys is None else {"storage_keys": keys}))
        assert wrong.wait() == 2
        assert wrong.lines == [
            "storage_keys: expected the key that the database was written with\n"
        ]
    last = system.start(database, storage_keys=NEW)
    for run_id in ids:
        events = last.client.get(f"/v1/runs/{run_id}/events").json()["events"]
        assert json.dumps(events)
    output = "".join(one.output for one in (first, refused, servers[0], last))
    for secret in (OLD, NEW, NOTE, "model-key", "tool-token", "daemon-key"):
        assert secret not in output
