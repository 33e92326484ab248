"""How long a call may take over all its tries, and which failures are tried again."""

import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from wire import DONE, REQUEST, WHOLE, Answer, Wire, head, stream, whole

from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    ConnectionTimeoutError,
    ModelConfig,
    Request,
    ResponsesError,
    Transport,
    acreate,
    create,
    validate_server,
)


EVENTS = {"content_type": "text/event-stream"}
JSON = {"content_type": "application/json", "content_length": "100"}


def silent(pause: threading.Event, opening: bytes = b"") -> Answer:
    def answer(peer: socket.socket) -> None:
        peer.sendall(opening)
        pause.wait(120)

    return answer


async def ask(wire: Wire, **settings: Any) -> None:
    config = ModelConfig(model_id="m", api_key="k", base_url=wire.base_url, **settings)
    async with AsyncResponsesClient(config) as client:
        await client.complete(Request(items=[]))


@pytest.mark.parametrize(
    ("opening", "told"),
    [
        (b"", "did not answer in time"),
        (b"HTTP/1.1 200 OK\r\n", "did not answer in time"),
        (head(**EVENTS), "sent no event in time"),
        (head(**EVENTS) + b"data: {}\n\n", "sent no event in time"),
        (head(**JSON), "sent no event in time"),
    ],
    ids=["no word", "half a head", "a head", "an event", "a head of JSON"],
)
@pytest.mark.parametrize("request_body", [REQUEST, WHOLE])
def test_an_answer_that_does_not_come_is_a_timeout_and_not_asked_for_again(
    transport: Transport,
    pause: threading.Event,
    *,
    opening: bytes,
    told: str,
    request_body: dict[str, Any],
) -> None:
    """A server that is silent may be at work, and would be paid twice."""
    with Wire(silent(pause, opening)) as wire:
        slow = wire.connection(timeout_seconds=0.1, max_retries=3)
        with pytest.raises(ConnectionTimeoutError, match=told):
            create(slow, request_body, transport=transport)
        pause.set()

    assert len(wire.requests) == 1


async def test_an_asynchronous_call_is_not_made_again_either(pause: threading.Event) -> None:
    for opening in (b"", head(**EVENTS)):
        with Wire(silent(pause, opening)) as wire:
            slow = wire.connection(timeout_seconds=0.1, max_retries=3)
            with pytest.raises(ConnectionTimeoutError, match="in time"):
                await acreate(slow, REQUEST)
            pause.set()
        pause.clear()
        assert len(wire.requests) == 1


@pytest.mark.parametrize("opening", [b"", head(**JSON)])
def test_a_silent_server_is_validated_once(
    transport: Transport, pause: threading.Event, opening: bytes
) -> None:
    with Wire(silent(pause, opening)) as wire:
        with pytest.raises(ConnectionTimeoutError):
            validate_server(
                wire.connection(timeout_seconds=0.1, max_retries=3), transport=transport
            )
        pause.set()

    assert len(wire.requests) == 1


def late_listener(port: int, serve: Callable[[Wire], None]) -> threading.Thread:
    def listen() -> None:
        time.sleep(0.1)
        with Wire(stream(DONE), port=port) as wire:
            serve(wire)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    return thread


def test_a_failure_to_connect_is_tried_again(transport: Transport) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    answered = threading.Event()
    thread = late_listener(port, lambda _: answered.wait(120))
    late = Connection(api_key="k", base_url=f"http://127.0.0.1:{port}/v1", max_retries=2)

    assert create(late, REQUEST, transport=transport).status == "completed"
    answered.set()
    thread.join(timeout=120)


FAILING = whole(b"{}", "500 x", retry_after_ms="40")


@pytest.mark.parametrize(
    "answer",
    [FAILING, lambda peer: peer.shutdown(socket.SHUT_RDWR), whole(b"{}", "429 x", retry_after="1")],
    ids=["fails again and again", "hangs up", "asks for patience"],
)
def test_one_deadline_holds_over_all_tries(transport: Transport, answer: Answer) -> None:
    environ = {"PLUGIN_MAX_EXECUTION_TIMEOUT": "0.12"}
    is_over = threading.Event()

    def serve(peer: socket.socket) -> None:
        (stream(DONE) if is_over.is_set() else answer)(peer)

    with Wire(serve) as wire:
        credentials = {
            "openai_api_key": "k",
            "openai_api_base": wire.base_url,
            "max_retries": "5",
        }
        limited = Connection.from_credentials(credentials, environ=environ)
        with pytest.raises(ResponsesError, match=r"time limit \(PLUGIN_MAX_EXECUTION_TIMEOUT\)"):
            create(limited, REQUEST, transport=transport)
        tries = len(wire.requests)
        is_over.set()
        # What has been given up still tries again. It draws its pauses at random, which a property test would take for its own doing.
        for thread in threading.enumerate():
            if "_send_into" in thread.name:
                thread.join(120)

    assert tries < 6  # Six in all take seconds.


@pytest.mark.parametrize(
    ("environ", "seconds", "limit"),
    [
        ({}, None, "OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS"),
        ({"PLUGIN_MAX_EXECUTION_TIMEOUT": "600"}, 590, "PLUGIN_MAX_EXECUTION_TIMEOUT"),
        ({"PLUGIN_MAX_EXECUTION_TIMEOUT": "30"}, 27, "PLUGIN_MAX_EXECUTION_TIMEOUT"),
        (
            {"PLUGIN_MAX_EXECUTION_TIMEOUT": "30", "OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS": "20"},
            *(20, "OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS"),
        ),
        (
            {"PLUGIN_MAX_EXECUTION_TIMEOUT": "30", "OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS": "900"},
            *(27, "PLUGIN_MAX_EXECUTION_TIMEOUT"),
        ),
        ({"PLUGIN_MAX_EXECUTION_TIMEOUT": "soon"}, None, "OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS"),
    ],
)
def test_a_plugin_s_call_stays_under_the_limit_of_its_daemon(
    environ: dict[str, str], seconds: float | None, limit: str
) -> None:
    credentials = {"openai_api_key": "k", "request_timeout_seconds": "900"}
    connection = Connection.from_credentials(credentials, environ=environ)

    assert (connection.total_seconds, connection.total_limit) == (seconds, limit)
    assert connection.try_seconds == (900 if seconds is None else seconds + 1)


@pytest.mark.parametrize("value", [None, "", "soon", "0", "-1", "inf", "nan"])
def test_a_plugin_may_know_the_limit_of_a_daemon_that_names_none(value: str | None) -> None:
    environ = {} if value is None else {"PLUGIN_MAX_EXECUTION_TIMEOUT": value}
    read = partial(Connection.from_credentials, {"openai_api_key": "k"}, platform_seconds=600)

    unnamed = read(environ=environ)
    limited = read(environ={"OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS": "20", **environ})

    assert (unnamed.total_seconds, unnamed.total_limit) == (590, "PLUGIN_MAX_EXECUTION_TIMEOUT")
    assert limited.total_seconds == 20
    assert read(environ={"PLUGIN_MAX_EXECUTION_TIMEOUT": "900"}).total_seconds == 890


def test_a_call_of_anybody_else_has_no_daemon() -> None:
    environ = {"PLUGIN_MAX_EXECUTION_TIMEOUT": "600"}

    assert Connection.from_settings({"api_key": "k"}, environ=environ).total_seconds is None
