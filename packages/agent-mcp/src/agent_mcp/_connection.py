"""The session with one server, in the event loop of `McpServers`."""

import json
import logging
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp import Client, MCPError, types
from mcp.shared.dispatcher import ProgressFnT
from pydantic import ValidationError

from agent_tooling import ToolError
from stream_text import KnownSecrets

from ._errors import McpError
from ._http import SESSION_LOST
from ._listing import choose_tools, list_tools
from ._results import Part, read_result
from ._servers import HttpServer, StdioServer
from ._transports import Stderr, open_transport


_log = logging.getLogger("agent_mcp")
_CLOSE_SECONDS: Final = 5.0
_SILENT_SECONDS: Final = 120.0  # without progress, where no setting says otherwise
_GRACE_SECONDS: Final = 1.0  # in which whoever runs the tool gives up first, with words of its own
_MAX_MESSAGE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a call, as its server says.

    Attributes:
        server: The name of the server.
        tool: The tool, as the server calls it.
        progress: How far it is; it grows.
        total: What it grows to, if that is known.
        message: A text about it, at most 1,000 characters.
    """

    server: str
    tool: str
    progress: float
    total: float | None = None
    message: str | None = None


class _SessionLostError(McpError):
    """A session that its server does not know any more: the call has not been made."""


type OnProgress = Callable[[Progress], object]
"""A function that hears of the progress of calls. It runs in the servers' thread, so it must not take long; what it raises is logged."""


@dataclass(frozen=True, slots=True)
class _Session:
    """A session that has begun.

    Attributes:
        client: The SDK's client.
        over: Set once the session is to end, by whoever notices first.
    """

    client: Client
    over: anyio.Event


class Connection:
    """The session with a server. One that has ended is opened anew by the next call; the tools stay those that were listed first.

    Args:
        server: The server.
        on_progress: Called with the progress of calls.

    Attributes:
        server: As given, with the values that its variables had.
        known: The secrets that no text of the server may show.
        has_changed: Whether the server has announced that its list of tools has changed.
        left: The seconds that are left of `start_timeout` once the tools are listed.
    """

    def __init__(self, server: StdioServer | HttpServer, on_progress: OnProgress | None) -> None:
        # Fixed, so that a restarted server gets the same values, all of which `known` knows.
        self.server = server.fixed()
        self.known = KnownSecrets(self.server.secrets)
        self.has_changed = False
        self.left = server.start_timeout
        self._on_progress = on_progress
        self._opening = anyio.Lock()
        self._starting: anyio.CancelScope | None = None
        self._session: _Session | None = None
        self._is_closed = False

    async def open(self, group: TaskGroup) -> list[types.Tool]:
        """Start the session in a task of the group, and return the server's tools.

        Raises:
            McpError: If the server cannot be used.
        """
        opened: list[types.Tool] | McpError = await group.start(self._run)
        if isinstance(opened, McpError):
            raise opened
        return opened

    async def call(
        self, group: TaskGroup, tool: str, arguments: dict[str, Any]
    ) -> str | list[Part]:
        """Call a tool and return what the model reads. A call that is cancelled is cancelled at the server as well.

        It is made again, once, where the server says that it knows no such session: it has been started anew, or has forgotten.

        Args:
            group: Where the session is opened anew if it has ended.
            tool: The tool, as the server calls it.
            arguments: The arguments.

        Raises:
            ToolError: If the call has failed; the model reads why.
            McpError: If the server cannot be reached, which may be better at the next try.
        """
        if not _is_unicode(arguments):
            raise ToolError("expected arguments without halves of surrogate pairs")
        try:
            return await self._call(await self._reach(group), tool, arguments)
        except _SessionLostError:
            return await self._call(await self._reach(group), tool, arguments)

    async def _reach(self, group: TaskGroup) -> _Session:
        """Return the session, opened anew if it has ended."""
        async with self._opening:
            if self._session is None or self._session.over.is_set():
                # A start may take longer than a call may; then the server is there for the next call.
                with anyio.CancelScope(shield=True):
                    await self.open(group)
            return cast("_Session", self._session)

    async def _call(
        self, session: _Session, tool: str, arguments: dict[str, Any]
    ) -> str | list[Part]:
        given = self.server.timeout
        seconds = _SILENT_SECONDS if given is None else given + _GRACE_SECONDS
        with anyio.move_on_after(seconds) as scope:

            async def report(progress: float, total: float | None, message: str | None) -> None:
                if given is None:
                    scope.deadline = _seconds_from_now(seconds)
                if self._on_progress is not None:
                    self._report(self._on_progress, tool, progress, total, message)

            return await self._ask(session, tool, arguments, report)
        silence = f"neither an answer nor progress within {seconds:g} s, its `timeout` being None"
        raise ToolError(silence if given is None else f"no answer within {given:g} s")

    async def _ask(
        self, session: _Session, tool: str, arguments: dict[str, Any], report: ProgressFnT
    ) -> str | list[Part]:
        try:
            result = await session.client.call_tool(tool, arguments, progress_callback=report)
        except MCPError as error:
            if error.code == SESSION_LOST:
                session.over.set()
                raise _SessionLostError(self.server.name, self._redact(error.message)) from None
            if error.code == types.CONNECTION_CLOSED:
                session.over.set()
                raise McpError(self.server.name, "it has ended during the call") from None
            raise ToolError(self._redact(error.message) or "the call was refused") from None
        except ValidationError:
            raise ToolError("the server's answer is not a result") from None
        return read_result(result, self.known)

    @property
    def delay(self) -> str:
        """What is said of a server whose tools take too long."""
        return f"no list of its tools within {self.server.start_timeout:g} s"

    def close(self) -> None:
        """End the session for good; its task ends once the server has."""
        self._is_closed = True
        if self._session is not None:
            self._session.over.set()
        if self._starting is not None:
            self._starting.cancel()

    async def _run(self, *, task_status: TaskStatus[list[types.Tool] | McpError]) -> None:
        stderr, over = Stderr(), anyio.Event()
        error: BaseException | None = None
        has_started = False
        # Nothing is started any more once the block has been left.
        seconds = -1 if self._is_closed else self.server.start_timeout
        with anyio.CancelScope(deadline=_seconds_from_now(seconds)) as scope:
            self._starting = scope
            try:
                transport: Any = open_transport(self.server, stderr, over.set)
                # How often a server may ask for another round, the time of the call decides.
                async with Client(
                    transport,
                    message_handler=self._hear,
                    cache=None,
                    input_required_max_rounds=sys.maxsize,
                ) as client:
                    tools = choose_tools(await list_tools(client, self.server.name), self.server)
                    self.left = scope.deadline - anyio.current_time()
                    scope.deadline = math.inf
                    self._starting, self._session = None, _Session(client, over)
                    has_started = True
                    task_status.started(tools)
                    await over.wait()
                    scope.deadline = _seconds_from_now(_CLOSE_SECONDS)
            except Exception as raised:  # noqa: BLE001 - whatever the server does, the others and the run go on
                error = raised
        over.set()
        if not has_started:
            self._starting = None
            task_status.started(self._explain(error, stderr.text))
        elif error is not None:
            _log.warning("%s", self._explain(error, stderr.text))

    def _explain(self, error: BaseException | None, stderr: str) -> McpError:
        """Return what was wrong; None is a server that took too long."""
        while group := getattr(error, "exceptions", None):
            error = group[0]
        if isinstance(error, McpError):
            return error
        if error is None:
            reason = self.delay
        elif isinstance(error, MCPError):
            reason = error.message
        elif isinstance(error, OSError) and error.strerror:
            reason = f"it cannot be started: {error.strerror}"
        elif isinstance(error, ValidationError):
            reason = "its answer is not MCP"
        else:
            reason = f"{type(error).__name__}: {error}"
        written = f"; it has written: {stderr}" if stderr else ""
        return McpError(self.server.name, self._redact(reason) + self.known.redact(written))

    async def _hear(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification) and not self.has_changed:
            self.has_changed = True
            _log.info(
                "MCP server %r has other tools by now; a run keeps those that it began with",
                self.server.name,
            )

    def _report(
        self,
        on_progress: OnProgress,
        tool: str,
        progress: float,
        total: float | None,
        message: str | None,
    ) -> None:
        text = None if message is None else self._redact(message)
        told = Progress(
            server=self.server.name, tool=tool, progress=progress, total=total, message=text
        )
        try:
            on_progress(told)
        except Exception:  # noqa: BLE001 - whatever it raises, the call goes on
            _log.exception("on_progress of %r", self.server.name)

    def _redact(self, text: str) -> str:
        # Cut behind the redaction: half a secret is not found.
        return self.known.redact(text)[:_MAX_MESSAGE]


def _is_unicode(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _seconds_from_now(seconds: float) -> float:
    return anyio.current_time() + seconds
