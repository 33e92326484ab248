"""A server of the plugin daemon's HTTP API on the loopback interface."""

import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dify_plugin_host._errors import DaemonServerError
from dify_plugin_host._listener import LOOPBACK, listen
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._plugin.source import PluginSource
from dify_plugin_host._process.connection import NoticeHandler
from dify_plugin_host._process.debugger import Debugger
from dify_plugin_host._process.plugin_process import PluginProcess, ignore_notice
from dify_plugin_host._running import Running
from dify_plugin_host._settings import HostSettings
from dify_plugin_host._tools.tool import PythonTool
from dify_plugin_packager import PluginFolderError
from dify_plugin_packager.declarations import PluginFolder

from .tenants import Tenants


if TYPE_CHECKING:
    from dify_plugin_host._http_server import HttpServer

_KEY = re.compile(r"[!-~]+")


class DaemonServer(Running):
    """The plugin daemon's dispatch API for some plugins, on the loopback interface.

    Use it as an asynchronous context manager; leaving it ends the server and every plugin. A plugin that ends by itself is
    started again for the next call, as the daemon does.

    Args:
        folders: The plugin folders, or sources of plugins, which are started again, between calls, once they have changed.
        port: The port; 0 takes a free one.
        api_key: The key that callers must send as `X-Api-Key`; None makes a random one.
        tenant: The id of the only tenant that has the plugins, a UUID; with None any tenant has them.
        credentials: The credentials for the models that plugins call back, if the caller sends none.
        tools: The Python tools that plugins may call back, besides the tools of the plugins.
        settings: The platform's limits and rules.
        on_notice: Gets the plugins' notices, which come outside of any call.
        environment: The environment of the plugins, `os.environ` by default.
        debugger: The debugger that the first plugin waits for; no plugin has limits of time then.

    Raises:
        PluginFolderError: If a folder is not a plugin, a declaration in it cannot be read, or two are the same plugin.
        DaemonServerError: If the key does not fit into a header, or the tenant's id is no UUID.
    """

    def __init__(  # noqa: PLR0913 - a server has these settings
        self,
        *folders: PluginFolder | PluginSource | Path | str,
        port: int = 0,
        api_key: str | None = None,
        tenant: str | None = None,
        credentials: Mapping[str, str] | None = None,
        tools: Sequence[PythonTool] | None = None,
        settings: HostSettings | None = None,
        on_notice: NoticeHandler = ignore_notice,
        environment: Mapping[str, str] | None = None,
        debugger: Debugger | None = None,
    ) -> None:
        self.api_key = secrets.token_urlsafe() if api_key is None else api_key
        """The key that callers must send."""
        if not _KEY.fullmatch(self.api_key):
            raise DaemonServerError("the API key: expected one or more visible ASCII characters")
        self._tenants = Tenants(tenant)
        self.tenant = self._tenants.only
        """The id of the only tenant that has the plugins; None if any has them."""
        self.host = PluginHost(
            *folders,
            credentials=credentials,
            tools=tools,
            settings=settings,
            on_notice=on_notice,
            environment=environment,
            restarts=True,
            debugger=debugger,
        )
        """The plugins, with their declarations."""
        self._port = port
        self._plugins = _by_id(self.host.plugins)
        self._running: HttpServer | None = None

    @property
    def base_url(self) -> str:
        """The URL of the server, `http://127.0.0.1:PORT`.

        Raises:
            DaemonServerError: If the server is not running.
        """
        if self._running is None:
            raise DaemonServerError("the server runs only inside its `async with` block")
        return f"http://{LOOPBACK}:{self._running.port}"

    @property
    def plugins(self) -> Mapping[str, PluginProcess]:
        """The plugins by their ids, `author/name`."""
        return self._plugins

    async def start(self) -> None:
        """Listen, start all plugins at the same time, and serve.

        Raises:
            DaemonServerError: If the port cannot be listened on.
            PluginStartError: If a plugin does not start; then none is left running.
        """
        # The HTTP framework takes longer to import than all the rest, and is needed only here.
        from dify_plugin_host._http_server import HttpServer  # noqa: PLC0415

        from .app import DaemonApp  # noqa: PLC0415

        # First, so that a port that is taken is reported before any plugin starts.
        listener = listen(self._port)
        try:
            await self.host.start()
        except BaseException:
            # The listener is not yet the server's, which would close it.
            listener.close()
            raise
        app = DaemonApp(self.host, self._plugins, tenants=self._tenants, api_key=self.api_key)
        self._running = HttpServer(app.build(), listener)
        try:
            await self._running.wait_ready()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End the plugins, which fails the calls that run, then the server."""
        await self.host.stop()
        if self._running:
            await self._running.stop()
            self._running = None


def _by_id(plugins: Sequence[PluginProcess]) -> dict[str, PluginProcess]:
    found: dict[str, PluginProcess] = {}
    for plugin in plugins:
        name = f"{plugin.folder.author}/{plugin.folder.name}"
        if name in found:
            problem = (
                f"{name!r} is served from {found[name].folder.path}; expected each plugin once"
            )
            raise PluginFolderError(plugin.folder.path, problem)
        found[name] = plugin
    return found
