"""An HTTP server on the loopback interface: uvicorn, started and stopped as a part of this program."""

import asyncio
import contextlib
import socket
from collections.abc import Generator
from typing import TYPE_CHECKING

import uvicorn


if TYPE_CHECKING:
    from starlette.types import ASGIApp

_GRACE_SECONDS = 1
# Longer than clients keep idle connections: else a request may arrive on one that is being closed.
_IDLE_SECONDS = 75


class HttpServer:
    """A server that answers on a socket.

    Args:
        app: The application that answers.
        listener: The socket, which already listens; closed when the server stops.
    """

    def __init__(self, app: "ASGIApp", listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            timeout_graceful_shutdown=_GRACE_SECONDS,
            timeout_keep_alive=_IDLE_SECONDS,
            access_log=False,
            server_header=False,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))

    async def wait_ready(self) -> None:
        """Wait until the server accepts connections."""
        await self._server.ready.wait()

    async def stop(self) -> None:
        """Let running requests end, and close every socket."""
        await self.wait_ready()  # Stopped before it is ready, uvicorn would leave its sockets open.
        self._server.should_exit = True
        try:
            await self._task
        finally:
            self._listener.close()


class _Server(uvicorn.Server):
    """A server that reports when it is ready, and leaves signals to the program that it is a part of."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
