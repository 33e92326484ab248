"""Errors as problem documents.

Source: https://www.rfc-editor.org/rfc/rfc9457, Problem Details for HTTP APIs.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import quote

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, ExceptionHandler, Message, Receive, Scope, Send

from agent_server.executor import JsonObject, Problem, RequestRefusedError, UnknownAgentError
from agent_server.logs import about
from agent_server.runs import (
    AnswerConflictError,
    DatabaseAwayError,
    IdempotencyConflictError,
    QueueFullError,
    RunActiveError,
    RunNotFoundError,
    SteerConflictError,
    TooManyWatchersError,
    TooMuchUnreadError,
)


PROBLEM_TYPE: Final = "application/problem+json"

_logger = logging.getLogger("agent_server")

_MOST_PROBLEMS: Final = 100  # More are not told.


class ProblemError(Exception):
    """A request that is answered with a problem document.

    Attributes:
        status: The HTTP status.
        detail: What is wrong, in a sentence; never a value of the request.
        problems: What is wrong, field by field.
        headers: More headers of the answer.
        code: The code of the Responses API; None for that of the status.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *problems: Problem,
        headers: Mapping[str, str] | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.problems = problems
        self.headers = headers or {}
        self.code = code


def dump_json(value: object) -> bytes:
    """Return a value as JSON in UTF-8; with escapes if a text holds unpaired surrogates, which UTF-8 cannot encode."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def refuse_field(field: str, message: str) -> ProblemError:
    """Return the error for a request with one wrong field."""
    return ProblemError(422, "The request is not valid.", Problem(field=field, message=message))


def refuse(
    field: str, message: str, *, code: str = "invalid_value", status: int = 422
) -> RequestRefusedError:
    """Return the error for a request with one wrong field, as executors raise it, too.

    Args:
        field: The field, in the form of the Responses API, such as `input[2].content`.
        message: What was expected; never the value.
        code: The code of the Responses API.
        status: The HTTP status under `/v1/runs`.
    """
    return RequestRefusedError(Problem(field=field, message=message), code=code, status=status)


def build_document(error: ProblemError) -> dict[str, Any]:
    """Return the problem document of an error."""
    document: dict[str, Any] = {
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.detail,
    }
    if error.problems:
        document["errors"] = [asdict(one) for one in error.problems]
    return document


def build_api_error(error: ProblemError) -> dict[str, Any]:
    """Return an error in the form of the Responses API.

    Source: recorded 400 and 404 bodies of the Responses API.
    """
    type_, code = _API_KINDS.get(error.status, ("invalid_request_error", None))
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        type_ = "server_error"
    message = str(RequestRefusedError(*error.problems)) or error.detail
    param = error.problems[0].field if error.problems else None
    return {
        "error": {"message": message, "type": type_, "param": param, "code": error.code or code}
    }


_API_KINDS: Final[Mapping[int, tuple[str, str]]] = {
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("permission_error", "insufficient_permissions"),
    404: ("invalid_request_error", "not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}
_API_PATHS: Final = ("/v1/responses", "/v1/models", "/v1/chat/completions")


class _Answer(Response):
    """An error's answer: a problem document, or what the Responses API says, by the path that was asked for."""

    def __init__(self, error: ProblemError) -> None:
        super().__init__(
            dump_json(build_document(error)),
            status_code=error.status,
            media_type=PROBLEM_TYPE,
            headers=error.headers,
        )
        self._error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not f"{scope['path']}/".startswith(tuple(f"{one}/" for one in _API_PATHS)):
            await super().__call__(scope, receive, send)
            return
        error = self._error
        is_invalid = error.status == HTTPStatus.UNPROCESSABLE_ENTITY
        await Response(
            dump_json(build_api_error(error)),
            # The API has no other status for it.
            status_code=HTTPStatus.BAD_REQUEST if is_invalid else error.status,
            media_type="application/json",
            headers=error.headers,
        )(scope, receive, send)


def build_problem(error: ProblemError) -> Response:
    """Return an error as a response: a problem document, or under the paths of the Responses API what that says."""
    return _Answer(error)


def find_problems(error: ValidationError, value: Any) -> Sequence[Problem]:
    """Return the problems that a pydantic model has found in a value, one for each field, without values."""
    problems: dict[str, str] = {}
    found = error.errors(include_url=False, include_context=False, include_input=False)
    for one in found[:_MOST_PROBLEMS]:
        field = ".".join(map(str, _find_path(one["loc"], value, one["type"]))) or "body"
        # Else it would tell the name of our class.
        is_object = one["type"] == "model_type"
        message = "expected an object" if is_object else one["msg"].removeprefix("Value error, ")
        problems.setdefault(field, message)
    return [Problem(field=field, message=message) for field, message in problems.items()]


def _find_path(loc: Sequence[str | int], value: Any, kind: str) -> Iterator[str | int]:
    """Yield the path of a problem within a value, without what pydantic has tried there: members of unions, and the mark of a wrong name."""
    for number, key in enumerate(loc, start=1):
        if isinstance(value, dict) and key in value:
            value = cast("JsonObject", value)[str(key)]
        elif isinstance(value, list) and isinstance(key, int):
            value = cast("list[Any]", value)[key]
        elif kind != "missing" or number < len(loc):
            continue
        yield key


def to_problem(error: Exception) -> ProblemError:
    """Return the problem that clients see for an error of any part."""
    match error:
        case ProblemError():
            return error
        case RequestRefusedError():
            detail = "The request is not valid."
            return ProblemError(error.status, detail, *error.problems, code=error.code)
        case UnknownAgentError():
            return refuse_field("agent", "expected the name of one of this server's agents")
        case IdempotencyConflictError():
            message = "expected a new key, for this one came before with another body"
            return refuse_field("Idempotency-Key", message)
        case HTTPException():
            headers = dict(error.headers or {})
            return ProblemError(error.status_code, f"{error.detail}.", headers=headers)
        case _:
            status, detail, seconds = _ANSWERS[type(error)]
            headers = {"Retry-After": str(seconds)} if seconds else {}
            return ProblemError(status, detail or str(error), headers=headers)


_ANSWERS: Final[Mapping[type[Exception], tuple[int, str, int]]] = {
    AnswerConflictError: (409, "", 0),
    SteerConflictError: (409, "", 0),
    RunActiveError: (409, "The run has not ended; cancel it first.", 0),
    RunNotFoundError: (404, "There is no such run.", 0),
    QueueFullError: (429, "Too many runs wait.", 10),
    TooManyWatchersError: (429, "Too many streams of events are open.", 10),
    TooMuchUnreadError: (429, "Other clients of this tenant have not read their answers.", 10),
    DatabaseAwayError: (503, "The database cannot be reached just now.", 2),
}


class LastResort:
    """A middleware that answers unexpected errors with a problem document, too, and logs them once.

    Args:
        app: The application that may fail.
        on_error: Called with each request that is answered with an error, and the status.
    """

    def __init__(self, app: ASGIApp, *, on_error: Callable[[Scope, int], None]) -> None:
        self._app = app
        self._on_error = on_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        has_begun = False

        async def follow(message: Message) -> None:
            nonlocal has_begun
            if not has_begun:
                has_begun = True
                if message.get("status", 0) >= HTTPStatus.BAD_REQUEST:
                    self._on_error(scope, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, follow)
        except Exception:
            # Too late for another answer.
            if has_begun:
                raise
            with about(request=f"{scope['method']} {quote(scope['path'])}"):
                _logger.exception("a request failed")
            error = ProblemError(500, "Something went wrong here; the server's log says what.")
            await build_problem(error)(scope, receive, follow)


async def _answer(_request: Request, error: Exception) -> Response:
    return build_problem(to_problem(error))


async def _answer_nobody(_request: Request, _error: Exception) -> Response:
    """Answer a client that disconnected while it was sending its request."""
    return Response(status_code=400)


HANDLERS: Final[Mapping[Any, ExceptionHandler]] = {
    **dict.fromkeys((ProblemError, RequestRefusedError, UnknownAgentError), _answer),
    **dict.fromkeys((IdempotencyConflictError, HTTPException, *_ANSWERS), _answer),
    ClientDisconnect: _answer_nobody,
}
"""The handler for each error that a route raises."""
