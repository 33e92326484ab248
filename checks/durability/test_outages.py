"""The database away for 20 s, under both commands."""

import os
import sqlite3
import sys
import time
from contextlib import closing, contextmanager

import psycopg
import pytest

from systems import FINISHED, Watcher, create, until


AWAY_SECONDS = float(os.environ.get("AWAY", "20"))


@contextmanager
def stopped(cluster, _database):
    cluster.stop()
    try:
        yield
    finally:
        cluster.go_on()


@contextmanager
def paused(cluster, _database):
    cluster.pause()
    try:
        yield
    finally:
        cluster.go_on()


def read_only(cluster, _database):
    return cluster.read_only()


@contextmanager
def locked(_cluster, database):
    with closing(
        sqlite3.connect(database.removeprefix("sqlite:///"), isolation_level=None)
    ) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")


@pytest.fixture(params=[stopped, paused, read_only, locked])
def outage(request, tmp_path):
    """The URL of a database, and how it goes away."""
    if request.param is locked:
        return f"sqlite:///{tmp_path / 'runs.sqlite'}", lambda url: locked(None, url)
    cluster = request.getfixturevalue("cluster")
    return cluster.create(), lambda url: request.param(cluster, url)


def is_unavailable(response):
    assert response.status_code == 503, (response.request.url, response.status_code, response.text)
    assert int(response.headers["retry-after"]) > 0
    if response.request.url.path.startswith("/runs"):  # Dify's own, as FastAPI tells errors
        assert response.json() == {"detail": "The database cannot be reached just now."}
    else:
        assert response.headers["content-type"] == "application/problem+json", response.text
        assert response.json()["status"] == 503


def notice(server):
    """Ask until the server knows; no answer is late, and none is another error."""
    paths = ["/v1/runs", "/metrics", "/ready", "/health", "/v1/agents"]
    is_known = False
    while not is_known:
        for path in paths:
            asked = time.monotonic()
            response = server.client.get(path)
            assert time.monotonic() - asked < 6, path
            if not response.is_success:
                is_unavailable(response)
            is_known = (path == "/ready" and not response.is_success) or is_known


def refuse(system, server, run_id):
    """Ask for everything that needs the database, and return the seconds of the slowest answer."""
    slowest = 0
    for method, path, fields in [
        ("GET", f"/v1/runs/{run_id}", {}),
        ("GET", "/v1/runs", {}),
        ("GET", f"/v1/runs/{run_id}/events", {}),
        ("GET", f"/v1/runs/{run_id}/events", {"headers": {"Accept": "text/event-stream"}}),
        ("POST", "/v1/runs", {"json": system.request(7)}),
        ("POST", f"/v1/runs/{run_id}/cancel", {"json": {"reason": "enough"}}),
        ("GET", "/ready", {}),
        *system.own_requests(run_id),
    ]:
        asked = time.monotonic()
        is_unavailable(server.client.request(method, path, **fields))
        slowest = max(slowest, time.monotonic() - asked)
    assert server.client.get("/health").is_success
    assert "agent_server_database_away 1" in server.client.get("/metrics").text
    return slowest


def test_for_20_seconds_clients_hear_it_and_then_runs_and_watchers_go_on(system, outage):
    database, away = outage
    servers = [system.start(database, lease_seconds=15, concurrency=4) for _ in range(2)]
    server = servers[0]
    rounds, seconds = 40, 0.7
    ids = [create(server, system.request(n, rounds=rounds, seconds=seconds)) for n in range(4)]
    short = create(server, system.request(9, rounds=1))
    watchers = [Watcher([one], run_id) for run_id in ids for one in servers]
    for run_id in ids:
        until([server], run_id, lambda run: run["last_event"] > 3)
    slowest = 0
    with away(database):
        began = time.monotonic()
        notice(server)
        noticed = time.monotonic() - began
        while time.monotonic() - began < AWAY_SECONDS:
            slowest = max(slowest, refuse(system, server, ids[0]))
            time.sleep(0.5)
    back = time.monotonic()
    numbers = [len(watcher.numbers) for watcher in watchers]
    while any(len(one.numbers) == before for one, before in zip(watchers, numbers, strict=True)):
        assert time.monotonic() - back < 10
        time.sleep(0.02)
    went_on = time.monotonic() - back
    while server.client.get("/ready").status_code != 200:
        assert time.monotonic() - back < 10
    ready = time.monotonic() - back
    for watcher in watchers:
        watcher.join(600)
    sys.stdout.write(f"{noticed=:.1f} {went_on=:.1f} {ready=:.1f} {slowest=:.2f}\n")
    ended = [
        until([server], run_id, lambda run: run["status"] in FINISHED) for run_id in [*ids, short]
    ]
    assert {run["status"] for run in ended} == {"succeeded"}
    assert {run["attempt"] for run in ended} == {1}
    for watcher in watchers:
        assert watcher.connections == 1
        assert watcher.numbers == list(range(1, len(watcher.numbers) + 1))
        assert watcher.types[-1] == "run_succeeded"
    assert noticed < 10
    assert slowest < 1
    assert went_on < 5
    for one in servers:
        said = [("away" in line, "back" in line) for line in one.lines if "listens" not in line]
        # Whom nobody has asked anything need not have noticed.
        assert said in ([(True, False), (False, True)], [] if one is not server else None), (
            one.output
        )


@pytest.mark.parametrize("way", [stopped, paused])
def test_a_server_can_be_stopped_while_its_database_is_away(system, cluster, way):
    database = cluster.create()
    server = system.start(database, lease_seconds=1)
    run_id = create(server, system.request(1, rounds=2, seconds=1.5))
    until([server], run_id, lambda run: run["last_event"] > 1)
    with way(cluster, database):
        server.client.get("/ready")
        began = time.monotonic()
        code = server.end()
        assert time.monotonic() - began < 15
    assert code == 0, server.output
    assert "Traceback" not in server.output
    server = system.start(database, lease_seconds=1)
    run = until([server], run_id, lambda run: run["status"] in FINISHED)
    assert run["attempt"] == 2


def test_watchers_of_another_server_hear_all_though_listening_connections_are_cut(system, cluster):
    database = cluster.create()
    servers = [system.start(database, concurrency=1, lease_seconds=15) for _ in range(2)]
    ids = [create(servers[0], system.request(n, rounds=8, seconds=0.5)) for n in range(2)]
    watchers = [Watcher([server], run_id) for server in servers for run_id in ids]
    cuts = 0
    with psycopg.connect(database, autocommit=True) as connection:
        while any(watcher.is_alive() for watcher in watchers):
            cuts += connection.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
            ).fetchone()[0]
            time.sleep(0.3)
    assert cuts > 6
    ends = [watcher.times[-1] for watcher in watchers]
    for watcher in watchers:
        assert watcher.connections == 1
        assert watcher.numbers == list(range(1, len(watcher.numbers) + 1))
    assert abs(ends[0] - ends[2]) < 4
    assert abs(ends[1] - ends[3]) < 4
