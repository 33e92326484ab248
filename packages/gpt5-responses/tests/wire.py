"""A server that sends what a test wants on the wire, byte for byte."""

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from fcntl import ioctl
from functools import partial
from termios import TIOCOUTQ
from typing import Any

from dify_plugin_kit.pacing import Pacer
from gpt5_messages import BlockDelta, ResponseEnded, StreamEvent
from gpt5_responses import Connection
from gpt5_simulator import RawServer


REQUEST = {"model": "gpt-5.2", "input": "Hello there", "stream": True, "store": False}
WHOLE = {**REQUEST, "stream": False}
make_pacer = partial(Pacer[StreamEvent], piece=BlockDelta, end=ResponseEnded)

PATIENCE = (0.1, 1.0, 10.0, 100.0)
"""Limits in seconds, of which each is tried that a machine may need: one that was over too early has shown nothing."""

# An answer that says nothing; one without any item would be a failure.
SILENT = {"status": "completed", "output": [{"type": "reasoning", "summary": []}]}
DONE = {"type": "response.completed", "response": SILENT}

type Answer = Callable[[socket.socket], None]


class Wire(RawServer):
    """A server that answers each request by `answer`, and the connection to it."""

    def connection(self, **settings: Any) -> Connection:
        return Connection(
            **{"api_key": "k", "base_url": self.base_url, "max_retries": 0, **settings}
        )


def head(status: str = "200 OK", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{key.replace('_', '-')}: {headers[key]}" for key in headers)]
    return "\r\n".join([*lines, "", ""]).encode()


def whole(body: bytes, status: str = "200 OK", **headers: str) -> Answer:
    """Answer with a body of known length."""
    told = {"content_type": "application/json", "content_length": str(len(body)), **headers}
    return lambda peer: peer.sendall(head(status, **told) + body)


def body_of(request: bytes) -> Any:
    """Return the JSON that a request held; None where it had none."""
    _, brace, rest = request.partition(b"\r\n{")
    return json.loads(b"{" + rest) if brace else None


def frames(events: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def stream(*events: Mapping[str, Any], tail: bytes = b"0\r\n\r\n", **headers: str) -> Answer:
    """Answer with a stream of events in one chunk, which ends in `tail`."""
    body = frames(events)
    opening = head(content_type="text/event-stream", transfer_encoding="chunked", **headers)
    return lambda peer: peer.sendall(opening + chunk(body) + tail)


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def dripping(*opening: bytes, piece: bytes, pause: threading.Event, seconds: float) -> Answer:
    """Send the opening and then the same piece again and again, until `pause` is set or the client goes."""

    def answer(peer: socket.socket) -> None:
        peer.sendall(b"".join(opening))
        while not pause.wait(seconds):
            peer.sendall(piece)

    return answer


def arrive(peer: socket.socket) -> None:
    """Wait until all that was sent, and the end if there is one, is at the other side, whose program may not look before."""
    for _ in range(6000):
        if not int.from_bytes(ioctl(peer, TIOCOUTQ, b"\0" * 4), sys.byteorder):
            return
        time.sleep(0.01)
    raise TimeoutError
