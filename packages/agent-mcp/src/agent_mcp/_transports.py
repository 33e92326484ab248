"""The ways to a server, each within bounds: how long a message, how large an answer, how many messages without one.

The SDK's own ways have no such bounds (mcp 2.3: a line without an end and a JSON answer are read into memory whatever their size), and check answers by schemas that the
server has chosen, which may take years.
"""

import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Self, cast

import anyio
import httpx2
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import types
from mcp.client.streamable_http import streamable_http_client
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage

from agent_tooling import DeclarationError, read_object_schema

from ._listing import NO_OBJECT
from ._servers import HttpServer, StdioServer


MAX_MESSAGE_BYTES: Final = 16_000_000
"""The largest message, and the largest HTTP answer. Our choice: images of some megabytes fit in."""

MAX_OTHERS: Final = 10_000
"""How many messages may come that answer nothing before one does. Our choice."""

_STDERR_BYTES: Final = 2_000
_END_SECONDS: Final = 1.0  # to end by itself once its input has ended, and again once it is told to

type _Message = SessionMessage | Exception
type Streams = tuple["_Reading", Any]
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
    way = _open_stdio(server, stderr) if isinstance(server, StdioServer) else _open_http(server)
    async with way as (reading, writing):
        yield _Reading(reading, on_end), writing


class _Reading:
    """A session's reading end, which closes once too much has come, and takes away what the session would do unbounded work on.

    Args:
        inner: What comes from the server.
        on_end: Called at the end of that.
    """

    def __init__(self, inner: Any, on_end: Callable[[], None]) -> None:
        self._inner = inner
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
        item: _Message = await self._inner.receive()
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._others = 0
        else:
            self._others += 1
        if self._others > MAX_OTHERS:
            raise anyio.EndOfStream
        if isinstance(message, types.JSONRPCResponse):
            _mend_tools(message.result)
        return item

    async def aclose(self) -> None:
        """Read nothing more."""
        await self._inner.aclose()

    def __aiter__(self) -> AsyncIterator[_Message]:
        return self

    async def __anext__(self) -> _Message:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            self._on_end()
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _mend_tools(result: dict[str, Any]) -> None:
    """Change a list of tools so that one bad tool does not cost the others.

    Output schemas are dropped: the session would check each result against them, which we do not need. A tool whose input schema is not that of an object is marked, since the session would refuse the whole list.
    """
    tools: object = result.get("tools")
    for tool in cast("list[object]", tools if isinstance(tools, list) else []):
        if not isinstance(tool, dict):
            continue
        described = cast("dict[str, Any]", tool)
        described.pop("outputSchema", None)
        schema: object = described.get("inputSchema")
        given: object = {} if schema is None or schema is True else schema
        try:
            described["inputSchema"] = read_object_schema(given)
        except DeclarationError:
            described |= {"inputSchema": {"type": "object"}, "_meta": {NO_OBJECT: True}}


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
    # The output ends, the process or the session does, or a line is too long.
    ends = (
        *(anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound),
        *(anyio.ClosedResourceError, anyio.BrokenResourceError),
    )
    async with send:
        with suppress(*ends):
            while True:
                line = await lines.receive_until(b"\n", MAX_MESSAGE_BYTES)
                await send.send(_read_message(line))


def _read_message(line: bytes) -> _Message:
    """Return a line's message. An answer that cannot be read becomes an error, so that its caller does not wait for ever."""
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        unread = error
    try:
        # Servers that cut a text may leave an unpaired surrogate, which pydantic does not read.
        value: object = json.loads(line)
        text = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    except (ValueError, RecursionError):
        return unread
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError:
        pass
    answer = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    number = answer.get("id")
    if "method" in answer or not isinstance(number, int | str):
        return unread
    told = types.ErrorData(code=types.PARSE_ERROR, message="the answer cannot be read")
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


@asynccontextmanager
async def _open_http(server: HttpServer) -> AsyncGenerator[tuple[Any, Any]]:
    # Compressed, a small answer could be a large one; how long a call may take, the run decides.
    headers = {"Accept-Encoding": "identity", **server.all_headers}
    timeout = httpx2.Timeout(30, read=None)
    transport = _BoundedTransport(httpx2.AsyncHTTPTransport())
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=transport) as client,
        streamable_http_client(
            server.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES
        ) as streams,
    ):
        yield streams


class _BoundedTransport(httpx2.AsyncBaseTransport):
    """A transport whose answers have an end."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if "content-encoding" in response.headers:
            await response.aclose()
            raise httpx2.DecodingError("expected an answer without compression", request=request)
        response.stream = _BoundedBody(cast("httpx2.AsyncByteStream", response.stream))
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedBody(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_MESSAGE_BYTES
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError(f"an answer of more than {MAX_MESSAGE_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
