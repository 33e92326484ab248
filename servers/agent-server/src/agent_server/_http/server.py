"""The HTTP server, based on uvicorn."""

import asyncio
import socket
import time
from types import FrameType
from typing import Final, override

import uvicorn
from starlette.applications import Starlette

from agent_server.settings import ServerSettings

from .connections import build_protocol


_LAST_ANSWERS_SECONDS: Final = 5
_LOOK_SECONDS: Final = 0.05


class Server(uvicorn.Server):
    """A server for an application of `build_app`: it disconnects clients that do not send or read, and ends streams when it stops.

    Args:
        app: The application.
        settings: The settings, with time limits for clients; the sockets are passed to `serve`.
    """

    def __init__(self, app: Starlette, settings: ServerSettings) -> None:
        self._app = app
        self._unready_seconds = settings.unready_seconds
        self._signals = 0
        super().__init__(
            uvicorn.Config(
                app,
                http=build_protocol(settings.client_seconds),
                lifespan="off",
                log_config=None,
                ws="none",
                log_level="error",  # Any client can cause uvicorn's warnings, as often as it likes.
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
            )
        )

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal to stop."""
        self._signals += 1
        self._app.state.is_ending = True
        super().handle_exit(sig, frame)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Continue answering for a while, so that load balancers notice, then end the streams, which would last as long as their runs."""
        deadline = time.monotonic() + self._unready_seconds
        while self._signals == 1 and time.monotonic() < deadline:  # noqa: ASYNC110 - an event would be set in a signal handler
            await asyncio.sleep(_LOOK_SECONDS)
        self._app.state.watchers.close()
        await super().shutdown(sockets)
