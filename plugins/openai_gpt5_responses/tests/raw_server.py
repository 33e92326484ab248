"""A server that sends what a test wants on the wire, and notices when its client has gone."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
_MOST_DELTAS = 200_000  # far more than the buffers between two sockets hold


def frame(event: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def delta(text: str) -> bytes:
    return frame({"type": "response.output_text.delta", "output_index": 0, "delta": text})


class RawServer:
    """A server that answers every connection by `answer`, in a thread of its own."""

    def __init__(self, answer: Callable[[socket.socket], None]) -> None:
        self.connections = 0
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._peers: list[socket.socket] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in self._peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)  # a client may keep its connection for later
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
            self._answer(peer)

    def _start(self, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, daemon=True)
        self._threads.append(thread)
        thread.start()


class EndlessAnswer:
    """A stream without an end, until the client goes."""

    def __init__(self, *opening: bytes) -> None:
        self.client_has_gone = threading.Event()
        self._opening = opening

    def __call__(self, peer: socket.socket) -> None:
        peer.recv(65_536)
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
        peer.recv(65_536)
        peer.sendall(HEAD + b"".join(opening))
        with contextlib.suppress(OSError):
            peer.settimeout(60)
            while peer.recv(65_536):
                pass
            gone.set()

    return answer, gone


def terminal_frame() -> bytes:
    return frame({"type": "response.completed", "response": {"status": "completed"}})


def json_answers(body: bytes, **headers: str) -> Callable[[socket.socket], None]:
    """Return an answer that serves one JSON body for each request of a connection that is kept."""
    return _kept("application/json", body, **headers)


def streams(body: bytes) -> Callable[[socket.socket], None]:
    """Return an answer that serves one stream for each request of a connection that is kept."""
    return _kept("text/event-stream", body)


def _kept(content_type: str, body: bytes, **headers: str) -> Callable[[socket.socket], None]:
    told = {"content_type": content_type, "content_length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {told[name]}\r\n" for name in told)

    def answer(peer: socket.socket) -> None:
        for _ in _iter_requests(peer):
            peer.sendall(f"HTTP/1.1 200 OK\r\n{lines}\r\n".encode() + body)

    return answer


def _iter_requests(peer: socket.socket) -> Iterator[bytes]:
    with peer.makefile("rb") as lines:
        while line := lines.readline():
            length = 0
            while line.strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                line = lines.readline()
            yield lines.read(length)
