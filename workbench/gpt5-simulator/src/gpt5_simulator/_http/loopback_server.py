"""A server in a thread of its own, on the loopback interface."""

import asyncio
import socket
from contextlib import suppress
from threading import Event, Thread

import uvicorn
from starlette.types import ASGIApp

from gpt5_simulator._errors import StartError


_HOST = "127.0.0.1"
_START_SECONDS = 120.0  # in which also a busy machine gets a thread to run
_STOP_SECONDS = 10.0
_GRACE_SECONDS = 1.0  # for a model object that blocks; whatever is being sent ends at once
_IDLE_SECONDS = 75  # longer than clients keep idle connections; else a request may arrive on one that is being closed
_TICK_SECONDS = 1.0  # how often uvicorn makes the date header anew
_POLL_SECONDS = 0.001
_MAX_MESSAGE_BYTES = (
    2**26
)  # more than a conversation with pictures has; a longer message closes the socket with 1009


class LoopbackServer(uvicorn.Server):
    """A server that says when it is ready, and that another thread can stop within milliseconds.

    uvicorn checks ten times a second whether to stop, and then waits another tenth of a second. Both are left out here, because they
    add up if each test has a simulator of its own.

    Args:
        app: The application.
        port: The port of 127.0.0.1; 0 picks a free one.
        stopping: Set when the server stops, so that the application ends the replies that it is still sending.
        sockets: What reads a WebSocket; without it the application never hears of one.

    Raises:
        StartError: If the port is taken or the server does not start.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: int,
        stopping: asyncio.Event,
        sockets: type[asyncio.Protocol] | None = None,
    ) -> None:
        # Here and not in the thread, so that a port that is taken raises at once.
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none" if sockets is None else sockets,
            ws_max_size=_MAX_MESSAGE_BYTES,
            ws_ping_interval=None,  # or a test that is held up for some seconds would lose its socket
            ws_per_message_deflate=False,  # as its clients do not offer it
            loop="asyncio",
            interface="asgi3",
            lifespan="off",
            log_config=None,  # or uvicorn would set up the logging of the process that runs the tests
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
        )
        super().__init__(config)
        self._stopping = stopping
        self._ready = Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(
            target=self._run_here, name=f"gpt5-simulator:{self.port}", daemon=True
        )
        self._thread.start()
        if not self._ready.wait(_START_SECONDS) or not self.started:
            self.stop()
            raise StartError("the simulator did not start", port=port)

    @property
    def base_url(self) -> str:
        """Return the URL to give to a client."""
        return f"http://{_HOST}:{self.port}/v1"

    def stop(self) -> None:
        """End all replies that are being sent, close every socket, and wait for the thread."""
        self.should_exit = True
        # An event of asyncio may be set in its own loop only.
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_STOP_SECONDS)
        self._socket.close()

    def _run_here(self) -> None:
        try:
            self.run(sockets=[self._socket])
        finally:
            self._ready.set()  # also where it failed, so that nobody waits for it

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self._ready.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _TICK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        del sockets  # those of `servers`
        # As uvicorn does it, but for its pauses: no new connections, then the idle ones, then the replies,
        # which end by `stopping`. What is left after that is a model object that blocks.
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._wait_for_silence()
        for task in self.server_state.tasks:
            task.cancel()

    async def _wait_for_silence(self) -> None:
        while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(_POLL_SECONDS)


def _listen(port: int) -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it on, answers wait 40 ms for an ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "expected 0 to 65535"
        raise StartError(f"port {port}: {reason}", port=port) from error
    return listener
