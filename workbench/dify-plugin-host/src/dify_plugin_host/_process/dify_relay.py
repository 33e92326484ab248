"""A relay between a plugin that is debugged and the daemon of a running Dify, which gets to see it under names of its own.

From 0.6.1 on, the daemon keeps the author and the name of a debugged plugin: one that is installed under the same goes
on answering, and is uninstalled when the debugging ends. Under another author both are there. Source:
`internal/core/debugging_runtime` of langgenius/dify-plugin-daemon at bdb5642a and `core/server/tcp` of dify-plugin
0.10.2, read and run 2026-11.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from dify_plugin_host._errors import DebuggingError, ParameterError
from dify_plugin_packager.json_access import is_object, object_at, objects_at


_LOOPBACK = "127.0.0.1"
_PORT = 5003
_BEAT = b'{"event":"heartbeat","session_id":null,"data":{}}\n\n'
_LONGEST_AUTHOR = 64
_SUFFIX = "-debug"
_LABEL_SUFFIX = " (debug)"


def debugged_author(author: str) -> str:
    """Return the author under which a plugin is debugged."""
    return author[: _LONGEST_AUTHOR - len(_SUFFIX)] + _SUFFIX


@dataclass(frozen=True, slots=True)
class DaemonAddress:
    """A daemon's address for plugins that are debugged."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, *, parameter: str) -> Self:
        """Read an address as Dify shows it; the port may be left out.

        Raises:
            ParameterError: If it is none; the text names the parameter.
        """
        try:
            found = urlsplit(text if "//" in text else f"//{text}")
            host, port = found.hostname, found.port
        except ValueError:
            host = port = None
        if not host:
            raise ParameterError(
                parameter, f"expected HOST:{_PORT}, as Dify shows it, got {text!r}"
            )
        return cls(host, port or _PORT)

    def __str__(self) -> str:
        """Return it as people write it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class DifyRelay:
    """A port of this machine that stands for a daemon's.

    Args:
        address: The daemon's.
        beat_seconds: How long the plugin may be silent before its heartbeats are sent for it: the daemon gives up one
            that sends none for 60 s, and at a breakpoint a plugin sends none.
        on_declared: Called once the plugin has told the daemon all of itself.

    Attributes:
        line_limit: The longest line that it passes on, in bytes: a request may hold files.
        refusal: It fails with a DebuggingError once the daemon cannot be reached at the first try, or refuses the plugin.
    """

    line_limit = 128 * 1024 * 1024

    def __init__(
        self, address: DaemonAddress, *, beat_seconds: float, on_declared: Callable[[], None]
    ) -> None:
        self._address = address
        self._beat_seconds = beat_seconds
        self._on_declared = on_declared
        self._was_declared = False
        self.refusal: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def listen(self) -> asyncio.Server:
        """Listen on a free port of the loopback interface; a connection lasts until a side closes it, or the loop ends."""
        return await asyncio.start_server(self._serve, _LOOPBACK, 0, limit=self.line_limit)

    async def _serve(self, plugin: asyncio.StreamReader, to_plugin: asyncio.StreamWriter) -> None:
        try:
            daemon, to_daemon = await asyncio.open_connection(
                self._address.host, self._address.port, limit=self.line_limit
            )
        except OSError as error:
            to_plugin.close()
            if not self._was_declared:  # Afterwards the plugin tries again by itself.
                self._refuse(f"cannot be reached: {error}")
            return
        # Each closes what it writes to, which ends the other one; that a connection is lost is an end.
        ways = (self._up(plugin, to_daemon), self._down(daemon, to_plugin))
        await asyncio.gather(*ways, return_exceptions=True)

    async def _up(self, plugin: asyncio.StreamReader, daemon: asyncio.StreamWriter) -> None:
        is_declared, line = False, b"\n"
        with contextlib.closing(daemon):
            while line:
                try:
                    async with asyncio.timeout(self._beat_seconds):
                        line = await plugin.readline()
                except TimeoutError:
                    line = _BEAT if is_declared else b"\n"
                if not is_declared and line.strip():
                    line, is_declared = _declared(line)
                daemon.write(line)
                await daemon.drain()
                if is_declared and not self._was_declared:
                    self._was_declared = True
                    self._on_declared()

    async def _down(self, daemon: asyncio.StreamReader, plugin: asyncio.StreamWriter) -> None:
        with contextlib.closing(plugin):
            while line := await daemon.readline():
                # What is no JSON is the reason for which the daemon is about to hang up.
                if line.strip() and not line.lstrip().startswith(b"{"):
                    self._refuse(f"refuses the plugin: {line.decode(errors='replace').strip()}")
                    return
                plugin.write(line)
                await plugin.drain()

    def _refuse(self, problem: str) -> None:
        with contextlib.suppress(asyncio.InvalidStateError):  # The first reason counts.
            error = DebuggingError(f"the daemon at {self._address} {problem}")
            self.refusal.set_exception(error)


def _declared(line: bytes) -> tuple[bytes, bool]:
    """Return a line of a plugin's declarations with the debugged names, and whether it is the last one."""
    message = json.loads(line)
    kind, data = message.get("type"), message.get("data")
    if kind == "end":
        return line, True
    if kind == "manifest_declaration" and is_object(data):
        data["author"] = debugged_author(str(data.get("author") or ""))
        _mark(data)
    elif isinstance(data, list):
        for provider in objects_at(message, "data"):
            _mark(object_at(provider, "identity") or provider)
    else:
        return line, False
    return json.dumps(message).encode() + b"\n", False


def _mark(named: dict[str, Any]) -> None:
    """Tell by the label that it is the one that is debugged."""
    label = object_at(named, "label")
    for language, text in label.items():
        if text:
            label[language] = f"{text}{_LABEL_SUFFIX}"
