"""What a request says."""

import asyncio
import base64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request

from stream_text import InvalidJsonError, parse_json

from ._agent import MOST_BYTES, MOST_FILES
from ._errors import InputError, InputProblem


_MAX_INPUT_BYTES = 4 * 1024 * 1024
_MAX_BODY_BYTES = _MAX_INPUT_BYTES + MOST_BYTES * 4 // 3  # files come as base64
_BODY_SECONDS = 30
_MAX_ID_CHARACTERS = 200


async def read_body(request: Request) -> bytes:
    """Return the body of a request that carries JSON.

    Raises:
        HTTPException: If it says to carry anything else, is too large, or does not come to its end.
        ClientDisconnect: If the client has gone.
    """
    # Asked for by name: a page in a browser may send other types anywhere without being asked.
    media_type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise HTTPException(415, "expected Content-Type: application/json")
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > _MAX_BODY_BYTES:
                    raise _too_large(_MAX_BODY_BYTES)
    except TimeoutError:
        raise HTTPException(408, f"expected the body within {_BODY_SECONDS} seconds") from None
    if len(body) > _MAX_INPUT_BYTES and b'"files"' not in body:
        raise _too_large(_MAX_INPUT_BYTES)
    return bytes(body)


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"expected a body of at most {most} bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a client asks for.

    Attributes:
        input: The input's fields.
        client_request_id: The client's id for the run.
        files: Contents by name.
    """

    input: Mapping[str, Any]
    client_request_id: str | None
    files: Mapping[str, bytes]


def parse_body(body: bytes) -> RunRequest:
    """Return what a body asks for.

    Raises:
        InputError: If the body is anything but `{"input": {...}, "client_request_id": "...", "files": [{"name": "...", "data": "<base64>"}]}`, the
            latter two optional.
    """
    try:
        value = parse_json(body.decode("utf-8-sig"))
    except InvalidJsonError as error:
        raise _refusal("body", f"expected JSON in UTF-8: {error}") from None
    except UnicodeDecodeError:
        raise _refusal("body", "expected JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise _refusal("body", "expected a JSON object")
    fields = cast("dict[str, Any]", value)
    for name in fields:
        if name not in {"input", "client_request_id", "files"}:
            raise _refusal(name, "expected to be absent; the agent's fields go inside input")
    if not isinstance(fields.get("input"), dict):
        raise _refusal("input", "expected a JSON object")
    return RunRequest(
        input=fields["input"],
        client_request_id=_read_id(fields.get("client_request_id")),
        files=_read_files(fields.get("files")),
    )


def _read_files(value: Any) -> Mapping[str, bytes]:
    if value is None:
        return {}
    if not isinstance(value, list):
        raise _refusal("files", "expected a list of objects with name and data")
    number_of_files = len(cast("list[Any]", value))
    if number_of_files > MOST_FILES:
        raise _refusal("files", f"expected at most {MOST_FILES} files, got {number_of_files}")
    files: dict[str, bytes] = {}
    for number, item in enumerate(cast("list[Any]", value)):
        match item:
            case {"name": str(name), "data": str(data), **rest} if not rest:
                if name in files:
                    raise _refusal(f"files[{number}].name", "expected another name than before")
                files[name] = _decode(data, number)
            case _:
                raise _refusal(f"files[{number}]", "expected an object with name and data")
    return files


def _decode(data: str, number: int) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        raise _refusal(f"files[{number}].data", "expected base64") from None


def _read_id(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and 0 < len(value) <= _MAX_ID_CHARACTERS and value.isprintable():
        return value
    raise _refusal(
        "client_request_id",
        f"expected a string of 1 to {_MAX_ID_CHARACTERS} characters that can be printed",
    )


def query_number(request: Request, name: str, *, default: int, least: int, most: int) -> int:
    """Return a number of the query.

    Raises:
        InputError: If it is none, or out of its range.
    """
    with suppress(ValueError):
        number = int(request.query_params.get(name, default))
        if least <= number <= most:
            return number
    raise _refusal(name, f"expected a number from {least} to {most}")


def wants_events(request: Request) -> bool:
    """Return whether the client asks for server-sent events by name; `*/*` does not."""
    types = (
        part.partition(";")[0].strip() for part in request.headers.get("Accept", "").split(",")
    )
    return "text/event-stream" in types


def _refusal(field: str, message: str) -> InputError:
    return InputError(InputProblem(field=field, message=message))
