import contextlib
import sqlite3
import time

import pytest


def create(client, request):
    return client.post("/runs", json=request).raise_for_status().json()["run_id"]


def status_of(client, run_id):
    return client.get(f"/runs/{run_id}").raise_for_status().json()


def wait_for(condition):
    """Wait for what no event tells of: the housekeeping."""
    while not condition():
        time.sleep(0.02)  # a poll


@pytest.fixture(scope="module")
def server(share_server):
    with share_server(concurrency=1) as client:
        yield client


@pytest.fixture
def client(server, settle):
    yield server
    settle(server)


@pytest.fixture
def database(client):
    """Open the database of the server, to look at what no answer tells."""
    with contextlib.closing(sqlite3.connect(client.database)) as connection:
        yield connection


@pytest.fixture
def one_at_a_time(daemon, chunks):
    """Let the model hang until the returned gate is opened."""
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.text("a"), gate, chunks.text("b", finish_reason="stop")]
    return gate


def test_a_run_is_queued_then_running_then_finished(
    client, one_at_a_time, build_request, read_events
):
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


def test_what_a_model_said_before_it_failed_is_told(
    client, daemon, build_request, read_events, chunks
):
    texts = [f"{number} " for number in range(50)]
    daemon.model = lambda _data: [*map(chunks.text, texts), ValueError("it broke")]

    events = read_events(client, create(client, build_request()))

    assert [event["text"] for event in events if event["type"] == "text_delta"] == texts
    assert events[-1]["type"] == "run_failed"


def test_a_failed_run_tells_why(client, daemon, build_request, read_events):
    daemon.model = lambda _data: [ValueError("no such model")]
    run_id = create(client, build_request())
    events = read_events(client, run_id)
    status = status_of(client, run_id)

    assert events[-1]["type"] == "run_failed"
    assert status["status"] == "failed"
    assert status["error"] == events[-1]["error"]
    assert "no such model" in status["error"]


def test_a_cancelled_run_in_the_queue_is_never_begun(
    client, daemon, one_at_a_time, build_request, read_events
):
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


def test_a_cancelled_run_lets_go_of_the_tool(client, daemon, build_request, read_events, chunks):
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.call(("c1", "search", {"q": "a"}))]
    daemon.tool = lambda _data: [gate]
    run_id = create(client, build_request())
    gate.wait_until_reached()

    client.post(f"/runs/{run_id}/cancel").raise_for_status()
    gate.wait_until_left()
    events = read_events(client, run_id)

    assert [event["type"] for event in events][-2:] == ["tool_call", "run_cancelled"]


def test_cancelling_a_finished_run_changes_nothing(client, build_request, read_events):
    run_id = create(client, build_request())
    events = read_events(client, run_id)

    cancelled = client.post(f"/runs/{run_id}/cancel").raise_for_status().json()

    assert cancelled["status"] == "succeeded"
    assert read_events(client, run_id) == events


def test_cancelling_a_cancelled_run_again_does_not_move_its_end(
    client, one_at_a_time, build_request, read_events
):
    run_id = create(client, build_request())
    one_at_a_time.wait_until_reached()
    first = client.post(f"/runs/{run_id}/cancel").json()
    one_at_a_time.wait_until_left()
    second = client.post(f"/runs/{run_id}/cancel").json()
    events = read_events(client, run_id)

    assert second == first
    assert events[-1]["created_at"] == first["finished_at"]


def test_a_run_goes_on_when_its_client_is_gone(client, one_at_a_time, build_request, read_events):
    run_id = create(client, build_request())
    read_events(client, run_id, until="text_delta")
    one_at_a_time.open()

    assert read_events(client, run_id)[-1]["output"] == "ab"


def test_the_daemon_gets_its_key_and_no_client_can_set_it(
    client, daemon, build_request, read_events
):
    read_events(client, create(client, build_request()))

    assert [headers["x-api-key"] for headers in daemon.headers] == ["s3cret-daemon-key"]


def test_a_finished_runs_request_is_forgotten(client, database, build_request, read_events):
    run_id = create(client, build_request())
    assert read_events(client, run_id)[-1]["type"] == "run_succeeded"

    wait_for(lambda: run_id not in stored_requests(database))

    assert status_of(client, run_id)["status"] == "succeeded"


def test_a_request_that_never_became_a_run_is_forgotten_in_the_end(database):
    rows = [("lost-long-ago", "", 0, 0.0), ("just-come", "", 0, time.time())]
    database.executemany("INSERT INTO dify_agent_request VALUES (?, ?, ?, ?)", rows)
    database.commit()

    wait_for(lambda: "lost-long-ago" not in stored_requests(database))

    assert "just-come" in stored_requests(database)


def stored_requests(database):
    return {run_id for (run_id,) in database.execute("SELECT run_id FROM dify_agent_request")}


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
        "The server stopped during this run again and again, so the run was given up.",
        "MaxRecoveryAttemptsExceeded",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_that_cannot_be_executed_ends_as_a_failed_one(  # noqa: PLR0917 - pytest gives them by name
    client, database, one_at_a_time, build_request, read_events, damage
):
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


def test_housekeeping_that_fails_is_tried_again(database, caplog):
    database.execute("ALTER TABLE dify_agent_lease RENAME TO away")
    wait_for(lambda: "Tidying the database failed, trying again: OperationalError" in caplog.text)

    database.execute("ALTER TABLE away RENAME TO dify_agent_lease")
    beat = database.execute("SELECT beat FROM dify_agent_lease").fetchone()
    wait_for(lambda: database.execute("SELECT beat FROM dify_agent_lease").fetchone() > beat)
