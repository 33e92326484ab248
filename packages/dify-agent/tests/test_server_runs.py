import asyncio
import sqlite3
import time

import pytest
from cryptography.fernet import Fernet

from dify_agent.server.workflow import RunWorker


def create(client, request):
    return client.post("/runs", json=request).raise_for_status().json()["run_id"]


def status_of(client, run_id):
    return client.get(f"/runs/{run_id}").raise_for_status().json()


def wait_for(condition):
    """Wait for what no event tells of: the housekeeping."""
    while not condition():
        time.sleep(0.02)  # a poll


@pytest.fixture
def one_at_a_time(daemon, chunks):
    """Let the model hang until the returned gate is opened."""
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.text("a"), gate, chunks.text("b", finish_reason="stop")]
    return gate


def test_a_run_is_queued_then_running_then_finished(
    serve_runs, one_at_a_time, build_request, read_events
):
    with serve_runs(concurrency=1) as client:
        first = create(client, build_request())
        one_at_a_time.wait_until_reached()
        second = create(client, build_request())

        running, queued = status_of(client, first), status_of(client, second)
        one_at_a_time.open()
        read_events(client, second)
        done = status_of(client, second)

    assert (running["status"], queued["status"], done["status"]) == (
        "running",
        "queued",
        "succeeded",
    )
    assert "started_at" in running
    assert "finished_at" not in running
    assert "started_at" not in queued
    assert queued["created_at"] <= done["started_at"] <= done["finished_at"]


def test_a_failed_run_tells_why(serve_runs, daemon, build_request, read_events):
    daemon.model = lambda _data: [ValueError("no such model")]
    with serve_runs() as client:
        run_id = create(client, build_request())
        events = read_events(client, run_id)
        status = status_of(client, run_id)

    assert events[-1]["type"] == "run_failed"
    assert status["status"] == "failed"
    assert status["error"] == events[-1]["error"]
    assert "no such model" in status["error"]


def test_a_cancelled_run_in_the_queue_is_never_begun(
    serve_runs, daemon, one_at_a_time, build_request, read_events
):
    with serve_runs(concurrency=1) as client:
        first = create(client, build_request())
        one_at_a_time.wait_until_reached()
        second = create(client, build_request())

        cancelled = client.post(f"/runs/{second}/cancel").json()
        one_at_a_time.open()
        read_events(client, first)
        events = read_events(client, second)

    assert cancelled["status"] == "cancelled"
    assert [(event["sequence"], event["type"]) for event in events] == [(1, "run_cancelled")]
    assert len(daemon.model_requests) == 1


def test_a_cancelled_run_lets_go_of_the_tool(
    serve_runs, daemon, build_request, read_events, chunks
):
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.call(("c1", "search", {"q": "a"}))]
    daemon.tool = lambda _data: [gate]
    with serve_runs() as client:
        run_id = create(client, build_request())
        gate.wait_until_reached()

        client.post(f"/runs/{run_id}/cancel").raise_for_status()
        gate.wait_until_left()
        events = read_events(client, run_id)

    assert [event["type"] for event in events][-2:] == ["tool_call", "run_cancelled"]


def test_cancelling_a_finished_run_changes_nothing(serve_runs, build_request, read_events):
    with serve_runs() as client:
        run_id = create(client, build_request())
        events = read_events(client, run_id)

        cancelled = client.post(f"/runs/{run_id}/cancel").raise_for_status().json()

        assert cancelled["status"] == "succeeded"
        assert read_events(client, run_id) == events


def test_cancelling_a_cancelled_run_again_does_not_move_its_end(
    serve_runs, one_at_a_time, build_request, read_events
):
    with serve_runs() as client:
        run_id = create(client, build_request())
        one_at_a_time.wait_until_reached()
        first = client.post(f"/runs/{run_id}/cancel").json()
        one_at_a_time.wait_until_left()
        second = client.post(f"/runs/{run_id}/cancel").json()
        events = read_events(client, run_id)

    assert second == first
    assert events[-1]["created_at"] == first["finished_at"]


def test_a_run_goes_on_when_its_client_is_gone(
    serve_runs, one_at_a_time, build_request, read_events
):
    with serve_runs() as client:
        run_id = create(client, build_request())
        read_events(client, run_id, until="text_delta")
        one_at_a_time.open()

        assert read_events(client, run_id)[-1]["output"] == "ab"


def test_the_daemon_gets_its_key_and_no_client_can_set_it(
    serve_runs, daemon, build_request, read_events
):
    with serve_runs() as client:
        read_events(client, create(client, build_request()))

    assert [headers["x-api-key"] for headers in daemon.headers] == ["s3cret-daemon-key"]


def test_a_finished_runs_request_is_forgotten(serve_runs, build_request, read_events):
    with serve_runs() as client, sqlite3.connect(client.database) as database:
        run_id = create(client, build_request())
        assert read_events(client, run_id)[-1]["type"] == "run_succeeded"

        wait_for(lambda: count(database, "dify_agent_request") == 0)

        assert status_of(client, run_id)["status"] == "succeeded"


def test_a_request_that_never_became_a_run_is_forgotten_in_the_end(serve_runs):
    with serve_runs() as client, sqlite3.connect(client.database) as database:
        client.get("/health")
        rows = [("lost-long-ago", "", 0, 0.0), ("just-come", "", 0, time.time())]
        database.executemany("INSERT INTO dify_agent_request VALUES (?, ?, ?, ?)", rows)
        database.commit()

        wait_for(lambda: count(database, "dify_agent_request") == 1)

        assert database.execute("SELECT run_id FROM dify_agent_request").fetchall() == [
            ("just-come",)
        ]


def count(database, table):
    return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_a_run_is_deleted_after_its_time(serve_runs, build_request):
    with serve_runs(retention_hours=1e-9) as client, sqlite3.connect(client.database) as database:
        run_id = create(client, build_request())

        wait_for(lambda: client.get(f"/runs/{run_id}").status_code == 404)

        assert count(database, "streams") == 0
        assert count(database, "operation_outputs") == 0


def test_with_a_storage_key_nothing_of_a_run_is_stored_in_the_clear(
    serve_runs, daemon, build_request, read_events, chunks
):
    key = Fernet.generate_key()
    daemon.model = lambda _data: [chunks.text("x", finish_reason="stop")]
    with serve_runs(storage_key=key.decode()) as client:
        read_events(client, create(client, build_request()))
        with sqlite3.connect(client.database) as database:
            stored = [
                text
                for table, column in (("streams", "value"), ("operation_outputs", "output"))
                for (text,) in database.execute(
                    f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"
                )
            ]

    closed = [text for text in stored if "__DBOS" not in text]
    assert len(closed) >= 3
    assert all(Fernet(key).decrypt(text) for text in closed)


def test_a_server_that_stops_lets_its_runs_end_for_a_while(
    serve_runs, daemon, one_at_a_time, build_request, read_events
):
    with serve_runs(drain_seconds=60) as client:
        run_id = create(client, build_request())
        one_at_a_time.wait_until_reached()
        one_at_a_time.open()

    with serve_runs() as client:
        assert read_events(client, run_id)[-1]["output"] == "ab"
    assert len(daemon.model_requests) == 1


def test_a_stopping_server_takes_up_no_run():
    async def take_up():
        worker = RunWorker(http_client=None, requests=None, layer_providers=())
        await worker.stop(drain_seconds=0)
        await worker.execute("run")

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(take_up())


DAMAGES = {
    "DELETE FROM dify_agent_request WHERE run_id = ?": (
        "The request of the run is no longer stored.",
        "StorageError",
    ),
    "UPDATE dify_agent_request SET request = 'plain:czNjcmV0' WHERE run_id = ?": (
        "The stored request cannot be read.",
        "StorageError",
    ),
    "UPDATE workflow_status SET status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED' WHERE workflow_uuid = ?": (
        "The run took its server down too often.",
        "MaxRecoveryAttemptsExceeded",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_that_cannot_be_executed_ends_as_a_failed_one(
    serve_runs, one_at_a_time, build_request, read_events, damage
):
    with serve_runs(concurrency=1) as client, sqlite3.connect(client.database) as database:
        first = create(client, build_request())
        one_at_a_time.wait_until_reached()
        run_id = create(client, build_request())
        database.execute(damage, (run_id,))
        database.commit()
        one_at_a_time.open()
        read_events(client, first)

        (event,) = read_events(client, run_id)
        status = status_of(client, run_id)

    error, error_type = DAMAGES[damage]
    assert (event["type"], event["error"], event["error_type"]) == ("run_failed", error, error_type)
    assert (status["status"], status["error"]) == ("failed", error)


def test_housekeeping_that_fails_is_tried_again(serve_runs, caplog):
    with serve_runs() as client, sqlite3.connect(client.database) as database:
        client.get("/health")
        database.execute("ALTER TABLE dify_agent_lease RENAME TO away")
        wait_for(lambda: "Housekeeping failed: OperationalError" in caplog.text)

        database.execute("ALTER TABLE away RENAME TO dify_agent_lease")
        beat = database.execute("SELECT beat FROM dify_agent_lease").fetchone()
        wait_for(lambda: database.execute("SELECT beat FROM dify_agent_lease").fetchone() > beat)


def test_a_run_of_a_server_that_is_gone_is_taken_over(
    serve_runs, daemon, build_request, read_events, chunks
):
    gate = daemon.gate()
    daemon.model = lambda _data: [
        *([gate] if len(daemon.model_requests) == 1 else []),
        chunks.text("done", finish_reason="stop"),
    ]
    with serve_runs() as client, sqlite3.connect(client.database) as database:
        run_id = create(client, build_request())
        gate.wait_until_reached()
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
