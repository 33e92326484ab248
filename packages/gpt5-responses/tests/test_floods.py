"""Servers that send without end what is no answer."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from wire import DONE, PATIENCE, REQUEST, WHOLE, Wire, chunk, dripping, frames, head, whole

from gpt5_responses import (
    AsyncResponsesClient,
    ConnectionFailedError,
    ConnectionTimeoutError,
    ModelConfig,
    Request,
    ResponsesClient,
    ResponsesError,
    Transport,
    create,
    validate_server,
)


EARLY = b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n"
WORKING = b"HTTP/1.1 102 Processing\r\n\r\n"
JSON = {"content_type": "application/json"}
STREAM = head(content_type="text/event-stream", transfer_encoding="chunked")
# The head of a gzip file; blocks in which there is nothing.
GZIP, NOTHING = b"\x1f\x8b\x08\0\0\0\0\0\0\xff", b"\0\0\0\xff\xff" * 13_000
# One byte of a body, in a chunk with a comment.
BARREN = b"1;" + b"x" * 60_000 + b"\r\n\n\r\n"

type Ask = Callable[[ModelConfig], Any]


def count(config: ModelConfig) -> int:
    return ResponsesClient(config).input_tokens(Request(items=[]))


def count_async(config: ModelConfig) -> int:
    async def ask() -> int:
        async with AsyncResponsesClient(config) as client:
            return await client.input_tokens(Request(items=[]))

    return asyncio.run(ask())


BOTH = pytest.mark.parametrize("ask", [count, count_async])


def config(wire: Wire, **settings: Any) -> ModelConfig:
    return ModelConfig(model_id="m", api_key="k", base_url=wire.base_url, **settings)


class Flood:
    """An answer of an opening and then the same piece again and again, until the client goes or a minute has passed."""

    def __init__(self, opening: bytes, piece: bytes) -> None:
        self.opening, self.piece = opening, piece
        self.has_tired = False

    def __call__(self, peer: Any) -> None:
        peer.sendall(self.opening)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            peer.sendall(self.piece)
        self.has_tired = True


@BOTH
@pytest.mark.parametrize("piece", [EARLY, WORKING * 2_000], ids=["singly", "many at once"])
def test_informational_answers_without_end_are_given_up_and_nothing_is_sent_again(
    ask: Ask, piece: bytes
) -> None:
    """The server has the request and may be at work on it."""
    flood = Flood(EARLY, piece)
    said = r"100 KiB of informational answers \(1xx"
    with Wire(flood) as wire, pytest.raises(ConnectionFailedError, match=said):
        ask(config(wire, max_retries=3))

    assert len(wire.requests) == 1
    assert not flood.has_tired


@BOTH
def test_informational_answers_before_the_answer_are_passed_over(ask: Ask) -> None:
    def answer(peer: Any) -> None:
        peer.sendall(EARLY * 100 + WORKING * 1_000)
        whole(b'{"input_tokens": 7}')(peer)

    with Wire(answer) as wire:
        # On one connection, each of whose answers is counted for itself.
        assert [ask(config(wire)) for _ in range(3)] == [7, 7, 7]


@pytest.mark.parametrize("piece", [WORKING, b"a: b\r\n"], ids=["informational", "half a head"])
@pytest.mark.parametrize("body", [REQUEST, WHOLE], ids=["stream", "whole"])
def test_what_comes_before_an_answer_does_not_lengthen_the_wait_for_it(
    pause: threading.Event, piece: bytes, body: dict[str, Any]
) -> None:
    opening = b"" if piece == WORKING else b"HTTP/1.1 200 OK\r\n"
    answer = dripping(opening, piece=piece, pause=pause, seconds=0.02)

    def is_told(seconds: float) -> bool:
        with Wire(answer) as wire:
            slow = wire.connection(timeout_seconds=seconds, max_retries=3)
            with pytest.raises(ConnectionTimeoutError, match="answer in time"):
                create(slow, body, transport=Transport())
        return len(wire.requests) == 1

    assert any(map(is_told, PATIENCE))


@BOTH
@pytest.mark.parametrize(
    ("opening", "piece"),
    [
        (b"", WORKING),
        (head(**JSON, content_length="100000"), b" "),
        (head("503 No", **JSON, content_length="100000"), b" "),
        (head("503 No", content_length="0", retry_after="60"), b""),
    ],
    ids=["informational", "body", "error", "patience"],
)
def test_the_limit_of_a_whole_call_holds_for_calls_that_are_no_streams(
    pause: threading.Event, ask: Ask, opening: bytes, piece: bytes
) -> None:
    answer = dripping(opening, piece=piece, pause=pause, seconds=0.02)
    named = r"time limit \(OPENAI_GPT5_TOTAL_TIMEOUT_SECONDS\)"

    def is_told(seconds: float) -> bool:
        with Wire(answer) as wire, pytest.raises(ConnectionTimeoutError, match=named):
            ask(config(wire, total_seconds=seconds, max_retries=5))
        return len(wire.requests) == 1

    assert any(map(is_told, PATIENCE))


def test_the_limit_of_a_whole_call_holds_for_the_check_of_a_server(pause: threading.Event) -> None:
    answer = dripping(b"", piece=WORKING, pause=pause, seconds=0.02)
    limited = {"total_seconds": 0.3, "total_limit": "THE_LIMIT"}
    with (
        Wire(answer) as wire,
        pytest.raises(ConnectionTimeoutError, match=r"time limit \(THE_LIMIT\)"),
    ):
        validate_server(wire.connection(**limited), transport=Transport())


@BOTH
@pytest.mark.parametrize(
    ("opening", "piece"),
    [
        (head(**JSON, content_encoding="gzip", content_length="9999999999") + GZIP, NOTHING),
        (head(**JSON, transfer_encoding="chunked"), BARREN),
    ],
    ids=["packed nothing", "chunks with comments"],
)
def test_a_body_that_is_always_there_has_to_end_in_time(
    monkeypatch: pytest.MonkeyPatch, ask: Ask, opening: bytes, piece: bytes
) -> None:
    monkeypatch.setattr("gpt5_responses._http.client._MOST_BODY_SECONDS", 0.3)
    flood = Flood(opening, piece)
    with Wire(flood) as wire, pytest.raises(ResponsesError):
        ask(config(wire))

    assert not flood.has_tired


def test_what_follows_a_response_holds_its_reader_up_for_a_moment_only() -> None:
    flood = Flood(STREAM + chunk(frames([DONE])), BARREN)
    with Wire(flood) as wire:
        assert create(wire.connection(), REQUEST, transport=Transport()).status == "completed"

    assert not flood.has_tired
