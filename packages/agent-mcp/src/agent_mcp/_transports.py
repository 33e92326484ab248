"""The ways to a server, each within bounds: how long a message, how large an answer, how many messages without one.

The SDK's own ways have no such bounds (mcp 2.3: a line without an end and a JSON answer are read into memory whatever
their size), and check answers by schemas that the server has chosen, which may take years.
"""

import json
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
from anyio.abc import (
    ByteReceiveStream,
    ByteSendStream,
    ObjectReceiveStream,
    ObjectSendStream,
    Process,
)
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import types
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage

from ._bounds import MAX_MESSAGE_BYTES, TOO_LARGE, fit_message, iter_pieces
from ._http import open_http
from ._listing import mend_tools
from ._servers import HttpServer, StdioServer


MAX_OTHERS: Final = 10_000
"""How many messages may come that answer nothing before one does. Our choice."""

_STDERR_BYTES: Final = 2_000
_MENDED_BYTES: Final = (
    4_000_000  # the longest message that is read another way where the first fails
)
_END_SECONDS: Final = 1.0  # to end by itself once its input has ended, and again once it is told to

# What a message that cannot be read says of itself.
_MEMBER: Final = re.compile(
    rb'"(id|jsonrpc|error|method|result)"\s*:\s*(\d{1,15}|"[ !#-\[\]-~]{1,99}"|)'
)

type _Message = SessionMessage | Exception
type Streams = tuple["_Reading", "_Writing"]
"""What a session reads from and writes to."""


class Stderr:
    """The end of what a process has written to its standard error."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()

    @property
    def text(self) -> str:
        """What is kept of it, without the blanks around it."""
        end = b"".join(self._chunks)[-_STDERR_BYTES:]
        return end.decode(errors="replace").strip()

    async def read(self, stream: ByteReceiveStream) -> None:
        """Read it to its end."""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for chunk in stream:
                self._chunks.append(chunk)
                while sum(map(len, self._chunks)) - len(self._chunks[0]) >= _STDERR_BYTES:
                    self._chunks.popleft()


@asynccontextmanager
async def open_transport(
    server: StdioServer | HttpServer, stderr: Stderr, on_end: Callable[[], None]
) -> AsyncGenerator[Streams]:
    """Reach a server while the `async with` block runs.

    Args:
        server: The server.
        stderr: Where the end of a process's standard error is kept.
        on_end: Called when the server sends nothing more.

    Raises:
        OSError: If its program cannot be started.
    """
    way = _open_stdio(server, stderr) if isinstance(server, StdioServer) else open_http(server)
    async with way as (reading, writing):
        asked: set[str] = set()
        yield _Reading(reading, asked, on_end), _Writing(writing, asked)


class _Reading(ObjectReceiveStream["_Message"]):
    """A session's reading end, which closes once too much has come, and takes away what the session would do unbounded work on.

    Args:
        inner: What comes from the server.
        asked: The requests that wait for an answer.
        on_end: Called at the end of that.
    """

    def __init__(self, inner: Any, asked: set[str], on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._asked = asked
        self._on_end = on_end
        self._others = 0

    @property
    def last_context(self) -> Any:
        """The context of the last message's sender, for the SDK."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> _Message:
        """Return the next message.

        Raises:
            anyio.EndOfStream: If there is none, or the server sends nothing but messages that nobody asked for.
        """
        try:
            item: _Message = await self._inner.receive()
        except anyio.EndOfStream:
            self._on_end()
            raise
        message = item.message if isinstance(item, SessionMessage) else None
        is_answer = isinstance(message, types.JSONRPCResponse | types.JSONRPCError)
        if is_answer and str(message.id) in self._asked:
            self._asked.remove(str(message.id))
            self._others = 0
        else:
            self._others += 1
        if self._others > MAX_OTHERS:
            self._on_end()
            raise anyio.EndOfStream
        if isinstance(message, types.JSONRPCError):
            _mend_code(message.error)
        if isinstance(message, types.JSONRPCResponse):
            mend_tools(message.result)
        return item

    async def aclose(self) -> None:
        """Read nothing more."""
        await self._inner.aclose()


def _mend_code(error: types.ErrorData) -> None:
    """Change the code that the SDK has for a closed connection, where it is the server's: many use it for any error."""
    # As mcp 2.3 says of a stream without an answer.
    is_closed = error.message.startswith("SSE stream ended")
    if error.code == types.CONNECTION_CLOSED and not is_closed:
        error.code = types.INTERNAL_ERROR


class _Writing(ObjectSendStream[SessionMessage]):
    """A session's writing end, which notes what is asked.

    Args:
        inner: What goes to the server.
        asked: Where it is noted.
    """

    def __init__(self, inner: Any, asked: set[str]) -> None:
        self._inner = inner
        self._asked = asked

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        if isinstance(item.message, types.JSONRPCRequest):
            self._asked.add(str(item.message.id))
        await self._inner.send(item)

    async def aclose(self) -> None:
        """Send nothing more."""
        await self._inner.aclose()


@asynccontextmanager
async def _open_stdio(server: StdioServer, stderr: Stderr) -> AsyncGenerator[tuple[Any, Any]]:
    process: Process | None = None
    # Cancelled in between, a process would have begun that nobody ends.
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            list(server.command), env=server.variables, cwd=server.folder, start_new_session=True
        )
    assert process and process.stdin and process.stdout and process.stderr  # noqa: PT018, S101 - pipes by default
    stdin, stdout = process.stdin, process.stdout
    send, reading = anyio.create_memory_object_stream[_Message](0)
    writing, to_write = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group, send, reading, writing, to_write:
            group.start_soon(_read_lines, stdout, send)
            group.start_soon(_write_lines, to_write, stdin, send)
            group.start_soon(stderr.read, process.stderr)
            try:
                yield reading, writing
            finally:
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process, stdin)


async def _read_lines(stdout: ByteReceiveStream, send: Any) -> None:
    """Pass on the messages, one in each line. What is none is passed over, but counts among what answers nothing."""
    lines = BufferedByteReceiveStream(stdout)
    # The output ends, or the process or the session does.
    ends = (
        *(anyio.EndOfStream, anyio.IncompleteRead),
        *(anyio.ClosedResourceError, anyio.BrokenResourceError),
    )
    async with send:
        with suppress(*ends):
            try:
                while True:
                    line = await lines.receive_until(b"\n", MAX_MESSAGE_BYTES)
                    await send.send(_read_message(line))
            except anyio.DelimiterNotFound:
                await send.send(_refuse(lines.buffer, TOO_LARGE) or ValueError(TOO_LARGE))


def _read_message(line: bytes) -> _Message:
    """Return a line's message. An answer that cannot be read becomes an error, so that its caller does not wait for ever."""
    line, excess = fit_message(line)
    if excess:
        return _refuse(line, excess) or ValueError(excess)
    read = types.jsonrpc_message_adapter.validate_json
    try:
        return SessionMessage(read(line, by_name=False))
    except ValueError as error:
        unread = error
    with suppress(ValueError):
        # Servers that cut a text may leave an unpaired surrogate, which pydantic does not read.
        value: object = json.loads(line[:_MENDED_BYTES].decode(errors="replace"))
        mended = json.dumps(value, ensure_ascii=False).encode(errors="replace")
        return SessionMessage(read(mended, by_name=False))
    return _refuse(line, "the answer cannot be read") or unread


def _refuse(line: bytes, why: str) -> SessionMessage | None:
    """Return an error in place of an answer, which may be no JSON; None if nobody knows to what."""
    members: dict[bytes, bytes] = {}
    for level, piece in iter_pieces(line):
        if level == 1 and (found := _MEMBER.match(line, piece.start())):
            members[found[1]] = found[2]
        if b"id" in members and members.keys() & {b"error", b"result"}:
            break
    if b"method" in members or not (members.keys() - {b"id"} and members.get(b"id")):
        return None
    told = types.ErrorData(code=types.PARSE_ERROR, message=why)
    number: int | str = json.loads(members[b"id"])
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=number, error=told))


async def _write_lines(to_write: Any, stdin: ByteSendStream, send: Any) -> None:
    try:
        async for item in to_write:
            text: str = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await stdin.send(text.encode() + b"\n")
    except (anyio.ClosedResourceError, anyio.BrokenResourceError):
        await send.aclose()  # So that the session hears of the end at once.


async def _end(process: Process, stdin: ByteSendStream) -> None:
    """End a process and its group: it may end by itself, is told to, and is killed."""
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stdin.aclose()
    # To wait for the process would also be to wait for whoever has inherited its pipes.
    end = anyio.current_time() + _END_SECONDS
    while process.returncode is None and anyio.current_time() < end:  # noqa: ASYNC110 - nothing sets an event
        await anyio.sleep(0.01)
    # What it has started may live on, even where it has ended itself.
    await terminate_posix_process_tree(process, _END_SECONDS)
    await process.aclose()
