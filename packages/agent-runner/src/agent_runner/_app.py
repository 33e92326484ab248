"""The HTTP face of a run engine."""

import asyncio
import hmac
import json
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ._agent import read_folder
from ._engine import LAST_EVENT, RunEngine
from ._errors import (
    ConfigurationError,
    InputError,
    InputProblem,
    QueueFullError,
    ReusedIdError,
)
from ._record import RunRecord
from ._request import parse_body, query_number, read_body, wants_events


_PAGE = 20
_MAX_PAGE = 100
_MAX_OFFSET = 1_000_000
_PRUNE_SECONDS = 600
_MOST_PROBLEMS = 100  # A small body can be wrong in a million places.
_BUSY_SECONDS = 10  # after which it is worth trying again

_logger = logging.getLogger("agent_runner")


def build_app(engine: RunEngine, *, api_key: str | None, hosts: list[str]) -> Starlette:
    """Return the ASGI application for an open engine.

    Args:
        engine: What runs and remembers.
        api_key: What clients must send as bearer token; None to ask for nothing.
        hosts: Names by which the server may be called; `*` for any.
    """
    endpoints = _Endpoints(engine)
    return Starlette(
        routes=[
            Route("/agents", endpoints.agents),
            Route("/agents/{agent}/runs", endpoints.create, methods=["POST"]),
            Route("/agents/{agent}/runs", endpoints.history),
            Route("/runs/{run_id:uuid}", endpoints.run),
            Route("/runs/{run_id:uuid}/events", endpoints.events),
            Route("/runs/{run_id:uuid}/cancel", endpoints.cancel, methods=["POST"]),
        ],
        middleware=[
            # A page in a browser here must not reach a local server by a name of its own.
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
            Middleware(_BearerToken, api_key=api_key),
        ],
        exception_handlers={
            HTTPException: _http_problem,
            InputError: _input_problem,
            ConfigurationError: _configuration_problem,
            QueueFullError: _busy_problem,
            ReusedIdError: _reuse_problem,
            ClientDisconnect: _gone,
        },
        lifespan=endpoints.lifespan,
    )


class _Json(JSONResponse):
    def render(self, content: Any) -> bytes:
        """Write ASCII: a script may print halves of surrogate pairs, which UTF-8 has no bytes for."""
        return json.dumps(content).encode()


class _Endpoints:
    """What is answered to each request."""

    def __init__(self, engine: RunEngine) -> None:
        self._engine = engine

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncGenerator[None]:
        """Delete runs that are too old, every ten minutes, within the context."""
        pruning = asyncio.create_task(_prune(self._engine))
        try:
            yield
        finally:
            pruning.cancel()
            await asyncio.wait({pruning})

    async def agents(self, _: Request) -> Response:
        """Return the agents with the schema of the input of each."""
        agents = [
            {"name": name, "input_schema": read_folder(folder).input_schema}
            for name, folder in self._engine.agents.items()
        ]
        return _Json({"agents": agents})

    async def create(self, request: Request) -> Response:
        """Accept a run; answer with its events if the client asks for them, otherwise with the run at once."""
        agent = self._agent(request)
        asked = parse_body(await read_body(request))
        try:
            run, is_new = await self._engine.submit(
                agent, asked.input, asked.client_request_id, asked.files
            )
        except InputError as error:
            raise InputError(*map(_within_body, error.problems)) from error
        headers = {"Location": f"/runs/{run.run_id}"}
        if wants_events(request):
            return self._stream(run, headers=headers)
        return _Json(run.to_dict(), status_code=202 if is_new else 200, headers=headers)

    async def history(self, request: Request) -> Response:
        """Return a page of an agent's runs, newest first."""
        agent = self._agent(request)
        limit = query_number(request, "limit", default=_PAGE, least=1, most=_MAX_PAGE)
        offset = query_number(request, "offset", default=0, least=0, most=_MAX_OFFSET)
        runs = await self._engine.history(agent, limit=limit + 1, offset=offset)
        return _Json(
            {
                "runs": [run.to_dict() for run in runs[:limit]],
                "next_offset": offset + limit if len(runs) > limit else None,
            }
        )

    async def run(self, request: Request) -> Response:
        """Return a run and its outputs up to now."""
        run = await self._find(request)
        return _Json(run.to_dict() | {"outputs": await self._engine.outputs(run)})

    async def events(self, request: Request) -> Response:
        """Return a run's events to its end, from its start or after the event that the client saw last."""
        run = await self._find(request)
        last = request.headers.get("Last-Event-ID", "")
        if last == LAST_EVENT:
            # Tells an EventSource not to come back.
            return Response(status_code=204)
        return self._stream(run, after=last)

    async def cancel(self, request: Request) -> Response:
        """End a run."""
        run = await self._find(request)
        await self._engine.cancel(run)
        return _Json((await self._find(request)).to_dict())

    def _agent(self, request: Request) -> str:
        agent = request.path_params["agent"]
        if agent not in self._engine.agents:
            raise HTTPException(404, "no such agent")
        return agent

    async def _find(self, request: Request) -> RunRecord:
        run = await self._engine.find(str(request.path_params["run_id"]))
        if run is None:
            raise HTTPException(404, "no such run")
        return run

    def _stream(
        self, run: RunRecord, *, after: str = "", headers: Mapping[str, str] | None = None
    ) -> Response:
        return EventSourceResponse(self._frames(run, after), headers=headers, sep="\n")

    async def _frames(self, run: RunRecord, after: str) -> AsyncGenerator[ServerSentEvent]:
        async with aclosing(self._engine.events(run, after=after)) as events:
            async for event in events:
                yield ServerSentEvent(data=json.dumps(event.data), id=event.id or None, sep="\n")


def _within_body(problem: InputProblem) -> InputProblem:
    """Return a problem of the input with its field's path in the request."""
    is_outside = problem.field in {"input", "files"} or problem.field.startswith("files[")
    field = problem.field if is_outside else f"input.{problem.field}"
    return InputProblem(field=field, message=problem.message)


class _BearerToken:
    """A middleware that refuses every request without the server's key as bearer token."""

    def __init__(self, app: ASGIApp, api_key: str | None) -> None:
        self._app = app
        self._expected = None if api_key is None else f"Bearer {api_key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app if self._is_authorized(scope) else _unauthorized
        await app(scope, receive, send)

    def _is_authorized(self, scope: Scope) -> bool:
        if self._expected is None or scope["type"] != "http":
            return True
        given = dict(scope["headers"]).get(b"authorization", b"")
        return hmac.compare_digest(given, self._expected)


async def _unauthorized(scope: Scope, receive: Receive, send: Send) -> None:
    response = _problem(401, "expected the server's key as bearer token")
    response.headers["WWW-Authenticate"] = "Bearer"
    await response(scope, receive, send)


async def _prune(engine: RunEngine) -> None:
    while True:
        try:
            await engine.prune()
        except Exception:  # pragma: no cover - a database that fails just now
            _logger.exception("old runs could not be deleted; trying again later")
        await asyncio.sleep(_PRUNE_SECONDS)


def _http_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for these only
    response = _problem(error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


def _input_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, InputError)  # noqa: S101 - registered for these only
    told = InputError(*error.problems[:_MOST_PROBLEMS])
    problems = [{"field": one.field, "message": one.message} for one in told.problems]
    return _problem(422, str(told), problems=problems)


def _configuration_problem(_: Request, error: Exception) -> Response:
    # The owner's business: it may name folders.
    _logger.error("%s", error)
    return _problem(500, "the agent cannot be run as it is set up")


def _busy_problem(_: Request, __: Exception) -> Response:
    response = _problem(503, "too many runs wait; try again later")
    response.headers["Retry-After"] = str(_BUSY_SECONDS)
    return response


def _reuse_problem(_: Request, __: Exception) -> Response:
    return _problem(
        409,
        "client_request_id: expected a new one, because this one belongs to a run with another input",
    )


def _gone(_: Request, __: Exception) -> Response:
    return Response(status_code=400)  # Nobody is there to read it.


def _problem(status: int, detail: str, **fields: Any) -> _Json:
    """Return an error as a client's library reads it.

    Source: https://www.rfc-editor.org/rfc/rfc9457, Problem Details for HTTP APIs.
    """
    return _Json(
        {"status": status, "detail": detail} | fields,
        status_code=status,
        media_type="application/problem+json",
    )
