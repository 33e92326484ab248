"""Calls of the services of an installation, and their replies: as bytes, or as a stream of envelopes.

A streamed reply consists of server-sent events, whose data is a JSON envelope on one line:
`data: {"code": 0, "message": "success", "data": ...}`.

Source: docs/contracts/dify-agent.md, C26 to C29 and C43; langgenius/dify-plugin-daemon at bdb5642a, `internal/server/http_server.go`,
`internal/service/base_sse.go` and `pkg/exception`.
"""

import json
import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Generator,
    Iterator,
    Mapping,
)
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
from pydantic import BaseModel

from stream_text import (
    InvalidJsonError,
    KnownSecrets,
    LineSplitter,
    is_list,
    is_object,
    parse_json,
    read_member,
)

from ._daemon_errors import PluginDaemonError, build_protocol_error, build_reported_error
from ._headers import is_header_text
from ._silence import Silence


_MAX_REPLY_BYTES: Final = 128 * 1024 * 1024  # Three files of the largest size, in base64.
_MAX_LINE_BYTES: Final = 48 * 1024 * 1024  # One such file, and its envelope.
_MAX_BODY_BYTES: Final = 16 * 1024 * 1024  # Files come as links.
_MAX_ERROR_BODY_BYTES: Final = 64 * 1024
# The daemon compares the content type as a whole: a charset would make it refuse the call.
_JSON_HEADERS: Final = {b"Content-Type": b"application/json", b"Accept-Encoding": b"identity"}
_NO_FRAMES: Final = (b":", b"event:", b"id:", b"retry:")
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a service.

    Attributes:
        peer: The service, for errors.
        url: Address of the operation.
        headers: The headers that name the caller, see `header_value`.
        body: The body, see `write_body`.
        secrets: The texts that no error may show.
    """

    peer: str = "Plugin daemon"
    url: str
    headers: Mapping[bytes, bytes] = field(repr=False)
    body: bytes = field(repr=False)
    secrets: KnownSecrets = field(repr=False)


def to_plugin_daemon_jsonable(value: object) -> object:
    """Return a payload with Pydantic models, and collections of them, as plain JSON values.

    Anything else stays as it is; a value that JSON does not know then fails where the body is written.
    """
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_object(value):
        return {key: to_plugin_daemon_jsonable(item) for key, item in value.items()}
    if is_list(value):
        return [to_plugin_daemon_jsonable(item) for item in value]
    return value


def write_body(payload: Mapping[str, object]) -> bytes:
    """Return a payload as JSON.

    Raises:
        ValueError: If it holds a number or a nesting that JSON cannot carry.
        TypeError: If it holds a value that JSON does not know.
    """
    try:
        return json.dumps(to_plugin_daemon_jsonable(payload), allow_nan=False).encode()
    except RecursionError:
        # A model can write such a value, and it must not end the run as a fault of ours.
        raise ValueError("a value is nested too deeply") from None


def header_value(field: str, text: str) -> bytes:
    """Return the value of a header.

    Raises:
        PluginDaemonError: If the text does not fit into a header; it names the field.
    """
    if not is_header_text(text):
        # The HTTP client would refuse it as well, in an error that quotes it.
        raise PluginDaemonError(f"{field}: expected one line of text without spaces around it")
    return text.encode()


async def read_reply(http_client: httpx.AsyncClient, call: Call, silence: Silence) -> bytes:
    """Make a call, and return the body of the reply.

    Raises:
        PluginDaemonError: If an error is reported, or the reply is packed, over 16 MiB, or silent for too long.
        httpx.TransportError: If the service could not be reached, or the connection broke.
    """
    async with _open_reply(http_client, call, silence) as response:
        body = bytearray()
        async for data in _iter_bytes(response, silence):
            body += data
            if len(body) > _MAX_BODY_BYTES:
                raise build_protocol_error(f"{call.peer} reply is too large.")
    return bytes(body)


@asynccontextmanager
async def _open_reply(
    http_client: httpx.AsyncClient, call: Call, silence: Silence
) -> AsyncGenerator[httpx.Response]:
    """Make a call, and open its reply if it is one that can be read; leaving the context closes the response."""
    request = http_client.stream(
        "POST",
        call.url,
        content=call.body,
        headers={**call.headers, **_JSON_HEADERS},
        timeout=_without_read_timeout(http_client.timeout),
        follow_redirects=False,  # The key would follow a redirect to wherever it points.
    )
    with _errors_without_request():
        async with AsyncExitStack() as stack:
            response = await silence.wait(stack.enter_async_context(request))
            if not response.is_success:
                raise await _http_error(response, call, silence)
            if _is_packed(response):
                raise build_protocol_error(_invalid_item(call))
            yield response


async def stream_envelopes(
    http_client: httpx.AsyncClient, call: Call, silence: Silence
) -> AsyncGenerator[object]:
    """Make a call, and yield the data of each envelope of the reply as it arrives.

    The response is closed when the generator ends or is closed; a caller that may stop early wraps it in
    `contextlib.aclosing`.

    Raises:
        PluginDaemonError: If an error is reported, a frame is empty or malformed, or the reply is over 128 MiB or silent for too
            long.
        httpx.TransportError: If the service could not be reached, or the connection broke.
    """
    async with _open_reply(http_client, call, silence) as response:
        async for line in _iter_lines(response, call, silence):
            for data in _iter_data(line, call):
                yield data


def _invalid_item(call: Call) -> str:
    return f"{call.peer} returned an invalid stream item."


def _without_read_timeout(timeout: httpx.Timeout) -> httpx.Timeout:
    # `Silence` measures it instead, and leaves out the time that the consumer takes.
    return httpx.Timeout(connect=timeout.connect, read=None, write=timeout.write, pool=timeout.pool)


@contextmanager
def _errors_without_request() -> Generator[None]:
    """Remove the request from the HTTP client's errors, so that an error that is stored does not hold the key and the body."""
    try:
        yield
    except httpx.TransportError as error:
        raise type(error)(str(error)) from None


def _is_packed(response: httpx.Response) -> bool:
    """Return whether a reply is compressed, which nobody asked for: a few bytes may unpack to more than fits into memory."""
    return response.headers.get("content-encoding", "identity").strip().lower() != "identity"


async def _iter_bytes(response: httpx.Response, silence: Silence) -> AsyncIterator[bytes]:
    pieces = response.aiter_bytes()
    while (data := await silence.wait(anext(pieces, None))) is not None:
        # Comments do not end a silence: docs/contracts/dify-agent.md, C49.
        if not all(line.startswith(b":") for line in data.split(b"\n") if line.strip()):
            silence.end()
        yield data


async def _iter_lines(
    response: httpx.Response, call: Call, silence: Silence
) -> AsyncIterator[bytes]:
    """Yield the reply line by line, up to its limit."""
    splitter, size = LineSplitter(max_line_bytes=_MAX_LINE_BYTES), 0
    async for data in _iter_bytes(response, silence):
        size += len(data)
        for line in splitter.feed(data):
            yield line
        if splitter.overflowed or size > _MAX_REPLY_BYTES:
            raise build_protocol_error(f"{call.peer} reply is too large.")
    for line in splitter.close():
        yield line


@dataclass(frozen=True, slots=True)
class _Envelope:
    code: int  # 0 for data, anything else for an error
    message: str  # for an error often JSON again
    data: object


def _parse_envelope(line: bytes) -> _Envelope | None:
    """Read the frame on a line; None for a blank line, a comment and the other fields of an event.

    A line may also be the bare envelope, without `data:`.

    Raises:
        ValueError: If the line is not UTF-8, not JSON, or not an envelope.
    """
    text = line.strip()
    if text.startswith(_NO_FRAMES):
        return None
    text = text.removeprefix(b"data:").strip()
    if not text:
        return None
    match _parse_json(text):
        # To Python a boolean is an integer as well.
        case {"code": int(code), **rest} if not isinstance(code, bool):
            message = read_member(rest, "message")
            text = message if isinstance(message, str) else ""
            return _Envelope(code, text, read_member(rest, "data"))
        case _:
            raise ValueError("an envelope must be an object with an integer code")


def _parse_json(text: bytes) -> Any:
    """Return the value of a JSON text.

    Halves of surrogate pairs, which no text of ours can carry, become `?`: some who stream cut a text between them.
    """
    value = parse_json(text.decode())
    if _HALF.search(text) is None:
        return value
    return parse_json(json.dumps(value, ensure_ascii=False).encode(errors="replace").decode())


def _iter_data(line: bytes, call: Call) -> Iterator[object]:
    """Yield the data of the frame on a line; nothing if there is no frame."""
    try:
        frame = _parse_envelope(line)
    except ValueError:
        raise build_protocol_error(_invalid_item(call)) from None
    if frame is None:
        return
    if frame.code != 0:
        raise build_reported_error(
            frame.message,
            fallback=f"{call.peer} returned an error stream item.",
            secrets=call.secrets,
        )
    if frame.data is None:
        raise build_protocol_error(f"{call.peer} returned an empty stream item.")
    yield frame.data


async def _http_error(response: httpx.Response, call: Call, silence: Silence) -> PluginDaemonError:
    """Build the error of a reply with an error status, from the beginning of its body."""
    body = b""
    if not _is_packed(response):
        async for data in _iter_bytes(response, silence):
            body += data
            if len(body) > _MAX_ERROR_BODY_BYTES:
                break
    message, error_type = _read_error(body[:_MAX_ERROR_BODY_BYTES])
    return build_reported_error(
        message,
        error_type=error_type,
        fallback=f"{call.peer} stream request failed.",
        secrets=call.secrets,
        status_code=response.status_code,
    )


def _read_error(body: bytes) -> tuple[str, str | None]:
    """Return the message and the type of an error.

    Of an envelope, which the daemon also sends with error statuses, of Dify's API, or the body itself.
    """
    text = body.decode(errors="replace")
    try:
        frame = _parse_envelope(body)
    except ValueError:
        return _read_api_error(text)
    return (text if frame is None else frame.message or text), None


def _read_api_error(text: str) -> tuple[str, str | None]:
    """Return the message and the type of an error of Dify's API, which names it by a word; or else the text."""
    try:
        error: object = parse_json(text)
    except InvalidJsonError:
        return text, None
    match error:
        case {"code": str(code), "message": str(message)}:
            return message, code
        case _:
            return text, None
