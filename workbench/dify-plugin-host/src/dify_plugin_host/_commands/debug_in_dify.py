"""The command `dify-host debug --dify`: a plugin that a running Dify calls, beside one that is installed there."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import typer

from dify_plugin_host._errors import ParameterError, PluginExitedError
from dify_plugin_host._process.child import Child
from dify_plugin_host._process.connection import Notice
from dify_plugin_host._process.debugger import Debugger, without_sdk_limit
from dify_plugin_host._process.dify_relay import DaemonAddress, DifyRelay, debugged_author
from dify_plugin_host._settings import HostSettings
from dify_plugin_packager.declarations import PluginFolder
from stream_text import LineSplitter, redact_text
from stream_text.signals import cancelled_by_signals

from .find_plugins import install_settings, open_source
from .options import DebugOptions
from .serve_report import Reporter


_KEY = "REMOTE_INSTALL_KEY"
# The SDK logs each request whole, with the credentials in it.
_REQUEST = "Received event"


def debug_in_dify(options: DebugOptions, address: str, debugger: Debugger, *, out: TextIO) -> None:
    """Say what there is to do in Dify, then run the plugin there until a signal comes.

    Raises:
        ParameterError: If the address is none.
        CredentialsMissingError: If nothing holds the key.
        PluginHostError: If the plugin cannot be started, Dify does not take it, or it ends.
    """
    folder = open_source(options.plugin, install_settings(requirements=False, is_bare=False)).folder
    daemon = DaemonAddress.parse(address, parameter="--dify")
    # The SDK finds it in the plugin's `.env` by itself.
    if not os.environ.get(_KEY) and not (folder.path / ".env").is_file():
        raise ParameterError(
            _KEY,
            "expected the key that Dify shows for debugging, in the environment or in the plugin's .env",
        )
    out.write(_steps(folder, daemon))
    out.flush()
    reporter = Reporter(sys.stderr, as_json=False, verbose=options.verbose)
    asyncio.run(_run(folder, daemon, debugger, reporter))


def _steps(folder: PluginFolder, daemon: DaemonAddress) -> str:
    installed = f"{folder.author}/{folder.name}"
    needs_keys = any(
        kind != "agent_strategies" and listed for kind, listed in folder.manifest["plugins"].items()
    )
    steps = (
        ["give it its keys and settings, as if it had just been installed"] if needs_keys else []
    )
    steps.append(f"choose it in the node or the app instead of {installed}")
    lines = [
        f"debugging in the Dify at {daemon} as {debugged_author(folder.author)}/{folder.name}, with '(debug)' after its labels",
        f"{installed} stays there unchanged and keeps answering. In Dify, under Integrations (before 1.15: Plugins):",
        *(f"  {number}. {step}" for number, step in enumerate(steps, 1)),
        "Ctrl-C ends it: then it is gone from Dify, and whatever has chosen it has to choose the other one again.",
    ]
    return "".join(f"{line}\n" for line in lines)


async def _run(
    folder: PluginFolder, daemon: DaemonAddress, debugger: Debugger, reporter: Reporter
) -> None:
    settings = HostSettings()

    def say(level: str, text: str, kind: Any = "log") -> None:
        shown = redact_text(text)
        reporter.report_notice(Notice(plugin=folder.name, kind=kind, level=level, text=shown))

    relay = DifyRelay(
        daemon,
        beat_seconds=2 * _interval(os.environ),
        on_declared=lambda: typer.echo(f"{folder.name}: Dify has it now", err=True),
    )
    with cancelled_by_signals(), contextlib.closing(await relay.listen()) as server:
        child = await Child.start(
            debugger.command(folder),
            cwd=folder.path,
            environment=_environment(os.environ, server.sockets[0].getsockname()[1]),
            on_stderr=lambda line: say("INFO", line, "stderr"),
        )
        reading = asyncio.create_task(_read(child, say, relay.line_limit))
        try:
            await asyncio.wait({relay.refusal, reading}, return_when=asyncio.FIRST_COMPLETED)
            if relay.refusal.done():
                relay.refusal.result()
            raise PluginExitedError(
                folder.name,
                f"ended with exit code {await child.reap()}",
                stderr_tail=child.stderr_tail,
                setup_command=folder.setup_command,
            )
        finally:
            reading.cancel()
            await child.stop(settings.stop_timeout_seconds)


def _interval(environment: Mapping[str, str]) -> float:
    """Return how many seconds lie between the SDK's own heartbeats."""
    try:
        return float(environment.get("HEARTBEAT_INTERVAL", ""))
    except ValueError:
        return 10.0


def _environment(environment: Mapping[str, str], port: int) -> dict[str, str]:
    address = {"REMOTE_INSTALL_HOST": "127.0.0.1", "REMOTE_INSTALL_PORT": str(port)}
    address["REMOTE_INSTALL_URL"] = ":".join(address.values())
    return {**without_sdk_limit(environment), **address, "INSTALL_METHOD": "remote"}


async def _read(child: Child, say: Callable[[str, str], None], limit: int) -> None:
    """Print what the plugin logs until it closes its stdout, where the connection to Dify does not run; a log may quote a whole request."""
    splitter = LineSplitter(max_line_bytes=limit)
    async for data in child.read():
        for line in splitter.feed(data):
            level, text = _read_record(line.decode(errors="replace").strip())
            if text and not text.startswith(_REQUEST):
                say(level, text)


def _read_record(line: str) -> tuple[str, str]:
    """Return the level and the text of a line of the plugin's stdout: a record of its log, or anything else."""
    message: Any = None
    with contextlib.suppress(ValueError):
        message = json.loads(line)
    match message:
        case {"event": "log", "data": {"level": str(level), "message": str(text)}}:
            return level, text
        case _:
            return "WARNING", line
