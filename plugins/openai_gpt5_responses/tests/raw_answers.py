"""Answers for a `RawServer`, some of which notice when their client has gone."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
# Of a response without one the tokens are counted, for which a process loads a vocabulary.
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
_MOST_DELTAS = 200_000  # far more than the buffers between two sockets hold


def frame(event: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def delta(text: str) -> bytes:
    return frame({"type": "response.output_text.delta", "output_index": 0, "delta": text})


class EndlessAnswer:
    """A stream without an end, until the client goes."""

    def __init__(self, *opening: bytes) -> None:
        self.client_has_gone = threading.Event()
        self._opening = opening

    def __call__(self, peer: socket.socket) -> None:
        try:
            peer.sendall(HEAD + b"".join(self._opening))
            for _ in range(_MOST_DELTAS):
                peer.sendall(delta("and on and on " * 20))
        except OSError:
            self.client_has_gone.set()


def silent_after(*opening: bytes) -> tuple[Callable[[socket.socket], None], threading.Event]:
    """Return an answer that stops talking after its opening, and an event that tells when the client has gone."""
    gone = threading.Event()

    def answer(peer: socket.socket) -> None:
        peer.sendall(HEAD + b"".join(opening))
        with contextlib.suppress(OSError):
            peer.settimeout(600)
            while peer.recv(65_536):
                pass
            gone.set()

    return answer, gone


def completed(**response: Any) -> bytes:
    whole = {"status": "completed", "usage": USAGE, **response}
    return frame({"type": "response.completed", "response": whole})


def json_answers(
    body: bytes, *, status: str = "200 OK", **headers: str
) -> Callable[[socket.socket], None]:
    """Return an answer of one JSON body over a connection that is kept."""
    return _kept("application/json", body, status=status, **headers)


def streams(body: bytes) -> Callable[[socket.socket], None]:
    """Return an answer of one stream over a connection that is kept."""
    return _kept("text/event-stream", body)


def _kept(
    content_type: str, body: bytes, *, status: str = "200 OK", **headers: str
) -> Callable[[socket.socket], None]:
    told = {"content_type": content_type, "content_length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {told[name]}\r\n" for name in told)

    return lambda peer: peer.sendall(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body)
