"""Servers with settings or an end of their own, each started for its test."""

import asyncio
import contextlib
import sqlite3
import time

import pytest
from cryptography.fernet import Fernet

from dify_agent.server.workflow import RunWorker


def create(client, request):
    return client.post("/runs", json=request).raise_for_status().json()["run_id"]


def test_a_run_is_deleted_after_its_time(serve_runs, build_request):
    with serve_runs(retention_hours=1e-9) as client:
        run_id = create(client, build_request())

        while client.get(f"/runs/{run_id}").status_code != 404:
            time.sleep(0.02)  # a poll; no event tells of the housekeeping

        assert stored(client, "SELECT 1 FROM streams") == []
        assert stored(client, "SELECT 1 FROM operation_outputs") == []


def stored(client, query):
    """Return what is in the first column of the database's answer."""
    with contextlib.closing(sqlite3.connect(client.database)) as database:
        return [row[0] for row in database.execute(query)]


def test_with_a_storage_key_nothing_of_a_run_is_stored_in_the_clear(
    serve_runs, daemon, build_request, read_events, chunks
):
    key = Fernet.generate_key()
    daemon.model = lambda _data: [chunks.text("x", finish_reason="stop")]
    with serve_runs(storage_key=key.decode()) as client:
        read_events(client, create(client, build_request()))
        texts = stored(client, "SELECT value FROM streams")
        texts += stored(client, "SELECT output FROM operation_outputs WHERE output IS NOT NULL")

    closed = [text for text in texts if "__DBOS" not in text]
    assert len(closed) >= 3
    assert all(Fernet(key).decrypt(text) for text in closed)


def test_a_server_that_stops_lets_its_runs_end_for_a_while(
    serve_runs, daemon, build_request, read_events, chunks
):
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.text("a"), gate, chunks.text("b", finish_reason="stop")]
    with serve_runs(drain_seconds=60) as client:
        run_id = create(client, build_request())
        gate.wait_until_reached()
        gate.open()

    with serve_runs() as client:
        assert read_events(client, run_id)[-1]["output"] == "ab"
    assert len(daemon.model_requests) == 1


def test_a_server_that_stops_breaks_off_the_runs_that_do_not_end(
    serve_runs, daemon, build_request, read_events, chunks
):
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.text("a"), gate, chunks.text("b", finish_reason="stop")]
    with serve_runs(drain_seconds=0) as client:
        run_id = create(client, build_request())
        gate.wait_until_reached()
    gate.wait_until_left()
    gate.open()

    with serve_runs() as client:
        assert read_events(client, run_id)[-1]["output"] == "ab"
    assert len(daemon.model_requests) == 2


def test_a_stopping_server_takes_up_no_run():
    async def take_up():
        worker = RunWorker(http_client=None, requests=None, layer_providers=())
        await worker.stop(drain_seconds=0)
        await worker.execute("run")

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(take_up())


def test_a_run_of_a_server_that_is_gone_is_taken_over(
    serve_runs, daemon, build_request, read_events, chunks
):
    gate = daemon.gate()
    daemon.model = lambda _data: [
        *([gate] if len(daemon.model_requests) == 1 else []),
        chunks.text("done", finish_reason="stop"),
    ]
    with serve_runs(concurrency=2) as client:
        run_id = create(client, build_request())
        gate.wait_until_reached()
        with contextlib.closing(sqlite3.connect(client.database)) as database:
            database.execute("UPDATE workflow_status SET executor_id = 'gone'")
            database.commit()
        events = read_events(client, run_id)
        gate.open()  # to the execution that the run was taken from; it can tell nothing any more

        assert read_events(client, run_id) == events
    assert [(e["type"], e.get("attempt")) for e in events] == [
        ("run_started", None),
        ("model_request_started", 1),
        ("model_request_started", 2),
        ("text_delta", None),
        ("run_succeeded", None),
    ]
