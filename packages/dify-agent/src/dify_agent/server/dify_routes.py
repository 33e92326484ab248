"""Dify's own paths, `/runs…`, for the runs of this server.

Source: docs/contracts/dify-agent.md, C58 and C59; the routes of dify-agent 1.16.0, whose errors are FastAPI's.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent_server.executor import Executor, JsonObject, Problem, RequestRefusedError
from agent_server.http import (
    ProblemError,
    build_frame,
    find_runs,
    find_tenant,
    read_model,
    stream_events,
    to_problem,
)
from agent_server.runs import NewRun, RunNotFoundError, StoredEvent
from dify_agent.exceptions import DifyAgentError

from .dify_events import FIRST_CURSOR, format_cursor, parse_cursor, project_event, project_run
from .dify_requests import CancelRequest, DifyRunRequest
from .executor import AGENT


__all__ = [
    "build_dify_routes",
]

type _Handler = Callable[[Request], Awaitable[Response]]

_MOST_EVENTS: Final = 500
_PAGE: Final = 100


def build_dify_routes(executor: Executor) -> Sequence[Route]:
    """Return the routes that Dify's API calls.

    Args:
        executor: The executor that checks and runs the requests.
    """
    routes = _DifyRoutes(executor)
    return [
        Route("/runs", _like_fastapi(routes.create_run), methods=["POST"]),
        Route("/runs/{run_id}", _like_fastapi(routes.get_run)),
        Route("/runs/{run_id}/cancel", _like_fastapi(routes.cancel_run), methods=["POST"]),
        Route("/runs/{run_id}/events", _like_fastapi(routes.list_events)),
        Route("/runs/{run_id}/events/sse", _like_fastapi(routes.stream_events)),
    ]


class _QueryError(DifyAgentError, RequestRefusedError):
    """A fault of the request outside its body: where, and with which field."""

    def __init__(self, where: str, field: str, message: str) -> None:
        super().__init__(Problem(field=field, message=message))
        self.where = where


class _DifyRoutes:
    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def create_run(self, request: Request) -> Response:
        asked = await read_model(request, DifyRunRequest)
        # In a thread, because a large request would hold up the event loop.
        checked = await asyncio.to_thread(self._check, asked)
        new = NewRun(tenant=find_tenant(request), agent=AGENT, request=checked)
        run, _ = await find_runs(request).create(new)
        return JSONResponse(
            {"run_id": run.run_id, "status": "running"}, status_code=HTTPStatus.ACCEPTED
        )

    def _check(self, asked: DifyRunRequest) -> JsonObject:
        return self._executor.check(AGENT, asked.to_request())

    async def get_run(self, request: Request) -> Response:
        run = await find_runs(request).get(_run_id(request), tenant=find_tenant(request))
        return JSONResponse(project_run(run))

    async def cancel_run(self, request: Request) -> Response:
        asked = await read_model(request, CancelRequest, is_optional=True)
        run = await find_runs(request).cancel(
            _run_id(request), tenant=find_tenant(request), reason=asked.text
        )
        if run.status in {"succeeded", "failed"}:
            raise ProblemError(409, f"run already finished with status '{run.status}'")
        return JSONResponse({"run_id": run.run_id, "status": "cancelled"})

    async def list_events(self, request: Request) -> Response:
        after, limit = _read_cursor(request), _read_limit(request)
        events = await find_runs(request).read_events(
            _run_id(request), tenant=find_tenant(request), after=after, limit=limit
        )
        shown = [project_event(_run_id(request), event) for event in events]
        last = events[-1].number if events else after
        page = {
            "run_id": _run_id(request),
            "events": [each for each in shown if each is not None],
            "next_cursor": format_cursor(last) if last else FIRST_CURSOR,
        }
        return JSONResponse(page)

    async def stream_events(self, request: Request) -> Response:
        run_id = _run_id(request)

        def project(event: StoredEvent) -> bytes:
            shown = project_event(run_id, event)
            if shown is None:
                return b""
            return build_frame(json.dumps(shown).encode(), number=event.number, type_=shown["type"])

        return await stream_events(
            request, run_id, project, view="dify", after=_read_cursor(request)
        )


def _run_id(request: Request) -> str:
    return request.path_params["run_id"]


def _read_cursor(request: Request) -> int:
    """Return the number of the event after which a client wants events; the query overrides the header."""
    name = "after" if "after" in request.query_params else "Last-Event-ID"
    text = request.query_params.get("after") or request.headers.get(name) or FIRST_CURSOR
    try:
        return parse_cursor(text)
    except ValueError as error:
        where = "query" if name == "after" else "header"
        raise _QueryError(where, name, str(error)) from None


def _read_limit(request: Request) -> int:
    text = request.query_params.get("limit", str(_PAGE))
    # Measured first, because `int` is slow for a number of very many digits.
    if text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST_EVENTS)):
        limit = int(text)
        if 1 <= limit <= _MOST_EVENTS:
            return limit
    raise _QueryError("query", "limit", f"expected a number from 1 to {_MOST_EVENTS}")


def _like_fastapi(handler: _Handler) -> _Handler:
    """Answer the errors of a handler in the shape of FastAPI's."""

    @wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except RunNotFoundError:
            return _error(HTTPStatus.NOT_FOUND, "run not found", {})
        # Nobody is left to read an answer.
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the client reads the same shape
            problem = to_problem(error)
            where = error.where if isinstance(error, _QueryError) else "body"
            fields = [_detail(each, where) for each in problem.problems]
            return _error(problem.status, fields or problem.detail, problem.headers)

    return answer


def _error(status: int, detail: object, headers: Mapping[str, str]) -> Response:
    return JSONResponse({"detail": detail}, status_code=status, headers=dict(headers))


def _detail(problem: Problem, where: str) -> dict[str, Any]:
    steps = [] if problem.field == where else problem.field.split(".")
    loc = [int(step) if step.isdecimal() else step for step in steps]
    return {"type": "value_error", "loc": [where, *loc], "msg": problem.message}
