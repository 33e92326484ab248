"""The server under the daemon's API: uvicorn, started and ended as a part of this program."""

import asyncio
import contextlib
import socket
from collections.abc import Generator, Mapping

import uvicorn

from dify_plugin_host.platform import PluginHost
from dify_plugin_host.process import PluginProcess

from ._app import DaemonApp


_GRACE_SECONDS = 1


class HttpServer:
    """A server that answers the daemon's API on a socket.

    Args:
        host: The plugins, with Dify's part in between.
        plugins: The plugins, by `author/name`.
        listener: The socket, which listens already; closed when the server stops.
        api_key: The key that callers must send.
    """

    def __init__(
        self,
        host: PluginHost,
        plugins: Mapping[str, PluginProcess],
        listener: socket.socket,
        *,
        api_key: str,
    ) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]
        config = uvicorn.Config(
            DaemonApp(host, plugins, api_key=api_key).build(),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            timeout_graceful_shutdown=_GRACE_SECONDS,
            access_log=False,
            server_header=False,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))

    async def wait_ready(self) -> None:
        """Wait until the server accepts connections."""
        await self._server.ready.wait()

    async def stop(self) -> None:
        """Let what is being answered end, and close every socket."""
        await self.wait_ready()  # Told to end before, it would leave its sockets open.
        self._server.should_exit = True
        try:
            await self._task
        finally:
            self._listener.close()


class _Server(uvicorn.Server):
    """A server that tells when it is ready, and leaves signals to the program that it is a part of."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
