"""Streams from a socket, read at a pace: the same text however it is cut, and nothing late that must not be."""

import gc
import os
import socket
import struct
import threading
import time
import weakref
from collections.abc import Iterator
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire import DONE, PATIENCE, REQUEST, Wire, chunk, dripping, frames, head, make_pacer

from gpt5_messages import BlockDelta, ResponseEnded, StreamEvent
from gpt5_responses import (
    Connection,
    ConnectionTimeoutError,
    ResponsesError,
    ResponseStream,
    StreamInterruptedError,
    Transport,
)


LONG = 3600.0
STREAM = head(content_type="text/event-stream", transfer_encoding="chunked")


def delta(text: str) -> bytes:
    return frames([{"type": "response.output_text.delta", "output_index": 0, "delta": text}])


def paced(
    connection: Connection, transport: Transport, *, window: float = LONG
) -> Iterator[list[StreamEvent]]:
    stream = ResponseStream(connection, REQUEST, transport=transport)
    return make_pacer(window_seconds=window).pace(stream.batches, close=stream.close)


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, BlockDelta))


@given(
    texts=st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=12),
    cuts=st.sets(st.integers(1, 900), max_size=9),
    pauses=st.sets(st.integers(0, 9), max_size=3),
    window=st.sampled_from([0.0, 0.003, LONG]),
    packs=st.integers(1, 5),
)
def test_a_text_is_the_same_however_its_bytes_are_cut(
    texts: list[str], cuts: set[int], pauses: set[int], window: float, packs: int
) -> None:
    pieces = [*map(delta, texts), frames([DONE])]
    groups = [b"".join(pieces[at : at + packs]) for at in range(0, len(pieces), packs)]
    body = STREAM + b"".join(map(chunk, groups)) + b"0\r\n\r\n"

    def answer(peer: socket.socket) -> None:
        for number, (start, end) in enumerate(pairwise([0, *sorted(cuts), len(body) + 900])):
            peer.sendall(body[start:end])
            time.sleep(0.004 if number in pauses else 0)

    transport = Transport()
    with Wire(answer) as wire:
        for _ in range(2):
            events = list(chain.from_iterable(paced(wire.connection(), transport, window=window)))
            assert text_of(events) == "".join(texts)
            assert isinstance(events[-1], ResponseEnded)
        transport.close()

    assert wire.connections == 1


def test_the_first_piece_leaves_before_the_second_has_come(transport: Transport) -> None:
    go_on = threading.Event()

    def answer(peer: socket.socket) -> None:
        peer.sendall(STREAM + chunk(delta("a")))
        go_on.wait(120)
        peer.sendall(chunk(delta("b") + delta("c")) + chunk(frames([DONE])) + b"0\r\n\r\n")

    with Wire(answer) as wire:
        batches = paced(wire.connection(), transport)
        assert text_of(next(batches)) == "a"
        go_on.set()
        assert text_of(next(batches)) == "bc"
        assert not text_of(list(chain.from_iterable(batches)))


def test_the_end_does_not_wait_for_the_end_of_its_body(transport: Transport) -> None:
    gone = threading.Event()

    def answer(peer: socket.socket) -> None:
        peer.sendall(STREAM + chunk(delta("a") + delta("b")) + chunk(frames([DONE])))
        gone.wait(120)

    with Wire(answer) as wire:
        events: list[StreamEvent] = []
        for batch in paced(wire.connection(), transport):
            events += batch
            if isinstance(events[-1], ResponseEnded):
                break
        assert text_of(events) == "ab"
        gone.set()


@pytest.mark.parametrize("is_paced", [True, False])
def test_a_stream_leaves_nothing_to_the_garbage_collector(
    transport: Transport, *, is_paced: bool
) -> None:
    def answer(peer: socket.socket) -> None:
        for piece in "ab":
            peer.sendall((STREAM if piece == "a" else b"") + chunk(delta(piece)))
            time.sleep(0.02)
        peer.sendall(chunk(frames([DONE])) + b"0\r\n\r\n")

    gc.collect()
    gc.disable()
    try:
        with Wire(answer) as wire:
            stream = ResponseStream(wire.connection(), REQUEST, transport=transport)
            left = weakref.ref(stream)
            if is_paced:
                list(make_pacer(window_seconds=0.01).pace(stream.batches, close=stream.close))
            else:
                list(stream)
            del stream
            for thread in threading.enumerate():
                if thread.name == "stream-reader":
                    thread.join(120)
            assert left() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("ending", ["cut", "error", "no chunk"])
def test_what_had_come_is_handed_out_before_the_error(ending: str, transport: Transport) -> None:
    def answer(peer: socket.socket) -> None:
        peer.sendall(STREAM + chunk(delta("a")) + chunk(delta("b")))
        time.sleep(0.02)
        tail = {
            "error": chunk(frames([{"type": "error", "message": "No."}])),
            "no chunk": b"zz\r\n",
        }
        peer.sendall(chunk(delta("c")) + tail.get(ending, b""))
        peer.shutdown(socket.SHUT_RDWR)

    events: list[StreamEvent] = []
    with Wire(answer) as wire:
        kind = ResponsesError if ending == "error" else StreamInterruptedError
        with pytest.raises(kind):
            events.extend(chain.from_iterable(paced(wire.connection(), transport)))

    assert text_of(events) == "abc"


def test_a_reset_in_a_window_comes_after_what_was_read(transport: Transport) -> None:
    taken = threading.Event()

    def answer(peer: socket.socket) -> None:
        peer.sendall(STREAM + chunk(delta("a")))
        taken.wait(120)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(peer.detach())

    events: list[StreamEvent] = []
    with Wire(answer) as wire:
        batches = paced(wire.connection(), transport)
        events += next(batches)
        taken.set()
        with pytest.raises(StreamInterruptedError):
            events.extend(chain.from_iterable(batches))

    assert text_of(events) == "a"


def test_a_caller_who_walks_away_ends_the_connection(transport: Transport) -> None:
    gone = threading.Event()

    def answer(peer: socket.socket) -> None:
        peer.sendall(STREAM + chunk(delta("a")))
        if not peer.recv(1):
            gone.set()

    with Wire(answer) as wire:
        batches = paced(wire.connection(), transport)
        next(batches)
        batches.close()
        assert gone.wait(120)


def test_a_silence_counts_from_the_last_event_also_in_a_window(transport: Transport) -> None:
    def is_told(seconds: float) -> bool:
        pause = threading.Event()

        def answer(peer: socket.socket) -> None:
            peer.sendall(STREAM + chunk(delta("a")))
            pause.wait(120)

        with Wire(answer) as wire:
            connection = wire.connection(timeout_seconds=seconds)
            with pytest.raises(ConnectionTimeoutError, match="in time") as caught:
                list(paced(connection, transport))
            pause.set()
        return "sent no event in time" in str(caught.value)

    assert any(map(is_told, PATIENCE))


def test_comments_do_not_keep_a_paced_stream_alive(transport: Transport) -> None:
    def is_told(seconds: float) -> bool:
        pause = threading.Event()
        opening, piece = STREAM + chunk(delta("a")), chunk(b": still here\n\n")
        with Wire(dripping(opening, piece=piece, pause=pause, seconds=0.01)) as wire:
            connection = wire.connection(timeout_seconds=seconds)
            with pytest.raises(ConnectionTimeoutError, match="in time") as caught:
                list(paced(connection, transport, window=0.02))
            pause.set()
        return "sent no event in time" in str(caught.value)

    assert any(map(is_told, PATIENCE))


def test_a_paced_call_can_be_limited(transport: Transport) -> None:
    pause = threading.Event()

    def answer(peer: socket.socket) -> None:
        peer.sendall(STREAM)
        while not pause.wait(0.01):
            peer.sendall(chunk(delta("a")))

    with Wire(answer) as wire:
        connection = wire.connection(total_seconds=0.2)
        with pytest.raises(ConnectionTimeoutError, match="exceeded its total time limit"):
            list(paced(connection, transport, window=0.02))
        pause.set()
