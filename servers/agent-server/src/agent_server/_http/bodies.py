"""Request bodies, within limits of size and time."""

import asyncio
import re
from codecs import BOM_UTF8
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request

from agent_server.executor import RequestRefusedError
from agent_server.settings import ServerSettings
from stream_text import LARGE_TEXT, InvalidJsonError, dump_json, parse_json

from .problems import ProblemError, find_problems, refuse_field


# Work on more than this may take longer than others should wait: a schema of this size takes a tenth of a second.
_SMALL_BODY: Final = 4096
# Few at a time: threads that hold the interpreter keep the event loop waiting, each for some milliseconds.
_LARGE: Final = ThreadPoolExecutor(2, thread_name_prefix="agent-server-body")
# Our choice: a value takes up to a hundred bytes once it is parsed, and a name that comes once up to two hundred. 160,000 messages are within both.
_MOST_VALUES: Final = 850_000
_MOST_NAMES: Final = 525_000
_WINDOW: Final = 64 * 1024
# Our choice, more than any model reads. One such character has a text take up to four times its bytes, and many take three times theirs where they are stored.
_MOST_WIDE: Final = 8 * 1024 * 1024
_TEXT: Final = re.compile(rb'"[^"]*+"?')
_WIDE: Final = re.compile(rb"[\x80-\xff]+")
_ASTRAL: Final = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")


async def read_as[Result](
    request: Request, read: Callable[[bytes], Result], *, is_optional: bool = False
) -> Result:
    """Return what a request's body says, which must be declared as JSON; nothing is kept of the body.

    Args:
        request: The request.
        read: Reads the body, as `work_on_body` has it done.
        is_optional: Whether there may be no body, for which an empty object is read.

    Raises:
        ProblemError: If it is not declared as JSON (415), is larger than the settings allow (413), or does not arrive in time (408).
        ClientDisconnect: If the client has gone.
    """
    settings: ServerSettings = request.app.state.settings
    is_typed = is_json(request.headers)
    may_be_none = is_optional and not request.headers.get("content-type", "").strip()
    body = await _read_body(request, settings) if is_typed or may_be_none else b""
    # Required by name: a page in a browser may send some other types to any server without asking.
    if not is_typed and (body or not may_be_none):
        raise ProblemError(415, "Expected 'Content-Type: application/json'.")
    if is_optional and not body:
        body = b"{}"
    return await work_on_body(len(body), read, body)


def is_json(headers: Headers) -> bool:
    """Return whether headers declare a body as JSON."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


async def work_on_body[*Args, Result](
    size: int, work: Callable[[*Args], Result], *arguments: *Args
) -> Result:
    """Do work on a body and return its result; for a large body in a thread, so that others are answered meanwhile.

    Args:
        size: The size of the body in bytes.
        work: Does it.
        arguments: Its arguments.
    """
    if size <= _SMALL_BODY:
        return work(*arguments)
    pool = _LARGE if size > LARGE_TEXT else None
    return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)


def parse_body(body: bytes) -> Any:
    """Return the JSON of a body.

    Raises:
        ProblemError: If it is not JSON (422), or has too many values or too much of what is not ASCII (413).
    """
    _check_values(body)
    _check_texts(body)
    try:
        return parse_json(_decode(body))
    except UnicodeDecodeError:
        raise refuse_field("body", "expected JSON in UTF-8") from None
    except InvalidJsonError as error:
        raise refuse_field("body", f"expected JSON: {error}") from None


def _check_values(body: bytes) -> None:
    """Refuse a body with so many values that to parse it would hold up all others, and take many times its size."""
    if _count_values(body) <= _MOST_VALUES and body.count(b":") <= _MOST_NAMES:
        return  # Even with all that only stands in texts, as nearly always.
    values = names = 0
    bare, is_text = _strip_escaped(body), False
    for first in range(0, len(bare), _WINDOW):
        pieces = bare[first : first + _WINDOW].split(b'"')
        outside = b" ".join(pieces[is_text::2])
        is_text ^= len(pieces) % 2 == 0
        values, names = values + _count_values(outside), names + outside.count(b":")
        if values > _MOST_VALUES or names > _MOST_NAMES:
            limits = f"{_MOST_VALUES:,} values, objects counted twice, and {_MOST_NAMES:,} names"
            raise ProblemError(413, f"Expected a body of at most {limits}.")


def _check_texts(body: bytes) -> None:
    """Refuse a large body that would take many times its size, parsed or stored, by texts that are not ASCII."""
    if len(body) <= _MOST_WIDE or not _is_wide(body):
        return
    texts = (found[0] for found in _TEXT.finditer(_strip_escaped(body)))
    if sum(len(text) for text in texts if _is_wide(text)) > _MOST_WIDE:
        expected = f"at most {_MOST_WIDE:,} bytes of texts with characters that are not ASCII"
        raise ProblemError(413, f"Expected a body of {expected}.")


def _is_wide(text: bytes) -> bool:
    return not text.isascii() or rb"\ud" in text or rb"\uD" in text


def _strip_escaped(body: bytes) -> bytes:
    """Return a body without what is escaped: quotes are where texts begin and end."""
    return body.replace(rb"\\", b"  ").replace(rb"\"", b"  ")


def _decode(body: bytes) -> str:
    """Return the text of a body. Few astral characters are escaped, or else Python would take four bytes for each of all the others."""
    if 0 < sum(map(body.count, _ASTRAL)) < len(body) // 6:
        body = _WIDE.sub(_escape, body.removeprefix(BOM_UTF8))
    return body.decode("utf-8-sig")


def _escape(found: re.Match[bytes]) -> bytes:
    if found.string[found.start() - 1 : found.start()] == b"\\":
        return found[0]  # Perhaps an escape that JSON does not know.
    return dump_json(found[0].decode())[1:-1].encode()


def _count_values(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + 2 * text.count(b"{")


async def read_json(request: Request, *, is_optional: bool = False) -> Any:
    """Return the JSON of a request's body.

    Args:
        request: The request.
        is_optional: Whether there may be no body, for which an empty object is returned.

    Raises:
        ProblemError: If there is no such body; see `read_as` and `parse_body`.
        ClientDisconnect: If the client has gone.
    """
    return await read_as(request, parse_body, is_optional=is_optional)


async def read_model[Model: BaseModel](
    request: Request, model: type[Model], *, is_optional: bool = False
) -> Model:
    """Return the model that a request's body describes.

    Args:
        request: The request.
        model: The model; JSON's types are taken strictly, so a text is not a number.
        is_optional: Whether there may be no body, which counts as an empty object.

    Raises:
        ProblemError: If there is no such JSON; see `read_json`.
        RequestRefusedError: If the model refuses it; the problems name fields, never values.
        ClientDisconnect: If the client has gone.
    """
    return await read_as(
        request, lambda body: build_model(model, parse_body(body)), is_optional=is_optional
    )


def build_model[Model: BaseModel](model: type[Model], value: Any) -> Model:
    """Return the model that a value describes.

    Raises:
        RequestRefusedError: If the model refuses it.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise RequestRefusedError(*find_problems(error, value)) from None


async def _read_body(request: Request, settings: ServerSettings) -> bytes:
    maximum = settings.max_request_bytes
    too_large = ProblemError(413, f"Expected a body of at most {maximum} bytes.")
    if int(request.headers.get("content-length", 0)) > maximum:
        raise too_large  # Before a client that waits for `100 Continue` sends it.
    body = bytearray()
    try:
        async with asyncio.timeout(settings.client_seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > maximum:
                    # The connection stays open, since a client that is still sending would not read the
                    # answer otherwise; what it sends is thrown away for some seconds.
                    raise too_large
    except TimeoutError:
        detail = f"Expected the body within {settings.client_seconds:g} seconds."
        raise ProblemError(408, detail, headers={"Connection": "close"}) from None
    return bytes(body)
