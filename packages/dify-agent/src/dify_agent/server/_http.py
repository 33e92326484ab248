"""What every answer of the server has in common: who may ask, how much, and how errors look."""

import asyncio
import secrets
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, cast

from pydantic import BaseModel, SecretStr, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ._errors import FieldProblem, RequestError, RunNotFoundError


_MOST_DIGITS = 15  # More than any run has events; unbounded numbers are slow to read.

_BODY_SECONDS = 30

_MOST_CHARACTERS = 1000
_MOST_DETAILS = 100  # A small body can be wrong in a million places.


class ApiKeyMiddleware:
    """A guard that answers 401 to whoever does not send the server's key."""

    def __init__(self, app: ASGIApp, *, api_key: SecretStr) -> None:
        self._app = app
        self._api_key = api_key.get_secret_value().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if it carries the key."""
        if scope["type"] != "http" or self._is_allowed(Request(scope)):
            await self._app(scope, receive, send)
            return
        message = "Expected the server's key as 'Authorization: Bearer …' or 'X-Api-Key: …'."
        response = build_error_response(RequestError(401, "unauthorized", message))
        response.headers["WWW-Authenticate"] = "Bearer"
        await response(scope, receive, send)

    def _is_allowed(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        sent = token.strip() if scheme.lower() == "bearer" else request.headers.get("x-api-key", "")
        return secrets.compare_digest(sent.encode(), self._api_key)


async def read_json_body(request: Request, *, max_bytes: int) -> bytes:
    """Return the body of a request, which must be JSON and not too large.

    Raises:
        RequestError: If it is not declared as JSON, is larger than allowed, or does not come to its end.
        ClientDisconnect: If the client has gone.
    """
    # A browser sends no cross-site request of this type without asking first, so no page can start runs.
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise RequestError(
            415, "unsupported_media_type", "Expected 'Content-Type: application/json'."
        )
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > max_bytes:
                    message = f"Expected a body of at most {max_bytes} bytes."
                    raise RequestError(413, "request_too_large", message)
    except TimeoutError:
        message = f"Expected the body within {_BODY_SECONDS} seconds."
        raise RequestError(408, "request_timeout", message) from None
    return bytes(body)


def parse_body[ModelT: BaseModel](model: type[ModelT], body: bytes) -> ModelT:
    """Return the model that a body describes.

    Raises:
        RequestError: If it does not; the details name the fields, but never a value.
    """
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise RequestError(
            422, "invalid_request", "The request is not valid.", _field_problems(error)
        ) from None


def parse_event_number(text: str, *, field: str) -> int:
    """Return the number of the event that a client has, 0 for none.

    Raises:
        RequestError: If it is not a whole number of at least 0.
    """
    if not (text.isascii() and text.isdecimal()) or len(text) > _MOST_DIGITS:
        message = "Expected the number of an event, or 0."
        problem = FieldProblem(field=field, message=message)
        raise RequestError(422, "invalid_request", "The request is not valid.", [problem])
    return int(text)


def build_error_response(error: RequestError) -> Response:
    """Return the answer to a request that cannot be fulfilled."""
    content: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details:
        content["details"] = [
            {"field": _cut(detail.field), "message": _cut(detail.message)}
            for detail in error.details
        ]
    return JSONResponse({"error": content}, status_code=error.status_code)


def _cut(text: str) -> str:
    """Return a text that quotes names of the request, of which one alone may be as long as the request."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


async def answer_request_error(_request: Request, error: Exception) -> Response:
    """Answer a `RequestError` or `RunNotFoundError` that a handler raised."""
    if isinstance(error, RunNotFoundError):
        return build_error_response(RequestError(404, "run_not_found", str(error)))
    return build_error_response(cast("RequestError", error))


async def answer_http_error(_request: Request, error: Exception) -> Response:
    """Answer a request for a path or a method that there is not."""
    refused = cast("HTTPException", error)
    code = HTTPStatus(refused.status_code).name.lower()
    response = build_error_response(RequestError(refused.status_code, code, refused.detail))
    response.headers.update(refused.headers or {})
    return response


async def answer_nobody(_request: Request, _error: Exception) -> Response:
    """Answer a client that has gone while it was sending its request."""
    return Response(status_code=HTTPStatus.BAD_REQUEST)


def _field_problems(error: ValidationError) -> Sequence[FieldProblem]:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        FieldProblem(
            field=".".join(map(str, problem["loc"])) or "body",
            message=problem["msg"].removeprefix("Value error, "),
        )
        for problem in problems[:_MOST_DETAILS]
    ]
