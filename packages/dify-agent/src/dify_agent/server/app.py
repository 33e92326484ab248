"""The HTTP side of a server: ask for runs, follow them, stop them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypedDict, cast

import httpx
from pydantic import BaseModel
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dify_agent.exceptions import AgentRunValidationError
from dify_agent.protocol import CreateRunRequest, CreateRunResponse
from dify_agent.runtime.runner import validate_composition

from ._errors import FieldProblem, RequestError, RunNotFoundError
from ._http import (
    ApiKeyMiddleware,
    answer_http_error,
    answer_nobody,
    answer_request_error,
    parse_body,
    parse_event_number,
    read_json_body,
)
from ._runs import RunBook
from .engine import build_layer_providers, open_engine, open_storage
from .settings import LOOPBACK_HOSTS, ServerSettings


_DAEMON_TIMEOUT = httpx.Timeout(600, connect=10)


class _State(TypedDict):
    runs: RunBook


def build_app(settings: ServerSettings) -> Starlette:
    """Build the application.

    The database is opened here, so that what is wrong with it shows before anything is served, and closed when the application
    stops. The daemon's client is opened when the application starts.

    Raises:
        StorageError: If the database cannot be used, or its content was stored under another key or without one.
    """
    storage = open_storage(settings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[_State]:
        async with (
            # Not through a proxy of the environment: the daemon is part of the same installation, and the requests carry credentials.
            httpx.AsyncClient(timeout=_DAEMON_TIMEOUT, trust_env=False) as http_client,
            open_engine(settings, storage, http_client=http_client) as runs,
        ):
            yield {"runs": runs}

    routes = _Routes(settings)
    return Starlette(
        lifespan=lifespan,
        middleware=_build_middleware(settings),
        exception_handlers={
            HTTPException: answer_http_error,
            RequestError: answer_request_error,
            RunNotFoundError: answer_request_error,
            ClientDisconnect: answer_nobody,
        },
        routes=[
            Route("/health", routes.health),
            Route("/runs", routes.create_run, methods=["POST"]),
            Route("/runs/{run_id}", routes.get_run),
            Route("/runs/{run_id}/events", routes.stream_events),
            Route("/runs/{run_id}/cancel", routes.cancel_run, methods=["POST"]),
        ],
    )


def _build_middleware(settings: ServerSettings) -> list[Middleware]:
    if settings.api_key is not None:
        return [Middleware(ApiKeyMiddleware, api_key=settings.api_key)]
    # Without a key, only this stops a web page whose own name resolves to 127.0.0.1 (DNS rebinding).
    hosts = [f"[{host}]" if ":" in host else host for host in sorted(LOOPBACK_HOSTS)]
    return [Middleware(TrustedHostMiddleware, allowed_hosts=hosts)]


class _Routes:
    def __init__(self, settings: ServerSettings) -> None:
        self._max_request_bytes = settings.max_request_bytes
        self._keep_alive_seconds = settings.keep_alive_seconds
        self._layer_providers = build_layer_providers(settings)

    async def health(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def create_run(self, request: Request) -> Response:
        body = await read_json_body(request, max_bytes=self._max_request_bytes)
        create_request = parse_body(CreateRunRequest, body)
        try:
            validate_composition(create_request.composition, self._layer_providers)
        except AgentRunValidationError as error:
            field = _layer_field(create_request, error.layer)
            problem = FieldProblem(field=field, message=str(error))
            raise RequestError(
                422, "invalid_request", "The request is not valid.", [problem]
            ) from None
        run_id = await _runs(request).create(create_request)
        response = CreateRunResponse(run_id=run_id, status="queued")
        return _to_json(response, HTTPStatus.ACCEPTED)

    async def get_run(self, request: Request) -> Response:
        return _to_json(await _runs(request).get_status(request.path_params["run_id"]))

    async def cancel_run(self, request: Request) -> Response:
        return _to_json(await _runs(request).cancel(request.path_params["run_id"]))

    async def stream_events(self, request: Request) -> Response:
        run_id, after = request.path_params["run_id"], _last_event_number(request)
        runs = _runs(request)
        if not await runs.has_events_after(run_id, after):
            # Tells an EventSource that nothing more comes; it would otherwise reconnect for ever.
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return EventSourceResponse(
            _iter_frames(runs, run_id, after=after),
            ping=self._keep_alive_seconds,
            ping_message_factory=lambda: ServerSentEvent(comment="keep-alive"),
            sep="\n",
        )


def _layer_field(request: CreateRunRequest, layer: str | None) -> str:
    """Return where in a request the layer of a name stands."""
    names = [spec.name for spec in request.composition.layers]
    return "composition" if layer is None else f"composition.layers.{names.index(layer)}"


def _runs(request: Request) -> RunBook:
    return cast("_State", request.state)["runs"]


def _last_event_number(request: Request) -> int:
    """Return the number of the last event that the client has; the header is what a browser sends by itself."""
    if (header := request.headers.get("last-event-id")) is not None:
        return parse_event_number(header, field="Last-Event-ID")
    return parse_event_number(request.query_params.get("after", "0"), field="after")


async def _iter_frames(
    runs: RunBook, run_id: str, *, after: int
) -> AsyncGenerator[ServerSentEvent]:
    async for event in runs.iter_events(run_id, after=after):
        yield ServerSentEvent(event.data, event=event.type, id=str(event.sequence))


def _to_json(model: BaseModel, status: HTTPStatus = HTTPStatus.OK) -> Response:
    content = model.model_dump_json(exclude_none=True)
    return Response(content, status_code=status, media_type="application/json")
