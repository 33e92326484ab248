"""Connections with time limits, which disconnect a client that is too slow or gone.

uvicorn limits how long a connection may be idle between requests, but not how long a request may take to arrive or an answer to be read.
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
"""A function that writes a piece of an answer of unknown length, and returns once the client has room for the next."""

CHUNKS: Final = "agent_server.chunks"
"""The extension of a request's scope that holds a `WriteChunk`, if the answer may be written in this way."""

# The application answers with 408 if a body does not arrive; the connection ends it only if nothing
# reads the body.
_GRACE_SECONDS: Final = 2.0
_SEND_BYTES: Final = 256 * 1024
_TWO_LENGTHS: Final = frozenset({b"content-length", b"transfer-encoding"})


class PatientProtocol(H11Protocol):
    """A connection with time limits for its client.

    Attributes:
        client_seconds: How long the head of a request, its body, and reading an answer may take each.
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
        # uvicorn calls `self.app` for each request.
        self._app, self.app = self.app, self._offer_chunks

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's own
        """Wait for the head of a first request."""
        super().connection_made(transport)
        self._arrival: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._expected: Any = None
        # Has the kernel drop a client whose machine is gone, once it has not acknowledged data for this
        # long. Not every system and kind of socket has the option.
        with contextlib.suppress(AttributeError, OSError):
            connection = transport.get_extra_info("socket")
            # Else it takes megabytes for a client that does not read, and a stream goes on that far.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
            option, milliseconds = socket.TCP_USER_TIMEOUT, int(self.client_seconds * 1000)
            connection.setsockopt(socket.IPPROTO_TCP, option, milliseconds)
        self._expect()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        _cancel(self._arrival)
        _cancel(self._reading)
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        """Receive data, and set the timer for what is expected next."""
        super().data_received(data)
        self._expect()

    @override
    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._reading = self.loop.call_later(self.client_seconds, self._drop)

    @override
    def resume_writing(self) -> None:
        """Continue: the client has read."""
        _cancel(self._reading)
        super().resume_writing()

    @override
    def send_400_response(self, msg: str) -> None:
        """Answer a malformed request with a problem document, unless another answer has begun."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.close()
            return
        if self.cycle is not None:  # pyright: ignore[reportUnnecessaryComparison] - before a first request
            # The application may still work on the request, but nobody is left to answer.
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
            # Readers disagree on where such a body ends and the next request begins (request smuggling).
            detail = "Expected Content-Length or Transfer-Encoding, not both."
            error = ProblemError(400, detail, headers={"Connection": "close"})
            await build_problem(error)(scope, receive, send)
            return

        async def follow(message: Any) -> None:
            # uvicorn would write on to a connection that has broken until the event loop tells it.
            self.cycle.disconnected |= self.transport.is_closing()
            await send(message)

        scope["extensions"] = {CHUNKS: self._write_chunk}
        try:
            await self._app(scope, receive, follow)
        except asyncio.CancelledError:
            # The server has stopped, and its last answers were not read: for uvicorn, no fault of the application's.
            self.cycle.disconnected = True
            self.transport.abort()

    async def _write_chunk(self, data: bytes) -> None:
        """Write a piece directly to the transport: for a thousand streams, h11 and the middleware would cost as much as the kernel."""
        if self.flow.write_paused:
            await self.flow.drain()
        if self.transport.is_closing():
            raise asyncio.CancelledError  # Else a stream would be built to its end, for nobody.
        is_chunked = self.conn.their_http_version == b"1.1"
        self.transport.write(b"%x\r\n%b\r\n" % (len(data), data) if is_chunked else data)

    def _expect(self) -> None:
        """Set the timer for the head or the body of a request, once for each."""
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
        # Not `close`, which would wait until the client has read what is buffered.
        self.transport.abort()


def build_protocol(client_seconds: float) -> type[PatientProtocol]:
    """Return a class of connections for uvicorn, which passes them no settings: the class holds the time limit."""
    return type("Connection", (PatientProtocol,), {"client_seconds": client_seconds})


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
