"""Connections with time limits: a client that is too slow, or gone, is disconnected.

uvicorn bounds how long a connection may be idle between requests, not how long a request takes to arrive or an answer to be read.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Final, override

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from .problems import (
    PROBLEM_TYPE,
    ProblemError,
    build_document,
    build_problem,
    dump_json,
)


type WriteChunk = Callable[[bytes], Awaitable[None]]
"""Writes a piece of an answer of which the length is not known before, and returns once the client has room for the next."""

CHUNKS: Final = "agent_server.chunks"
"""The extension of a request's scope that is a `WriteChunk`, where the answer may be written so."""

# The application answers a body that does not come with 408; only where nobody reads the body does the connection end by itself.
_GRACE_SECONDS: Final = 2.0
_TWO_LENGTHS: Final = frozenset({b"content-length", b"transfer-encoding"})


class PatientProtocol(H11Protocol):
    """A connection with time limits for its client.

    Attributes:
        client_seconds: How long the head of a request may take, its body, and the reading of what was sent.
    """

    client_seconds: float

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._app, self.app = self.app, self._offer_chunks

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's own
        """Wait for the head of a first request."""
        super().connection_made(transport)
        self._arrival: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._expected: Any = None
        # The kernel drops a client whose machine is gone, once it has not taken what it was sent for as long: where the system has that, and not for every kind of socket.
        with contextlib.suppress(AttributeError, OSError):
            option, milliseconds = socket.TCP_USER_TIMEOUT, int(self.client_seconds * 1000)
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, option, milliseconds)
        self._expect()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        _cancel(self._arrival)
        _cancel(self._reading)
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        """Receive data, and set the clock for what is expected next."""
        super().data_received(data)
        self._expect()

    @override
    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._reading = self.loop.call_later(self.client_seconds, self._drop)

    @override
    def resume_writing(self) -> None:
        """Go on: the client has read."""
        _cancel(self._reading)
        super().resume_writing()

    @override
    def send_400_response(self, msg: str) -> None:
        """Answer a malformed request with a problem document, unless another answer has begun."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.close()
            return
        if self.cycle is not None:  # pyright: ignore[reportUnnecessaryComparison] - before a first request
            # Whoever still works on the request has nobody left to answer.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        error = ProblemError(400, msg)
        body = dump_json(build_document(error))
        headers = [
            (b"content-type", PROBLEM_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        head = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    async def _offer_chunks(self, scope: Any, receive: Any, send: Any) -> None:
        names = {name for name, _ in scope["headers"]}
        if names >= _TWO_LENGTHS:
            # What one reader takes for the body's end is another's next request.
            detail = "Expected Content-Length or Transfer-Encoding, not both."
            error = ProblemError(400, detail, headers={"Connection": "close"})
            await build_problem(error)(scope, receive, send)
            return
        if scope["http_version"] == "1.1":
            scope["extensions"] = {CHUNKS: self._write_chunk}
        await self._app(scope, receive, send)

    async def _write_chunk(self, data: bytes) -> None:
        """Write a piece past h11 and the middleware, which for a thousand streams cost as much as the kernel does."""
        if self.flow.write_paused:
            await self.flow.drain()
        if not self.transport.is_closing():
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _expect(self) -> None:
        """Set the clock for the head or the body of a request, once for each."""
        expected = self.conn.their_state
        if expected is self._expected:
            return
        self._expected = expected
        _cancel(self._arrival)
        if self.transport.is_closing():
            return
        if expected is h11.IDLE:
            self._arrival = self.loop.call_later(self.client_seconds, self._drop)
        elif expected is h11.SEND_BODY:
            seconds = self.client_seconds + _GRACE_SECONDS
            self._arrival = self.loop.call_later(seconds, self._drop)

    def _drop(self) -> None:
        self.transport.abort()


def build_protocol(client_seconds: float) -> type[PatientProtocol]:
    """Return a class of connections for uvicorn, which passes them no settings: the time limit is the class's."""
    return type("Connection", (PatientProtocol,), {"client_seconds": client_seconds})


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
