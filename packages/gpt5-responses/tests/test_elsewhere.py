"""Connections and sessions stay where they were made: a forked process, and another event loop, make their own. They end with their process."""

import asyncio
import gc
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from sockets import Event, Peer, Sockets, answer
from wire import Wire, frames, whole

from gpt5_responses import AsyncResponsesClient, ModelConfig, Request, ResponsesClient, Transport


def asking(text: str) -> Request:
    return Request(messages=[{"role": "user", "content": text}])


def repeat(sent: Event) -> list[Event]:
    """Answer with what was asked."""
    said = sent["input"][-1]["content"]
    return answer(said if isinstance(said, str) else said[0]["text"])


def in_a_fork(doing: Callable[[], object]) -> bool:
    """Do something in a fork of this process, and return whether it is right there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # The servers' threads are not in it.
        child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    is_right = False
    try:
        is_right = bool(doing())
    finally:
        os._exit(not is_right)


def test_a_fork_shares_no_socket_with_its_parent(transport: Transport) -> None:
    with Sockets(lambda peer, sent: peer.send(*repeat(sent))) as server:
        session = ResponsesClient(server.config(), transport=transport).session()

        def ask(text: str) -> bool:
            return session.complete(asking(text)).text == text

        def ask_there() -> bool:
            is_right = ask("2") and ask("3")
            session.close()
            return is_right

        assert ask("1")
        assert in_a_fork(lambda: session.close() is None)
        assert in_a_fork(ask_there)
        assert ask("4")
        session.close()

    assert [number for number, _ in server.sent] == [1, 2, 2, 1]


@pytest.mark.parametrize("is_left", [False, True])
def test_a_fork_ends_no_stream_of_its_parent(transport: Transport, *, is_left: bool) -> None:
    def begin(peer: Peer, sent: Event) -> None:
        peer.send(*repeat(sent)[:2])
        peers.append((peer, sent))

    peers: list[tuple[Peer, Event]] = []
    with Sockets(begin) as server:
        session = ResponsesClient(server.config(), transport=transport).session()
        with session.stream(asking("1")) as stream:
            assert in_a_fork(lambda: (stream if is_left else session).close() is None)
            peer, sent = peers[0]
            peer.send(*repeat(sent)[2:])
            assert [*stream]
        session.close()

    assert stream.completion.text == "1"


def test_a_fork_shares_no_connection_with_its_parent(transport: Transport) -> None:
    asked_by: list[int] = []

    def repeat_it(peer: socket.socket) -> None:
        asked_by.append(peer.getpeername()[1])
        text = str(len(asked_by))
        whole(frames(answer(text)), content_type="text/event-stream")(peer)

    with Wire(repeat_it) as wire:
        client = ResponsesClient(
            ModelConfig(model_id="gpt-5.2", api_key="k", base_url=wire.base_url),
            transport=transport,
        )

        def ask(text: str) -> bool:
            return client.complete(asking("?")).text == text

        assert ask("1")
        assert in_a_fork(lambda: ask("2") and ask("3") and client.close() is None)
        assert ask("4")

    first, second, third, fourth = asked_by
    assert (first, second) == (fourth, third)
    assert first != second


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("name", ["http", "websocket"])
def test_each_event_loop_has_connections_of_its_own(name: str) -> None:
    numbers = count(1)

    def say(*_: Any) -> list[Event]:
        return answer(str(next(numbers)))

    with Sockets(lambda peer, _: peer.send(*say()), by_http=say) as server:
        client = AsyncResponsesClient(server.config(transport=name))
        session = client.session()
        for number in "123":
            assert asyncio.run(session.complete(asking("?"))).text == number
        asyncio.run(session.aclose())
        asyncio.run(client.aclose())
        gc.collect()  # of what the loops have left

    assert server.connections == 3


ENDING = """
import sys
from gpt5_responses import ModelConfig, Request, ResponsesClient

streams = []
for transport in ("http", "websocket"):
    config = ModelConfig(model_id="gpt-5.2", api_key="k", base_url=sys.argv[1], transport=transport)
    session = ResponsesClient(config).session()
    streams.append(iter(session.stream(Request(messages=[{"role": "user", "content": "Hi"}]))))
    next(streams[-1])
"""


def test_a_program_that_ends_within_a_response_ends_quietly() -> None:
    begun = answer("Hi")[:2]
    with Sockets(lambda peer, _: peer.send(*begun), by_http=lambda _: begun) as server:
        program = [sys.executable, "-c", ENDING, server.base_url]
        ended = subprocess.run(program, capture_output=True, check=False, timeout=120)

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert (len(server.posted), len(server.sent)) == (1, 1)
