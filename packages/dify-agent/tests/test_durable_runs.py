import sqlite3
import stat
import time

import pytest


def create(server, request):
    return server.client.post("/runs", json=request).raise_for_status().json()["run_id"]


def types(events):
    return [event["type"] for event in events]


def status_of(server, run_id):
    return server.client.get(f"/runs/{run_id}").raise_for_status().json()["status"]


def test_a_run_streams_its_events_to_the_end(start_server, build_request, read_events):
    server = start_server()

    run_id = create(server, build_request())
    events = read_events(server.client, run_id)

    assert types(events) == [
        "run_started",
        "model_request_started",
        "text_delta",
        "text_delta",
        "run_succeeded",
    ]
    assert events[-1]["output"] == "Hello!"
    assert [event["sequence"] for event in events] == [1, 2, 3, 4, 5]
    assert status_of(server, run_id) == "succeeded"


@pytest.fixture
def asks_then_answers(daemon, chunks):
    """Let the daemon's model call two tools at once, and answer when it has their results."""

    def arrange(*, first=(), answer=()):
        def model(data):
            if len(chunks.tool_results(data)) < 2:
                return [
                    *first,
                    chunks.call(("c1", "search", {"q": "a"}), ("c2", "look", {"q": "b"})),
                ]
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
        "model_request_started",
        "text_delta",
        "text_delta",
        "run_succeeded",
    ]
    requests = [event for event in events if event["type"] == "model_request_started"]
    assert [(e["request_index"], e["attempt"]) for e in requests] == [(1, 1), (2, 1), (2, 2)]
    assert [event["sequence"] for event in events] == list(range(1, 13))
    assert events[-1]["output"] == "It is."
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
    wait_for_step(server, run_id, "tool_call:search")
    server.kill()
    gate.open()

    events = read_events(start_server().client, run_id)

    told = [e for e in events if e["type"] in {"tool_call", "tool_result"}]
    assert [(e["type"], e["tool_call_id"]) for e in told] == [
        ("tool_call", "c1"),
        ("tool_call", "c2"),
        ("tool_result", "c1"),
        ("tool_result", "c2"),
    ]
    assert [e.get("content") for e in told[2:]] == ["search done", "look done"]
    assert sorted(call["tool"] for call in daemon.tool_requests) == ["look", "look", "search"]


def wait_for_step(server, run_id, name):
    """Wait until a step of a run is on record; there is no event for that."""
    with sqlite3.connect(server.database) as database:
        query = (
            "SELECT count(*) FROM operation_outputs WHERE workflow_uuid = ? AND function_name = ?"
        )
        while database.execute(query, (run_id, name)).fetchone() == (0,):
            time.sleep(0.01)  # a poll


def test_two_servers_share_the_runs_of_one_database(
    start_server, daemon, build_request, read_events, chunks
):
    gates = {"one": daemon.gate(), "two": daemon.gate()}
    daemon.model = lambda data: [
        gates[data["prompt_messages"][-1]["content"]],
        chunks.text("done", finish_reason="stop"),
    ]
    servers = [start_server(concurrency=1), start_server(concurrency=1)]

    runs = {name: create(servers[0], build_request(name)) for name in gates}
    for gate in gates.values():
        gate.wait_until_reached()  # both at the same time, though each server takes one only
    for gate in gates.values():
        gate.open()

    for run_id in runs.values():
        told = [read_events(server.client, run_id) for server in servers]
        assert told[0] == told[1]
        assert types(told[0])[-1] == "run_succeeded"


def test_a_living_server_takes_over_the_runs_of_a_killed_one(
    start_server, daemon, build_request, read_events, chunks
):
    gate = daemon.gate()
    daemon.model = lambda _data: [gate, chunks.text("done", finish_reason="stop")]
    server = start_server()
    run_id = create(server, build_request())
    gate.wait_until_reached()
    other = start_server()
    server.kill()
    gate.open()

    assert read_events(other.client, run_id)[-1]["output"] == "done"


def test_a_server_that_stops_leaves_its_runs_to_the_next(
    start_server, daemon, build_request, read_events, chunks
):
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.text("a"), gate, chunks.text("b", finish_reason="stop")]
    server = start_server(lease_seconds=60)
    run_id = create(server, build_request())
    gate.wait_until_reached()

    output = server.stop()
    gate.open()
    events = read_events(start_server(lease_seconds=60).client, run_id)

    assert events[-1]["output"] == "ab"
    assert "Traceback" not in output


def test_a_cancelled_run_lets_go_of_the_model_at_once_on_whatever_server_it_runs(
    start_server, daemon, build_request, read_events, chunks
):
    gate = daemon.gate()
    daemon.model = lambda _data: [chunks.text("a"), gate]
    server = start_server()
    run_id = create(server, build_request())
    gate.wait_until_reached()
    other = start_server()

    cancelled = other.client.post(f"/runs/{run_id}/cancel").raise_for_status().json()
    gate.wait_until_left()

    assert cancelled["status"] == "cancelled"
    assert types(read_events(other.client, run_id))[-1] == "run_cancelled"
    assert read_events(server.client, run_id) == read_events(other.client, run_id)


def test_nothing_secret_is_readable_by_others_or_written_to_a_log(
    start_server, daemon, build_request, read_events, tmp_path
):
    server = start_server(database=tmp_path / "new" / "runs.sqlite")
    create(server, build_request("fail"))
    daemon.model = lambda _data: [ValueError("bad key s3cret-model-key")]
    run_id = create(server, build_request())

    events = read_events(server.client, run_id)
    answers = server.client.get(f"/runs/{run_id}").text
    output = server.stop()

    assert events[-1]["type"] == "run_failed"
    assert "s3cret" not in str(events) + answers + output
    assert stat.S_IMODE(server.database.stat().st_mode) == 0o600
    assert stat.S_IMODE(server.database.parent.stat().st_mode) == 0o700
