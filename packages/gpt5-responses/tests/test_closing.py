"""Streams that are closed by another thread than the one that reads them: the reader ends, and no socket is closed under it."""

import asyncio
import json
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from following import begun
from wire import REQUEST, SILENT, WHOLE, Wire, arrive, chunk, frames, head, whole

from gpt5_messages import BlockDelta
from gpt5_responses import (
    AsyncResponsesClient,
    BackgroundStream,
    Connection,
    ModelConfig,
    ResponsesClient,
    ResponseStream,
    StreamInterruptedError,
    Transport,
    create,
)
from gpt5_responses._http.client import HttpClient  # noqa: PLC2701 - to count what the transport does by itself
from gpt5_simulator import ResponsesSimulator, ScriptedModel, Text


OPENING = head(content_type="text/event-stream", transfer_encoding="chunked")
LONG = ScriptedModel([[Text(text="word " * 200)]])


def test_a_reader_that_waits_ends_at_once(transport: Transport) -> None:
    with ResponsesSimulator(model=LONG, delay_seconds=0.5) as server, Wire(_begin) as wire:
        for told in (server.base_url, wire.base_url):
            stream = ResponseStream(_connect(told), REQUEST, transport=transport)
            reader = threading.Thread(target=_read, args=(stream,))
            reader.start()
            while not stream.event_count:
                time.sleep(0.001)
            stream.close()
            reader.join(120)
            assert not reader.is_alive()


@pytest.mark.untraced
@pytest.mark.parametrize("streams", [30, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("is_background", [False, True], ids=["plain", "detached"])
def test_no_reader_stays_behind_where_others_take_the_number_of_its_socket(
    transport: Transport, *, is_background: bool, streams: int
) -> None:
    model = ScriptedModel([[Text(text="word " * 200)]] * streams)
    with ResponsesSimulator(model=model, delay_seconds=0.02, background_seconds=60) as server:
        for _ in range(streams):
            stream = (
                BackgroundStream(
                    _connect(server.base_url), REQUEST, transport=transport, detached=True
                )
                if is_background
                else ResponseStream(_connect(server.base_url), REQUEST, transport=transport)
            )
            reader = threading.Thread(target=_read, args=(stream,))
            reader.start()
            while not stream.event_count:
                time.sleep(0.001)
            stream.close()
            others = [socket.socket() for _ in range(3)]
            reader.join(120)
            for other in others:
                other.close()
            assert not reader.is_alive()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_connection_that_its_server_closes_is_not_kept_half_closed(
    transport: Transport, *, is_async: bool
) -> None:
    left = threading.Event()

    async def ask_and_wait(config: ModelConfig) -> bool:
        async with AsyncResponsesClient(config) as client:
            await client.retrieve("resp_1")
            return await asyncio.to_thread(left.wait, 120)

    def answer(peer: socket.socket) -> None:
        whole(json.dumps(SILENT).encode(), keep_alive="timeout=600")(peer)
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(65_536):
            pass
        left.set()

    with Wire(answer) as wire:
        if is_async:
            config = ModelConfig(model_id="gpt-5.5", api_key="k", base_url=wire.base_url)
            assert asyncio.run(ask_and_wait(config))
        else:
            create(_connect(wire.base_url), WHOLE, transport=transport)
            assert left.wait(120)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_connection_that_is_kept_is_looked_at_again(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, *, is_async: bool
) -> None:
    looks: list[None] = []
    close_old = HttpClient.close_old

    def look(client: HttpClient, **how: Any) -> Any:
        looks.append(None)
        return close_old(client, **how)

    def wait(number: int) -> None:
        while len(looks) < number:
            time.sleep(0.001)

    async def ask_and_wait(base_url: str) -> None:
        config = ModelConfig(model_id="gpt-5.5", api_key="k", base_url=base_url)
        async with AsyncResponsesClient(config) as client:
            for number in (3, 6):
                await client.retrieve("resp_1")
                await asyncio.to_thread(wait, number)

    monkeypatch.setattr(HttpClient, "close_old", look)
    monkeypatch.setattr("gpt5_responses._calls.transport._LOOK_SECONDS", 0.001)
    with Wire(whole(json.dumps(SILENT).encode(), keep_alive="timeout=600")) as wire:
        if is_async:
            asyncio.run(ask_and_wait(wire.base_url))
        for number in () if is_async else (3, 6):
            create(_connect(wire.base_url), WHOLE, transport=transport)
            wait(number)

    assert wire.connections == 1


def test_connections_are_kept_and_looked_at_by_many_threads_at_once(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._calls.transport._LOOK_SECONDS", 0.001)
    interval = sys.getswitchinterval()
    with Wire(whole(json.dumps(SILENT).encode(), keep_alive="timeout=600")) as wire:
        connection = _connect(wire.base_url)

        def ask(_: int) -> object:
            return create(connection, WHOLE, transport=transport)

        sys.setswitchinterval(1e-6)
        try:
            with ThreadPoolExecutor(16) as threads:
                answers = list(threads.map(ask, range(300)))
        finally:
            sys.setswitchinterval(interval)

    assert len(answers) == 300


def test_what_had_arrived_when_it_was_closed_is_still_told(transport: Transport) -> None:
    first, rest = begun("one ", "two")[:-1], begun("one ", "two")[-1:]
    wanted, arrived = threading.Event(), threading.Event()

    def answer(peer: socket.socket) -> None:
        peer.sendall(OPENING + chunk(frames(first)))
        wanted.wait(120)
        peer.sendall(chunk(frames(rest)))
        arrive(peer)
        arrived.set()
        peer.recv(1)

    with Wire(answer) as wire:
        stream = ResponseStream(wire.connection(), REQUEST, transport=transport)

        def close_meanwhile() -> bool:
            if wanted.is_set() or not stream.event_count:
                return False
            wanted.set()
            arrived.wait(120)
            closer = threading.Thread(target=stream.close)
            closer.start()
            closer.join(120)
            return True

        told: list[object] = []
        batches = stream.batches(close_meanwhile)
        with pytest.raises(StreamInterruptedError):
            told.extend(event for batch in batches for event in batch)

    assert [event.text for event in told if isinstance(event, BlockDelta)] == ["one ", "two"]


def _begin(peer: socket.socket) -> None:
    peer.sendall(OPENING + chunk(frames(begun("a"))))
    peer.recv(1)


def _connect(base_url: str) -> Connection:
    return Connection(api_key="k", base_url=base_url, max_retries=0)


def _read(stream: ResponseStream) -> None:
    with suppress(StreamInterruptedError):
        list(stream)


def test_a_client_is_a_context_manager_that_closes_its_connections(transport: Transport) -> None:
    left = threading.Event()

    def answer(peer: socket.socket) -> None:
        whole(json.dumps(SILENT).encode())(peer)
        while peer.recv(65_536):
            pass
        left.set()

    with Wire(answer) as wire:
        config = ModelConfig(model_id="gpt-5.5", api_key="k", base_url=wire.base_url)
        with ResponsesClient(config, transport=transport) as client:
            assert client.retrieve("resp_1").status == SILENT["status"]
            assert not left.is_set()
        assert left.wait(120)
        client.close()  # There is nothing left.
