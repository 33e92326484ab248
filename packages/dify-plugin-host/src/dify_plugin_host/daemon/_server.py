"""The daemon's HTTP API, served on the loopback interface for the plugins of a desk."""

import asyncio
import contextlib
import re
import secrets
import socket
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import uvicorn

from dify_plugin_host._errors import DaemonServerError, PluginFolderError
from dify_plugin_host._settings import HostSettings
from dify_plugin_host.platform import Desk
from dify_plugin_host.plugin import PluginFolder
from dify_plugin_host.process import NoticeHandler, PluginProcess, ignore_notice
from dify_plugin_host.tools import PythonTool

from ._app import DaemonApp
from ._listing import ToolListing


_HOST = "127.0.0.1"
_GRACE_SECONDS = 1
_KEY = re.compile(r"[!-~]+")


class DaemonServer:
    """Serve the plugin daemon's dispatch API for plugins, on the loopback interface.

    Use it as an asynchronous context manager; leaving it ends the server and every plugin. A plugin that ends by itself is
    started again for the next call, as the daemon does.

    Args:
        folders: The plugin folders.
        port: The port; 0 takes a free one.
        api_key: The key that callers must send as `X-Api-Key`; None makes a random one.
        credentials: The credentials for the models that plugins call back, where the caller brings none.
        tools: The Python tools that plugins may call back, besides the tools of the plugins.
        settings: The platform's limits and rules.
        on_notice: Told of what plugins say outside of any call.
        environment: The environment of the plugins, `os.environ` by default.

    Raises:
        PluginFolderError: If a folder is no plugin, a declaration in it cannot be read, or two are the same plugin.
        DaemonServerError: If the key cannot stand in a header.
    """

    def __init__(  # noqa: PLR0913 - a server has these settings
        self,
        *folders: PluginFolder | Path | str,
        port: int = 0,
        api_key: str | None = None,
        credentials: Mapping[str, str] | None = None,
        tools: Sequence[PythonTool] | None = None,
        settings: HostSettings | None = None,
        on_notice: NoticeHandler = ignore_notice,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.api_key = secrets.token_urlsafe() if api_key is None else api_key
        """The key that callers must send."""
        if not _KEY.fullmatch(self.api_key):
            raise DaemonServerError("the API key: expected visible ASCII characters, at least one")
        self.desk = Desk(
            *folders,
            credentials=credentials,
            tools=tools,
            settings=settings,
            on_notice=on_notice,
            environment=environment,
            restarts=True,
        )
        """The plugins, and what they declare."""
        self._port = port
        self._plugins = _by_id(self.desk.plugins)
        listing = ToolListing(self.desk.tool_providers)
        self._app = DaemonApp(self._plugins, listing, api_key=self.api_key)
        self._running: _Running | None = None

    @property
    def base_url(self) -> str:
        """The URL of the server, `http://127.0.0.1:PORT`.

        Raises:
            DaemonServerError: If the server does not run.
        """
        if self._running is None:
            raise DaemonServerError("the server runs only inside its `async with` block")
        return f"http://{_HOST}:{self._running.port}"

    @property
    def plugins(self) -> Mapping[str, PluginProcess]:
        """The plugins by their ids, `author/name`."""
        return self._plugins

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen, start all plugins at the same time, and serve.

        Raises:
            DaemonServerError: If the port cannot be listened on.
            PluginStartError: If a plugin does not start; then none is left running.
        """
        listener = _listen(self._port)
        try:
            await self.desk.start()
        except BaseException:
            listener.close()
            raise
        self._running = _Running(self._app.build(), listener)
        try:
            await self._running.wait_ready()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End the plugins, whose callers are told so, and the server."""
        await self.desk.stop()
        if self._running:
            await self._running.stop()
            self._running = None


class _Running:
    """Be a server that listens."""

    def __init__(self, app: Any, listener: socket.socket) -> None:
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
    """Say when it is ready, and leave signals to the program that it is a part of."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _by_id(plugins: Sequence[PluginProcess]) -> dict[str, PluginProcess]:
    found: dict[str, PluginProcess] = {}
    for plugin in plugins:
        name = f"{plugin.folder.author}/{plugin.folder.name}"
        if name in found:
            problem = f"expected another plugin than {name!r}, which {found[name].folder.path} is"
            raise PluginFolderError(plugin.folder.path, problem)
        found[name] = plugin
    return found


def _listen(port: int) -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it on, frames wait for an ACK.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
        listener.listen()  # From here on nobody else can; who calls while plugins start has to wait.
    except (OSError, OverflowError) as error:
        listener.close()
        reason = error.strerror if isinstance(error, OSError) else "expected 0 to 65535"
        raise DaemonServerError(f"port {port}: {reason}") from None
    return listener
