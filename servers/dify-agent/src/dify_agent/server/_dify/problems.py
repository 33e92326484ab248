"""Errors in the shape of FastAPI's, which Dify's API reads."""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from agent_server.executor import Problem, RequestRefusedError
from agent_server.http import to_problem
from agent_server.runs import RunNotFoundError
from dify_agent.exceptions import DifyAgentError

from .answers import Answer


type Handler = Callable[[Request], Awaitable[Response]]
"""A function that answers a request."""


class QueryError(DifyAgentError, RequestRefusedError):
    """A fault of the request outside its body: where, and with which field."""

    def __init__(self, where: str, field: str, message: str) -> None:
        super().__init__(Problem(field=field, message=message))
        self.where = where


class CodedError(DifyAgentError):
    """An error with a code that Dify's API knows.

    Attributes:
        status: The HTTP status.
        detail: The code and a sentence.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.detail = {"code": code, "message": message}


def like_fastapi(handler: Handler) -> Handler:
    """Answer the errors of a handler in the shape of FastAPI's."""

    @wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except RunNotFoundError:
            return _error(HTTPStatus.NOT_FOUND, "run not found", {})
        except CodedError as error:
            return _error(error.status, error.detail, {})
        # Nobody is left to read an answer.
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001 - what nobody expected is raised again
            try:
                problem = to_problem(error)
            except KeyError:  # Nobody expected it; the server logs it.
                raise error from None
            where = error.where if isinstance(error, QueryError) else "body"
            fields = [_detail(each, where) for each in problem.problems]
            return _error(problem.status, fields or problem.detail, problem.headers)

    return answer


def _error(status: int, detail: object, headers: Mapping[str, str]) -> Response:
    return Answer({"detail": detail}, status_code=status, headers=dict(headers))


def _detail(problem: Problem, where: str) -> dict[str, Any]:
    steps = [] if problem.field == where else problem.field.split(".")
    loc = [int(step) if step.isdecimal() else step for step in steps]
    return {"type": "value_error", "loc": [where, *loc], "msg": problem.message}
