"""A proxy between a client and a simulator that cuts what it hands on, call by call."""

import random
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from wire import head

from gpt5_simulator import RawServer


REFUSED = b'{"error": {"message": "This response can no longer be streamed because it is more than 5 minutes old.", "param": "stream"}}'
BUSY = b'{"error": {"message": "Overloaded.", "code": "server_is_overloaded"}}'
MISSING = b'{"error": {"message": "Response not found."}}'
PAGE = b"<html>Sign in</html>"


@dataclass(frozen=True)
class Cut:
    """What happens to one call.

    Attributes:
        after_bytes: How much of the answer is handed on before its connection ends; None for all.
        status: The status of an answer that is given instead, unless it is 0.
    """

    after_bytes: int | None = None
    status: int = 0


WHOLE = Cut()


@dataclass
class CuttingProxy:
    """A server that hands each request on to another and cuts the answers, in the order of a plan; when that is over they are whole.

    The request that begins a response is never cut before its first event: nobody could know what became of it.
    """

    target: str
    plan: Iterable[Cut]
    cut: int = 0
    _cuts: Iterator[Cut] = field(init=False)

    def __post_init__(self) -> None:
        self._cuts = iter(self.plan)
        self._server = RawServer(self._answer)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.__exit__(*exception)

    @property
    def base_url(self) -> str:
        return self._server.base_url

    def _answer(self, peer: socket.socket) -> None:
        request = self._server.requests[-1]
        asked = request.split(b"\r\n", 1)[0]
        cut = WHOLE if b"/cancel " in asked else next(self._cuts, WHOLE)
        if cut.status == 400 and b"stream=true" not in asked:
            cut = WHOLE  # Only a stream is refused so; a look at the response that is refused for good ends the answer.
        is_create = request.startswith(b"POST /v1/responses ")
        if cut.status and not is_create:
            self.cut += 1
            body = {400: REFUSED, 404: MISSING, 200: PAGE}.get(cut.status, BUSY)
            kind = "text/html" if cut.status == 200 else "application/json"
            told = head(f"{cut.status} x", content_type=kind, content_length=str(len(body)))
            peer.sendall(told + body)
            return
        self._hand_on(peer, request, None if cut.status else cut.after_bytes, is_create=is_create)

    def _hand_on(
        self, peer: socket.socket, request: bytes, size: int | None, *, is_create: bool
    ) -> None:
        address = urlsplit(self.target)
        with socket.create_connection((address.hostname, address.port)) as upstream:
            first, _, rest = request.partition(b"\r\n")
            fields, blank, body = (
                rest.partition(b"\r\n\r\n") if b"\r\n\r\n" in rest else (rest, b"", b"")
            )
            if not blank:
                # RawServer leaves the blank line out.
                fields, _, body = _split(rest)
            kept = [
                line
                for line in fields.split(b"\r\n")
                if line and not line.lower().startswith(b"connection")
            ]
            upstream.sendall(b"\r\n".join([first, *kept, b"Connection: close", b"", b""]) + body)
            sent, begun = 0, b""
            while data := upstream.recv(65536):
                if size is not None and is_create and b"response.queued" not in begun:
                    begun += data
                    room = len(data)
                    if b"response.queued" in begun:
                        size += len(begun)
                else:
                    room = len(data) if size is None else max(size - sent, 0)
                peer.sendall(data[:room])
                sent += len(data)
                if room < len(data):
                    self.cut += 1
                    break
        peer.shutdown(socket.SHUT_RDWR)


def _split(rest: bytes) -> tuple[bytes, bytes, bytes]:
    at = rest.find(b"\r\n{")
    return (rest, b"", b"") if at < 0 else (rest[:at], b"", rest[at + 2 :])


def random_cut(choice: random.Random) -> Cut:
    """Return some cut: of a stream or an answer at any byte, or an error instead."""
    status = choice.choice((0, 0, 0, 500, 503, 404, 200))
    return Cut(after_bytes=choice.randrange(6000), status=status)
