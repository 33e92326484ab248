"""How long a call may take over all its tries, and which failures are tried again."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest
from wire import DONE, PATIENCE, REQUEST, WHOLE, Answer, Wire, head, stream, whole

from gpt5_responses import (
    Connection,
    ConnectionTimeoutError,
    ResponsesError,
    Transport,
    acreate,
    create,
    validate_server,
)


EVENTS = {"content_type": "text/event-stream"}
JSON = {"content_type": "application/json", "content_length": "100"}


@contextmanager
def silence(pause: threading.Event, opening: bytes) -> Iterator[Wire]:
    """Give a server that says no more than this, and ends with its caller."""

    def answer(peer: socket.socket) -> None:
        peer.sendall(opening)
        pause.wait(120)

    pause.clear()
    with Wire(answer) as wire:
        try:
            yield wire
        finally:
            pause.set()


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

    def is_told(seconds: float) -> bool:
        with silence(pause, opening) as wire:
            slow = wire.connection(timeout_seconds=seconds, max_retries=3)
            with pytest.raises(ConnectionTimeoutError, match="in time") as caught:
                create(slow, request_body, transport=transport)
        return len(wire.requests) == 1 and told in str(caught.value)

    assert any(map(is_told, PATIENCE))


@pytest.mark.parametrize("opening", [b"", head(**EVENTS)])
def test_an_asynchronous_call_is_not_made_again_either(
    pause: threading.Event, opening: bytes
) -> None:
    def is_told(seconds: float) -> bool:
        with silence(pause, opening) as wire:
            slow = wire.connection(timeout_seconds=seconds, max_retries=3)
            with pytest.raises(ConnectionTimeoutError, match="in time"):
                asyncio.run(acreate(slow, REQUEST))
        return len(wire.requests) == 1

    assert any(map(is_told, PATIENCE))


@pytest.mark.parametrize("opening", [b"", head(**JSON)])
def test_a_silent_server_is_validated_once(
    transport: Transport, pause: threading.Event, opening: bytes
) -> None:
    def is_told(seconds: float) -> bool:
        with silence(pause, opening) as wire:
            slow = wire.connection(timeout_seconds=seconds, max_retries=3)
            with pytest.raises(ConnectionTimeoutError):
                validate_server(slow, transport=transport)
        return len(wire.requests) == 1

    assert any(map(is_told, PATIENCE))


def test_a_failure_to_connect_is_tried_again(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        # Bound, nobody else takes the port; and as nobody listens yet, the server may have it later.
        free = stack.enter_context(socket.socket())
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

        def begin_to_listen(_: float) -> None:
            stack.enter_context(Wire(stream(DONE), port=port))

        monkeypatch.setattr("gpt5_responses._http.steps.Blocking.sleep", begin_to_listen)
        late = Connection(api_key="k", base_url=f"http://127.0.0.1:{port}/v1", max_retries=1)

        assert create(late, REQUEST, transport=transport).status == "completed"


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
        if (
            len(wire.requests) > 3
        ):  # There are six at most, and a busy machine might come to their end.
            is_over.wait(120)
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
        is_over.set()


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
