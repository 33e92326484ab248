"""What a request says."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request

from stream_text import parse_json

from ._errors import InputError, InputProblem


_MAX_BODY_BYTES = 4 * 1024 * 1024
_MAX_ID_CHARACTERS = 200


async def read_body(request: Request) -> bytes:
    """Return the body of a request that carries JSON.

    Raises:
        HTTPException: If it says to carry anything else, or is too large.
    """
    # Asked for by name: a page in a browser may send other types anywhere without being asked.
    media_type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise HTTPException(415, "expected Content-Type: application/json")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BODY_BYTES:
            raise HTTPException(413, f"expected a body of at most {_MAX_BODY_BYTES} bytes")
    return bytes(body)


def parse_body(body: bytes) -> tuple[Mapping[str, Any], str | None]:
    """Return the input's fields and the client's id for the run.

    Raises:
        InputError: If the body is anything but `{"input": {...}, "client_request_id": "..."}`, the latter optional.
    """
    try:
        value = parse_json(body.decode("utf-8-sig"))
    except ValueError:
        raise _refusal("body", "expected JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise _refusal("body", "expected a JSON object")
    fields = cast("dict[str, Any]", value)
    for name in fields:
        if name not in {"input", "client_request_id"}:
            raise _refusal(name, "expected to be absent; the agent's fields go inside input")
    if not isinstance(fields.get("input"), dict):
        raise _refusal("input", "expected a JSON object")
    return fields["input"], _read_id(fields.get("client_request_id"))


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
