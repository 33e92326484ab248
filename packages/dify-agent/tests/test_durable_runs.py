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
