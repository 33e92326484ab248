"""Servers in use: started together, their tools listed once, called from any thread and any event loop."""

import asyncio
import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from typing import Any, Self

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.from_thread import start_blocking_portal
from mcp import types

from agent_tooling import Tool
from stream_text import valid_tool_names

from ._connection import Connection, OnProgress
from ._errors import McpError
from ._listing import Call, make_tool
from ._log_redaction import redacted_logs
from ._results import Part
from ._servers import HttpServer, StdioServer


_log = logging.getLogger("agent_mcp")


class McpServers:
    """MCP servers whose tools an agent may use, in a `with` or an `async with` block.

    They are started together, in an event loop in a thread of its own, so that their tools work in blocking and in
    asynchronous runs alike, also in many at once. The list of tools is fixed at the beginning. A server that ends later
    is started anew by the next call of one of its tools.

    Args:
        servers: The servers, each with a name of its own.
        on_progress: Called with the progress of calls.

    Attributes:
        servers: As given.

    Raises:
        McpError: If two servers have one name, or one is no server.

    Example:
        with McpServers(StdioServer("time", ["uvx", "mcp-server-time"])) as servers:
            print(Agent(model, servers.tools).run("What time is it in Tokyo?").value)
    """

    def __init__(
        self, *servers: StdioServer | HttpServer, on_progress: OnProgress | None = None
    ) -> None:
        for server in servers:
            if not _is_server(server):
                kind = type(server).__name__
                raise McpError("", f"MCP servers: expected StdioServer or HttpServer, got {kind}")
        names = [server.name for server in servers]
        if twice := {name for name in names if names.count(name) > 1}:
            raise McpError("", f"MCP servers: expected distinct names, got two {min(twice)!r}")
        self.servers = servers
        self._on_progress = on_progress
        self._use: _Use | None = None
        self._entering = threading.Lock()

    @property
    def tools(self) -> list[Tool[Any]]:
        """The servers' tools, named `SERVER_TOOL`.

        Raises:
            McpError: If the servers are not in use.
        """
        return list(self._used.tools)

    @property
    def left_out(self) -> dict[str, str]:
        """The tools that no model could use, by the names that they would have had, each with the reason.

        Raises:
            McpError: If the servers are not in use.
        """
        return dict(self._used.left_out)

    @property
    def changed(self) -> frozenset[str]:
        """The names of servers that have announced that their list of tools has changed. Leave and enter anew to use the new ones.

        Raises:
            McpError: If the servers are not in use.
        """
        return frozenset(one.server.name for one in self._used.connections if one.has_changed)

    def __enter__(self) -> Self:
        """Start the servers and list their tools.

        Raises:
            McpError: If one of them cannot be used; the others are ended.
        """
        use = self._begin()
        try:
            use.ready.result()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End the servers. A call that is going on fails."""
        self._end()

    async def __aenter__(self) -> Self:
        """Start the servers as `with` does, without blocking the event loop."""
        use = self._begin()
        try:
            await asyncio.wrap_future(use.ready)
        except BaseException:
            await asyncio.to_thread(self._end)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the servers."""
        await asyncio.to_thread(self._end)

    @property
    def _used(self) -> "_Use":
        if self._use is None:
            raise McpError("", "MCP servers: expected to be in a `with` or an `async with` block")
        return self._use

    def _begin(self) -> "_Use":
        with self._entering:
            if self._use is not None:
                raise McpError("", "MCP servers: expected to be entered once at a time")
            self._use = _Use([Connection(server, self._on_progress) for server in self.servers])
            return self._use

    def _end(self) -> None:
        use, self._use = self._used, None
        use.end()


class _Use:
    """The servers from when they are started to when they are ended.

    Args:
        connections: The servers' sessions.

    Attributes:
        connections: As given.
        ready: Done once all servers have listed their tools, or one has failed.
        tools: Their tools.
        left_out: Those that cannot be used, and why.
    """

    def __init__(self, connections: list[Connection]) -> None:
        self.connections = connections
        self.ready: Future[None] = Future()
        self.tools: list[Tool[Any]] = []
        self.left_out: dict[str, str] = {}
        self._over = anyio.Event()
        self._stack = ExitStack()
        self._stack.enter_context(redacted_logs(one.known for one in connections))
        self._portal = self._stack.enter_context(start_blocking_portal(name="agent-mcp"))
        self._running = self._portal.start_task_soon(self._run)

    def end(self) -> None:
        """End the servers, and the thread."""
        with self._stack:
            self._portal.call(self._close)
            self._running.result()

    def _close(self) -> None:
        for one in self.connections:
            one.close()
        self._over.set()

    async def _run(self) -> None:
        """Hold the sessions, whose tasks end where they have begun."""
        if not self.ready.set_running_or_notify_cancel():
            return  # Whoever enters was cancelled before anything began.
        async with anyio.create_task_group() as group:
            try:
                await self._take(await self._open(group), group)
            except Exception as error:  # noqa: BLE001 - it is raised where the servers are entered
                self._close()
                self.ready.set_exception(error)
            else:
                self.ready.set_result(None)
            # A session may be opened anew as long as its group is.
            await self._over.wait()

    async def _open(self, group: TaskGroup) -> dict[Connection, list[types.Tool]]:
        """Open all sessions at the same time, and return what each server lists.

        Raises:
            McpError: If one cannot be opened.
        """
        opened: dict[Connection, list[types.Tool]] = {}
        failed: list[McpError] = []
        async with anyio.create_task_group() as opening:

            async def open_one(connection: Connection) -> None:
                try:
                    opened[connection] = await connection.open(group)
                except McpError as error:
                    failed.append(error)
                    opening.cancel_scope.cancel()

            for connection in self.connections:
                opening.start_soon(open_one, connection)
        if failed:
            raise failed[0]
        return opened

    async def _take(self, opened: Mapping[Connection, list[types.Tool]], group: TaskGroup) -> None:
        """Make the listed tools those of an agent, in the order of the servers.

        Raises:
            McpError: If the schemas of a server take longer than is left of its time to start.
        """
        listed = [(one, tool) for one in self.connections for tool in opened[one]]
        pairs = ((one.server.name, tool.name) for one, tool in listed)
        names = valid_tool_names((f"{server}/{name}", f"{server}_{name}") for server, name in pairs)
        for name, (one, tool) in zip(names, listed, strict=True):
            call = self._make_call(one, tool.name, group)
            make = partial(make_tool, tool, name, call, one.server, one.known)
            began = anyio.current_time()
            made: Tool[Any] | str | None = None
            with anyio.move_on_after(one.left):
                # One schema of 80 kB may take 5 s.
                made = await anyio.to_thread.run_sync(make, abandon_on_cancel=True)
            if made is None:
                raise McpError(one.server.name, one.delay)
            one.left -= anyio.current_time() - began
            if isinstance(made, Tool):
                self.tools.append(made)
            else:
                self.left_out[name] = made
                _log.warning("MCP server %r: %s left out: %s", one.server.name, name, made)

    def _make_call(self, connection: Connection, tool: str, group: TaskGroup) -> Call:
        async def call(**arguments: Any) -> str | list[Part]:
            try:
                called = self._portal.start_task_soon(connection.call, group, tool, arguments)
            except RuntimeError:  # The thread has ended.
                raise McpError(connection.server.name, "it is not in use any more") from None
            # Whoever is cancelled here cancels the call there.
            return await asyncio.wrap_future(called)

        return call


def _is_server(value: object) -> bool:
    return isinstance(value, StdioServer | HttpServer)
