"""Dify's own client against `dify-agent serve`, whose models and tools are played here."""

import socket
from contextlib import ExitStack

import pytest

from systems import DifyAgent


@pytest.fixture
def system(tmp_path):
    with ExitStack() as stack:
        yield DifyAgent(tmp_path, stack)


@pytest.fixture
def start(system, tmp_path):
    """Return a function that starts a server, always at the same address and on the same database."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]

    def start():
        database = f"sqlite:///{tmp_path / 'runs.sqlite'}"
        return system.start(database, port=port, dify_version="1.16.0", lease_seconds=1)

    return start


def texts(events):
    return "".join(event.get("agent_message_delta") or "" for event in events)


def test_a_run_is_followed_to_its_end(system, start, use_client):
    server = start()
    created, *events = use_client(
        str(server.client.base_url), "stream", system.request(1, rounds=2)
    )

    assert created["status"] == "running"
    kinds = [event["type"] for event in events]
    assert (kinds[0], kinds[-1]) == ("run_started", "run_succeeded")
    assert {*kinds[1:-1]} == {"pydantic_ai_event"}
    assert texts(events) == "some words " * 3 + "done 1"
    assert events[-1]["data"]["output"] == "some words done 1"
    called = [event["data"] for event in events[1:-1] if "part" in event["data"]]
    assert [each["event_kind"] for each in called] == [
        "function_tool_call",
        "function_tool_result",
    ] * 2


def test_a_run_is_waited_for_and_read_in_pages(system, start, use_client):
    server = start()
    _, waited = use_client(str(server.client.base_url), "wait", system.request(2, rounds=0))
    _, *pages = use_client(str(server.client.base_url), "page", system.request(3, rounds=0))

    assert waited["status"] == "succeeded"
    assert all(len(page["events"]) <= 2 for page in pages)
    events = [event for page in pages for event in page["events"]]
    assert texts(events) == "some words done 3"
    assert events[-1]["type"] == "run_succeeded"


def test_a_run_is_cancelled(system, start, use_client):
    server = start()
    told = list(use_client(str(server.client.base_url), "cancel", system.request(4, seconds=30)))

    assert {"status": "cancelled", "run_id": told[0]["run_id"]} in told
    assert told[-1]["type"] == "run_cancelled"
    assert told[-1]["data"] == {"reason": "enough", "message": "It was enough."}


def test_a_client_goes_on_where_it_was_after_its_server_was_killed(system, start, use_client):
    server = start()
    telling = use_client(
        str(server.client.base_url), "stream", system.request(5, rounds=6, seconds=0.5)
    )
    events = [next(telling)]
    while events[-1].get("data", {}).get("event_kind") != "function_tool_result":
        events.append(next(telling))
    server.kill()
    start()
    events += telling

    assert events[-1]["type"] == "run_succeeded"
    numbers = [int(event["id"]) for event in events[1:]]
    assert numbers == sorted({*numbers})
    assert max(system.done().values()) == 1
