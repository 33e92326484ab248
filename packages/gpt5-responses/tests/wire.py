"""A server that sends what a test wants on the wire, byte for byte."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from gpt5_responses import Connection


REQUEST = {"model": "gpt-5.2", "input": "Hello there", "stream": True, "store": False}
WHOLE = {**REQUEST, "stream": False}
DONE = {"type": "response.completed", "response": {"status": "completed", "output": []}}

type Answer = Callable[[socket.socket], None]


class Wire:
    """A server that answers each request of each connection by `answer`, and counts the connections."""

    def __init__(self, answer: Answer, *, port: int = 0) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", port))
        self._threads: list[threading.Thread] = []
        self._peers: list[socket.socket] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def connection(self, **settings: Any) -> Connection:
        return Connection(
            **{"api_key": "k", "base_url": self.base_url, "max_retries": 0, **settings}
        )

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in self._peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=30)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                self.connections += 1
                self._peers.append(peer)
                self._start(lambda peer=peer: self._serve(peer))

    def _serve(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            for request in _iter_requests(peer):
                self.requests.append(request)
                self._answer(peer)

    def _start(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()


def _iter_requests(peer: socket.socket) -> Iterator[bytes]:
    with peer.makefile("rb") as lines:
        while line := lines.readline():
            head, length = b"", 0
            while line.strip():
                head += line
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                line = lines.readline()
            yield head + lines.read(length)


def head(status: str = "200 OK", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{key.replace('_', '-')}: {headers[key]}" for key in headers)]
    return "\r\n".join([*lines, "", ""]).encode()


def whole(body: bytes, status: str = "200 OK", **headers: str) -> Answer:
    """Answer with a body of known length."""
    told = {"content_type": "application/json", "content_length": str(len(body)), **headers}
    return lambda peer: peer.sendall(head(status, **told) + body)


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
