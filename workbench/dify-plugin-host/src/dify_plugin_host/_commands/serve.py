"""The command `dify-host serve`: plugins behind the plugin daemon's dispatch API, until interrupted."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from rich.console import Console

from dify_plugin_host._daemon.server import DaemonServer
from dify_plugin_host._platform.model_server import open_wanted, without_server
from dify_plugin_host._plugin.source import FolderSource, PluginSource
from dify_plugin_host._process.debugger import Debugger
from dify_plugin_host._settings import HostSettings, PlatformRules
from dify_plugin_packager import PluginFolderError
from dify_plugin_packager.commands import find_folders
from dify_plugin_packager.declarations import PluginFolder
from stream_text.signals import cancelled_by_signals

from .find_plugins import install_packages, install_settings, open_source, read_plugins
from .limits import with_daemon_limits, with_file_settings
from .options import ServeOptions
from .serve_report import API_KEY, Reporter
from .tool_offers import python_tools


def run_serve(options: ServeOptions, *, out: TextIO, debugger: Debugger | None = None) -> None:
    """Serve until a signal comes; print the address on `out`.

    Args:
        options: The plugins and the settings of the server.
        out: The stream to print to.
        debugger: The debugger that the first plugin waits for.

    Raises:
        PluginHostError: If a plugin cannot be found or started, or the port is not free.
    """
    given_key = options.api_key or os.environ.get(API_KEY) or None
    reporter = Reporter(out, as_json=options.as_json, verbose=options.verbose)
    # The key is between the server and its callers; the plugins do not get it.
    environment = {name: value for name, value in os.environ.items() if name != API_KEY}
    # For the models that plugins call back without credentials from the caller.
    with open_wanted(environment, simulator=options.simulator) as models:
        server = DaemonServer(
            *_plugins(options),
            port=options.port,
            api_key=given_key,
            tenant=options.tenant,
            credentials=models.credentials if models else {},
            tools=python_tools(options.tools),
            settings=_settings(options, environment),
            on_notice=reporter.report_notice,
            environment=models.environment if models else without_server(environment),
            debugger=debugger,
        )
        simulator = models.credentials if models and options.simulator else None
        shown_key = server.api_key if given_key is None else None
        asyncio.run(
            _serve(
                server,
                lambda: reporter.report_ready(server, api_key=shown_key, simulator=simulator),
                # A debugger's address is printed while the plugins start.
                shows_progress=debugger is None,
            )
        )


async def _serve(
    server: DaemonServer, report_ready: Callable[[], None], *, shows_progress: bool
) -> None:
    status = Console(stderr=True, quiet=not shows_progress).status("starting the plugins")
    with cancelled_by_signals(), status:
        async with server:
            status.stop()
            report_ready()
            # Until a signal cancels it.
            await asyncio.Event().wait()


def _settings(options: ServeOptions, environment: Mapping[str, str]) -> HostSettings:
    """Return the limits that Dify and its daemon read from their environment, and the rules that the options ask for.

    Raises:
        DaemonServerError: If a variable has a value that they would not take.
    """
    rules = PlatformRules(silent_exit=options.as_daemon, share_credentials=options.as_daemon)
    settings = with_file_settings(HostSettings(rules=rules), environment)
    return with_daemon_limits(settings, environment)


def _plugins(options: ServeOptions) -> list[PluginFolder | PluginSource]:
    """Return the plugins that the options name, each once; those of the `plugins` folder if they name none."""
    installing = install_settings(
        requirements=options.requirements, is_bare=options.install_as_daemon or options.as_daemon
    )
    found = [open_source(path, installing) for path in options.sources or ()]
    if options.plugins:
        found += read_plugins(options.plugins)
    if options.packages:
        with Console(stderr=True).status("installing the packages"):
            found += install_packages(options.packages, settings=installing)
    if not (options.sources or options.plugins or options.packages):
        found = [FolderSource(folder) for folder in find_folders((), start=Path.cwd())]
    if not found:
        folder = options.plugins or options.packages or Path.cwd()
        raise PluginFolderError(folder, "found no plugin in it")
    each = {source.folder.path: source for source in found}.values()
    return [source if options.reload else source.folder for source in each]
