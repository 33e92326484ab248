"""`dify-host serve`: plugins behind the plugin daemon's dispatch API, until it is interrupted."""

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from rich.console import Console

from dify_plugin_host._errors import PluginFolderError
from dify_plugin_host._json import JsonObject
from dify_plugin_host.daemon import DaemonServer
from dify_plugin_host.packaging import InstallSettings, installed
from dify_plugin_host.platform import ModelServer, named_server, open_simulator, without_server
from dify_plugin_host.plugin import PluginFolder
from dify_plugin_host.process import Notice
from dify_plugin_host.tools import builtin_tools, load_tools
from stream_text.signals import cancelled_by_signals

from ._find_plugins import find_folders, install_packages, read_plugins


API_KEY = "DIFY_HOST_API_KEY"
"""The environment variable that may hold the key."""

_QUIET_LEVELS = frozenset({"DEBUG", "INFO"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What was asked on the command line; None takes the default."""

    sources: tuple[Path, ...] = ()
    plugins: Path | None = None
    packages: Path | None = None
    installing: InstallSettings = field(default_factory=InstallSettings)
    port: int = 0
    api_key: str | None = None
    tools: tuple[Path, ...] = ()
    simulator: bool = False
    as_json: bool = False


def run_serve(options: ServeOptions, *, out: TextIO) -> None:
    """Serve until a signal comes; say on `out` where.

    Raises:
        PluginHostError: If a plugin cannot be found or started, or the port cannot be had.
    """
    tools = {tool.name: tool for tool in builtin_tools()}
    for path in options.tools:
        tools |= {tool.name: tool for tool in load_tools(path)}
    given_key = options.api_key or os.environ.get(API_KEY) or None
    reporter = _Reporter(out, as_json=options.as_json)
    environment = {name: value for name, value in os.environ.items() if name != API_KEY}
    with _model_server(options, environment) as models:
        server = DaemonServer(
            *_folders(options),
            port=options.port,
            api_key=given_key,
            credentials=models.credentials if models else {},
            tools=tuple(tools.values()),
            on_notice=reporter.report_notice,
            environment=models.environment if models else without_server(environment),
        )
        simulator = models.credentials if models and options.simulator else None
        shown_key = server.api_key if given_key is None else None
        asyncio.run(
            _serve(
                server,
                lambda: reporter.report_ready(server, api_key=shown_key, simulator=simulator),
            )
        )


async def _serve(server: DaemonServer, report_ready: Callable[[], None]) -> None:
    with cancelled_by_signals(), Console(stderr=True).status("starting the plugins") as status:
        async with server:
            status.stop()
            report_ready()
            await asyncio.Event().wait()


@contextlib.contextmanager
def _model_server(
    options: ServeOptions, environment: Mapping[str, str]
) -> Generator[ModelServer | None]:
    """Find what answers the models that plugins call back, where the caller says nothing."""
    if options.simulator:
        with open_simulator(environment) as server:
            yield server
    else:
        yield named_server(environment)


def _folders(options: ServeOptions) -> list[PluginFolder]:
    """Return the plugins that were named, each once; those of the `plugins` folder if none was."""
    found = [_read(path, options.installing) for path in options.sources]
    if options.plugins:
        found += read_plugins(options.plugins)
    if options.packages:
        with Console(stderr=True).status("installing the packages"):
            found += install_packages(options.packages, settings=options.installing)
    if not (options.sources or options.plugins or options.packages):
        found = [PluginFolder.read(folder) for folder in find_folders((), start=Path.cwd())]
    if not found:
        folder = options.plugins or options.packages or Path.cwd()
        raise PluginFolderError(folder, "found no plugin in it")
    return list({folder.path: folder for folder in found}.values())


def _read(source: Path, installing: InstallSettings) -> PluginFolder:
    if source.suffix != ".difypkg":
        return PluginFolder.read(source)
    with Console(stderr=True).status(f"installing {source.name}"):
        return PluginFolder.read(installed(source, settings=installing))


class _Reporter:
    """What the server says, to people or to programs."""

    def __init__(self, out: TextIO, *, as_json: bool) -> None:
        self._out = out
        self._as_json = as_json

    def report_ready(
        self,
        server: DaemonServer,
        *,
        api_key: str | None,
        simulator: Mapping[str, str] | None,
    ) -> None:
        """Say where the server is and what it serves."""
        plugins = [_describe(server, plugin_id) for plugin_id in server.plugins]
        if self._as_json:
            self._write(
                {
                    "event": "ready",
                    "base_url": server.base_url,
                    "api_key": api_key,
                    "plugins": plugins,
                    "simulator_credentials": simulator and dict(simulator),
                }
            )
            return
        lines = [f"serving on {server.base_url}"]
        if api_key:
            lines.append(f"export {API_KEY}={api_key}")
        for plugin in plugins:
            lines += ["", *_plugin_lines(plugin)]
        lines += ["", *_credential_lines(simulator), *_example_lines(server, plugins)]
        self._say("\n".join(lines))

    def report_notice(self, notice: Notice) -> None:
        """Show what a plugin complains about."""
        if notice.kind == "log" and notice.level in _QUIET_LEVELS:
            return
        if self._as_json:
            fields = {"plugin": notice.plugin, "level": notice.level, "text": notice.text}
            self._write({"event": "notice", **fields})
        else:
            self._say(f"{notice.plugin}: {notice.level}: {notice.text}")

    def _write(self, event: JsonObject) -> None:
        self._say(json.dumps(event, ensure_ascii=False))

    def _say(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()


def _describe(server: DaemonServer, plugin_id: str) -> JsonObject:
    folder, host = server.plugins[plugin_id].folder, server.host
    return {
        "id": plugin_id,
        "version": folder.manifest.version,
        "models": {
            provider.name: list(provider.models)
            for provider in host.model_providers
            if provider.folder is folder
        },
        "tools": {
            provider.name: list(provider.tools)
            for provider in host.tool_providers
            if provider.folder is folder
        },
        "agent_strategies": {
            strategy.provider: [
                other.name
                for other in host.strategies
                if other.folder is folder and other.provider == strategy.provider
            ]
            for strategy in host.strategies
            if strategy.folder is folder
        },
    }


def _plugin_lines(plugin: JsonObject) -> list[str]:
    lines = [f"X-Plugin-ID: {plugin['id']} ({plugin['version']})"]
    paths = {"models": "llm/invoke", "tools": "tool/invoke"}
    paths["agent_strategies"] = "agent_strategy/invoke"
    for kind, path in paths.items():
        for provider, names in plugin[kind].items():
            lines.append(f"  {path}: {provider}: {', '.join(names)}")
    return lines


def _credential_lines(simulator: Mapping[str, str] | None) -> list[str]:
    if simulator is None:
        return [
            "Callers send the credentials for models with each call; --simulator provides some.",
            "",
        ]
    return [f"credentials for the simulator: {json.dumps(dict(simulator))}", ""]


def _example_lines(server: DaemonServer, plugins: list[JsonObject]) -> list[str]:
    """Show how the first tool or model is called."""
    first = next((plugin for plugin in plugins if plugin["tools"] or plugin["models"]), plugins[0])
    path, data = _example(first)
    body = json.dumps({"user_id": "me", "data": data})
    return [
        f"curl -N {server.base_url}/plugin/local/dispatch/{path} \\",
        f"  -H 'X-Api-Key: '\"${API_KEY}\" -H 'X-Plugin-ID: {first['id']}' \\",
        f"  -H 'Content-Type: application/json' -d '{body}'",
    ]


def _example(plugin: JsonObject) -> tuple[str, JsonObject]:
    nothing: JsonObject = {}
    for provider, names in plugin["tools"].items():
        chosen = {"provider": provider, "tool": names[0], "credentials": nothing}
        return "tool/invoke", {**chosen, "tool_parameters": nothing}
    for provider, names in plugin["models"].items():
        question = [{"role": "user", "content": "hello"}]
        chosen = {"provider": provider, "model_type": "llm", "model": names[0]}
        fields = {"credentials": nothing, "model_parameters": nothing}
        return "llm/invoke", {**chosen, **fields, "prompt_messages": question}
    provider, names = next(iter(plugin["agent_strategies"].items()))
    chosen = {"agent_strategy_provider": provider, "agent_strategy": names[0]}
    return "agent_strategy/invoke", {**chosen, "agent_strategy_params": nothing}
