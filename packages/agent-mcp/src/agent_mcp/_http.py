"""The way to a server by streamable HTTP: its answers have an end, and its refusals say what was refused."""

import json
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

import anyio
import httpx2
from mcp import types
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client

from stream_text import is_object

from ._bounds import MAX_EVENT_BYTES, MAX_MESSAGE_BYTES, TOO_LARGE, fit_message
from ._servers import HttpServer


SESSION_LOST: Final = -32_099
"""The code of an error that says that the server knows no such session, and so has not made the call.

Our choice, among those that JSON-RPC leaves to implementations.
"""

_REFUSAL_BYTES: Final = 100_000
_REASON_CHARACTERS: Final = 300
# A stream that ended sooner is asked for again later and later.
_SHORT_SECONDS: Final = 10.0
_LONGEST_WAIT: Final = 60.0

# What servers say of a session that is none of theirs besides 404 (SDKs for TypeScript and Rust; Python's before 1.10).
_LOST_STATUSES: Final = (400, 401, 410)
_ANSWERS: Final = (400, 404)
_ANSWER_CODES: Final = (types.METHOD_NOT_FOUND, types.INVALID_PARAMS)
_LOST_WORDS: Final = re.compile("session|not initialized", re.IGNORECASE)

_HINTS: Final = {
    401: "expected a `token` or `headers` that the server accepts",
    403: "its `token` or `headers` do not allow this",
}

# Where servers say what is wrong with a token. Source: RFC 6750, 3; a body's `title` is that of RFC 9457.
_DESCRIPTION: Final = re.compile(r'error_description="([^"]*)"')

_EVENT_ENDS: Final = re.compile(rb"\n\r?\n|\r\r")

_last_stream: ContextVar[tuple[float, float]] = ContextVar(
    "_last_stream", default=(float("-inf"), 0.0)
)
"""When this task has last asked for a stream, and how long it had waited for that."""


@asynccontextmanager
async def open_http(server: HttpServer) -> AsyncGenerator[tuple[Any, Any]]:
    """Reach a server while the `async with` block runs."""
    # Compressed, a small answer could be a large one; how long a call may take, others decide.
    headers = {"Accept-Encoding": "identity", **server.all_headers}
    timeout = httpx2.Timeout(30, read=None)
    transport = _BoundedTransport(httpx2.AsyncHTTPTransport())
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=transport) as client,
        streamable_http_client(
            server.url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES
        ) as streams,
    ):
        yield streams


class _BoundedTransport(httpx2.AsyncBaseTransport):
    """A transport whose answers have an end, and whose refusals are JSON-RPC errors that a model and a person understand."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            await _wait_for_stream()
        response = await self._inner.handle_async_request(request)
        if "content-encoding" in response.headers:
            await response.aclose()
            raise httpx2.DecodingError("expected an answer without compression", request=request)
        if request.method == "POST" and response.is_error:
            return await _explain_refusal(request, response)
        response.stream = _BoundedBody(request, response)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedBody(httpx2.AsyncByteStream):
    """A body that is passed on event by event, or as a whole, unless there is too much in it."""

    def __init__(self, request: httpx2.Request, response: httpx2.Response) -> None:
        self._inner = _stream(response)
        self._request = request
        self._is_stream = "event-stream" in response.headers.get("content-type", "")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_MESSAGE_BYTES
        chunks: deque[bytes] = deque()
        before = b""
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                chunks.clear()
                yield self._refuse(TOO_LARGE)
                return
            ends = [*_EVENT_ENDS.finditer(before + chunk)] if self._is_stream else []
            end = ends[-1].end() - len(before) if ends else 0
            if end:
                chunks.append(chunk[:end])
                yield self._check(chunks)
            chunks.append(chunk[end:])
            before = ((b"" if end else before) + chunk[end:])[-3:]
        yield self._check(chunks)

    def _check(self, chunks: deque[bytes]) -> bytes:
        """Return what the chunks hold, and take it away from there."""
        content, excess = fit_message(b"".join(chunks), in_stream=self._is_stream)
        chunks.clear()
        return self._refuse(excess) if excess else content

    def _refuse(self, why: str) -> bytes:
        number = _read_object(self._request.content).get("id")
        error = _write_error(number, {"code": types.PARSE_ERROR, "message": why})
        return b"data: " + error + b"\n\n" if self._is_stream else error

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _wait_for_stream() -> None:
    """Wait before a stream is asked for again. The SDK asks every second, whatever comes of it (mcp 2.3), in one task for each stream."""
    began, waited = _last_stream.get()
    is_short = anyio.current_time() - began < _SHORT_SECONDS
    wait = min(max(2 * waited, 1.0), _LONGEST_WAIT) if is_short else 0.0
    await anyio.sleep(wait)
    _last_stream.set((anyio.current_time(), wait))


async def _explain_refusal(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Return a refusal as an error of JSON-RPC, with its status and the server's reason."""
    body = await _read_beginning(response)
    told = _read_object(body)
    error = _as_object(told.get("error"))
    status, code = response.status_code, error.get("code")
    number = _read_object(request.content).get("id")
    reason = _find_reason(told, error, body, response)
    # 2026-07-28 answers with 400 and 404 as well; what the server says of this very request is no refusal.
    is_answer = isinstance(code, int) and told.get("id") == number and status in _ANSWERS
    is_lost = MCP_SESSION_ID in request.headers and (
        (status == httpx2.codes.NOT_FOUND.value and not (is_answer and code in _ANSWER_CODES))
        or (status in _LOST_STATUSES and not is_answer and _LOST_WORDS.search(reason) is not None)
    )
    if is_lost or not isinstance(code, int):
        error["code"] = SESSION_LOST if is_lost else types.INTERNAL_ERROR
    if is_lost or not is_answer:
        later = response.headers.get("retry-after")
        hints = (_HINTS.get(status), later and f"it takes calls again after {later}")
        texts = (f"{status} {response.reason_phrase}: {reason}".rstrip(": "), *hints)
        error["message"] = "the server has answered " + "; ".join(filter(None, texts))
    headers = {"content-type": "application/json"}
    content = _write_error(number, error)
    return httpx2.Response(status, headers=headers, content=content, request=request)


def _write_error(number: object, error: dict[str, Any]) -> bytes:
    answer = {"jsonrpc": "2.0", "id": number, "error": error}
    return json.dumps(answer, ensure_ascii=False).encode(errors="replace")


def _stream(response: httpx2.Response) -> httpx2.AsyncByteStream:
    stream = response.stream
    return stream if isinstance(stream, httpx2.AsyncByteStream) else httpx2.ByteStream(b"")


async def _read_beginning(response: httpx2.Response) -> bytes:
    body = b""
    try:
        # One that breaks off has been refused all the same.
        with suppress(httpx2.TransportError):
            async for chunk in _stream(response):
                body += chunk
                if len(body) > _REFUSAL_BYTES:
                    break
    finally:
        await response.aclose()
    return body


def _find_reason(
    told: dict[str, Any], error: dict[str, Any], body: bytes, response: httpx2.Response
) -> str:
    """Return what the server says, in one line: the text of an error, or of a body that is plain text."""
    texts = [
        error.get("message"),
        *map(told.get, ("error_description", "message", "detail", "error", "title")),
        *_DESCRIPTION.findall(response.headers.get("www-authenticate", "")),
    ]
    if "text/plain" in response.headers.get("content-type", ""):
        texts.append(body.decode(errors="replace"))
    reason = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    return " ".join(reason.split())[:_REASON_CHARACTERS]


def _read_object(body: bytes) -> dict[str, Any]:
    try:
        return _as_object(json.loads(body))
    except (ValueError, RecursionError):
        return {}


def _as_object(value: object) -> dict[str, Any]:
    return dict(value) if is_object(value) else {}
