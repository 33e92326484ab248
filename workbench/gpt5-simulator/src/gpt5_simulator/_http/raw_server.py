"""A server that sends the exact bytes that a test wants."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Self


_HOST = "127.0.0.1"
_JOIN_SECONDS = 30


class RawServer:
    r"""A server without a protocol of its own, for answers that no protocol allows.

    It reads each request of each connection and lets `answer` send whatever it wants. Errors of the socket are not
    reported: they are the business of `answer`.

    Args:
        answer: Sends the answer to one request over its connection.
        port: The port of 127.0.0.1; 0 takes any free one.

    Attributes:
        connections: The number of connections so far.
        requests: The requests as they came, head and body.

    Example:
        >>> import urllib.request
        >>> with RawServer(
        ...     lambda peer: peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nHi")
        ... ) as server:
        ...     urllib.request.urlopen(server.base_url).read(), server.requests[0][:16]
        (b'Hi', b'GET /v1 HTTP/1.1')
    """

    def __init__(self, answer: Callable[[socket.socket], object], *, port: int = 0) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        self._answer = answer
        self._listener = socket.create_server((_HOST, port))
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._peers: dict[socket.socket, threading.Thread] = {}

    @property
    def base_url(self) -> str:
        """The URL to give to a client, `http://127.0.0.1:PORT/v1`."""
        return f"http://{_HOST}:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        """Start accepting connections."""
        self._accepting.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Close all connections and wait for the answers that are being sent."""
        # `close` alone would not wake the thread that waits in `accept`.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join(_JOIN_SECONDS)  # which may add a peer to its end
        for peer in self._peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)  # a client may keep its connection for later
        for serving in self._peers.values():
            serving.join(_JOIN_SECONDS)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                self.connections += 1
                serving = threading.Thread(target=self._serve, args=[peer], daemon=True)
                self._peers[peer] = serving
                serving.start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            for request in _iter_requests(peer):
                self.requests.append(request)
                self._answer(peer)


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
