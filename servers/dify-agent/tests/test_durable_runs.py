"""Runs of the real command that outlive their server."""

import contextlib
import sqlite3
import stat
import time

import pytest


def create(server, request):
    return server.client.post("/v1/runs", json=request).raise_for_status().json()["run_id"]


def types(events):
    return [event["type"] for event in events]


@pytest.fixture
def asks_then_answers(daemon, chunks):
    """Let the daemon's model call two tools at once, and answer when it has their results."""

    def arrange(*, answer=()):
        def model(data):
            if len(chunks.tool_results(data)) < 2:
                return [chunks.call(("c1", "search", {"q": "a"}), ("c2", "look", {"q": "b"}))]
            return [chunks.text("It"), *answer, chunks.text(" is.", finish_reason="stop")]

        daemon.model = model

    return arrange


def test_a_killed_server_goes_on_where_it_was_without_calling_a_tool_again(
    start_server, daemon, build_request, read_events, asks_then_answers
):
    gate = daemon.gate()
    asks_then_answers(answer=[gate])
    server = start_server()
    run_id = create(server, build_request(tools=("search", "look")))
    before = read_events(server.client, run_id, until="text_delta")
    gate.wait_until_reached()
    server.kill()
    gate.open()

    again = start_server()
    events = read_events(again.client, run_id)

    assert events[: len(before)] == before
    assert types(events) == [
        "run_started",
        "model_request_started",
        "tool_call",
        "tool_call",
        "tool_result",
        "tool_result",
        "model_request_started",
        "text_delta",
        "run_started",
        "model_request_started",
        "text_delta",
        "text_delta",
        "run_succeeded",
    ]
    requests = [event["data"] for event in events if event["type"] == "model_request_started"]
    assert [(each["request_index"], each["attempt"]) for each in requests] == [
        (1, 1),
        (2, 1),
        (2, 2),
    ]
    assert events[-1]["data"]["output"] == "It is."
    assert sorted(call["tool"] for call in daemon.tool_requests) == ["look", "search"]
    assert len(daemon.model_requests) == 3


def test_a_tool_call_that_was_cut_is_made_again_and_told_once(
    start_server, daemon, build_request, read_events, asks_then_answers
):
    gate = daemon.gate()
    asks_then_answers()
    daemon.tool = lambda data: [
        *([gate] if data["tool"] == "look" else []),
        {"type": "text", "message": {"text": f"{data['tool']} done"}},
    ]
    server = start_server()
    run_id = create(server, build_request(tools=("search", "look")))
    read_events(server.client, run_id, until="tool_call")
    gate.wait_until_reached()
    wait_for_step(server)
    server.kill()
    gate.open()

    events = read_events(start_server().client, run_id)

    told = [each for each in events if each["type"] in {"tool_call", "tool_result"}]
    assert [(each["type"], each["data"]["tool_call_id"]) for each in told] == [
        ("tool_call", "c1"),
        ("tool_call", "c2"),
        ("tool_result", "c1"),
        ("tool_result", "c2"),
    ]
    assert [each["data"].get("content") for each in told[2:]] == ["search done", "look done"]
    assert sorted(call["tool"] for call in daemon.tool_requests) == ["look", "look", "search"]


def wait_for_step(server):
    """Wait until the first of two tool calls is on record; there is no event for that."""
    with contextlib.closing(sqlite3.connect(server.database)) as database:
        query = "SELECT count(*) FROM agent_run_steps WHERE key LIKE 'tool:%'"
        while database.execute(query).fetchone() == (0,):
            time.sleep(0.01)  # a poll


def test_nothing_secret_is_readable_by_others_or_written_to_a_log(
    start_server, daemon, build_request, read_events, tmp_path
):
    server = start_server(database=tmp_path / "new" / "runs.sqlite")
    daemon.model = lambda _data: [ValueError("bad key s3cret-model-key")]
    run_id = create(server, build_request())

    events = read_events(server.client, run_id)
    answers = server.client.get(f"/v1/runs/{run_id}").text
    output = server.stop()

    assert events[-1]["type"] == "run_failed"
    assert "s3cret" not in str(events) + answers + output
    assert stat.S_IMODE(server.database.stat().st_mode) == 0o600
    assert stat.S_IMODE(server.database.parent.stat().st_mode) == 0o700
