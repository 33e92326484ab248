"""uvicorn, as this package uses it."""

import socket
from typing import Final, override

import uvicorn
from starlette.applications import Starlette

from agent_server.settings import ServerSettings

from .connections import build_protocol


_LAST_ANSWERS_SECONDS: Final = 5


class Server(uvicorn.Server):
    """A server for an application of `build_app`: clients that do not send or read are dropped, and streams end when it stops.

    Args:
        app: The application.
        settings: How long clients may take; the sockets are handed to `serve`.
    """

    def __init__(self, app: Starlette, settings: ServerSettings) -> None:
        self._app = app
        super().__init__(
            uvicorn.Config(
                app,
                http=build_protocol(settings.client_seconds),
                lifespan="off",
                ws="none",
                log_level="error",  # Anybody can send what uvicorn warns of, as often as they like.
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_LAST_ANSWERS_SECONDS,
            )
        )

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, which would otherwise go on for as long as their runs."""
        self._app.state.watchers.close()
        await super().shutdown(sockets)
