"""Dify's own paths, `/runs…`, for the runs of this server.

Source: docs/contracts/dify-agent.md, C58 and C59; the routes of dify-agent 1.16.0, whose errors are FastAPI's.
"""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from contextlib import aclosing, suppress
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_server.executor import Executor, RequestRefusedError
from agent_server.http import (
    ProblemError,
    build_frame,
    find_runs,
    find_tenant,
    read_json,
    read_model,
    require_start,
    stream_events,
)
from agent_server.runs import FINISHED, NewRun, Run, StoredEvent, TooManyWatchersError
from dify_agent._settings import DifyAgentSettings
from dify_agent.dify_versions import METADATA_KEY, DifyVersion
from dify_agent.server._executor import AGENT

from .answers import Answer, dump_json
from .bindings import build_binding_routes
from .events import FIRST_CURSOR, format_cursor, parse_cursor, project_event, project_run
from .model_parameters import add_model_parameters
from .problems import QueryError, like_fastapi
from .requests import CancelRequest, name_as_sent, read_run_request


_MOST_EVENTS: Final = 500
_CANCEL_SECONDS: Final = 3
_PAGE: Final = 100


def build_dify_routes(executor: Executor, settings: DifyAgentSettings) -> Sequence[Route]:
    """Return the routes that Dify's API calls.

    Args:
        executor: The executor that checks and runs the requests.
        settings: The version of Dify, whether requests are replayed, and what is added for models.
    """
    routes = _RunRoutes(executor, settings)
    return [
        Route("/runs", like_fastapi(routes.create_run), methods=["POST"]),
        Route("/runs/{run_id}", like_fastapi(routes.get_run)),
        Route("/runs/{run_id}/cancel", like_fastapi(routes.cancel_run), methods=["POST"]),
        Route("/runs/{run_id}/events", like_fastapi(routes.list_events)),
        Route("/runs/{run_id}/events/sse", like_fastapi(routes.stream_events)),
        *build_binding_routes(),
    ]


class _RunRoutes:
    def __init__(self, executor: Executor, settings: DifyAgentSettings) -> None:
        self._executor = executor
        text = settings.dify_version
        self._version = None if text is None else DifyVersion.parse(text)
        self._replays = settings.replay_requests
        self._parameters = settings.parameters_by_model

    async def create_run(self, request: Request) -> Response:
        require_start(request)
        body = [await read_json(request)]
        # In a thread, because a large request would hold up the event loop; and nobody keeps what it was made of.
        new = [await asyncio.to_thread(self._read, body.pop(), find_tenant(request))]
        run, _ = await find_runs(request).create(new.pop())
        answer = {"run_id": run.run_id, "status": "running"}
        return Answer(answer, status_code=HTTPStatus.ACCEPTED)

    def _read(self, body: Any, tenant: str) -> NewRun:
        asked = read_run_request(body)
        version = (self._version or asked.version).within_protocol_of(asked.version)
        key = asked.idempotency_key if self._replays else None
        if key is not None:
            # Dify gives one key to different requests, so the key alone does not tell them apart.
            text = json.dumps([key, body], sort_keys=True)
            key = hashlib.sha256(text.encode()).hexdigest()
        request = add_model_parameters(asked.to_request(version), self._parameters)
        try:
            request = self._executor.check(AGENT, request)
        except RequestRefusedError as error:
            raise name_as_sent(error, asked.places) from None
        return NewRun(
            tenant=tenant,
            agent=AGENT,
            request=request,
            metadata={METADATA_KEY: str(version)},
            idempotency_key=key,
        )

    async def get_run(self, request: Request) -> Response:
        run = await self._find(request)
        return Answer(project_run(run, self._version_of(run)))

    async def cancel_run(self, request: Request) -> Response:
        require_start(request)
        asked = await read_model(request, CancelRequest, is_optional=True)
        run = await find_runs(request).cancel(
            _run_id(request), tenant=find_tenant(request), reason=asked.text
        )
        if run.status not in FINISHED:
            # It may end by itself at the same moment; who is told that it is cancelled relies on it.
            run = await _await_end(request, run)
        if run.status in {"succeeded", "failed"}:
            raise ProblemError(409, f"run already finished with status '{run.status}'")
        return Answer({"run_id": run.run_id, "status": "cancelled"})

    async def list_events(self, request: Request) -> Response:
        after, limit = _read_cursor(request), _read_limit(request)
        run = await self._find(request)
        events = await find_runs(request).read_events(
            run.run_id, tenant=run.tenant, after=after, limit=limit
        )
        shown = [project_event(run.run_id, event, self._version_of(run)) for event in events]
        last = events[-1].number if events else after
        page = {
            "run_id": run.run_id,
            "events": [each for each in shown if each is not None],
            "next_cursor": format_cursor(last) if last else FIRST_CURSOR,
        }
        return Answer(page)

    async def stream_events(self, request: Request) -> Response:
        after = _read_cursor(request)
        run = await self._find(request)
        version = self._version_of(run)
        project = partial(_build_frame, run.run_id, version)
        return await stream_events(
            request, run.run_id, project, view=f"dify {version}", after=after
        )

    async def _find(self, request: Request) -> Run:
        return await find_runs(request).get(_run_id(request), tenant=find_tenant(request))

    def _version_of(self, run: Run) -> DifyVersion:
        return DifyVersion.of_run(run.metadata, self._version)


def _build_frame(run_id: str, version: DifyVersion, event: StoredEvent) -> bytes:
    shown = project_event(run_id, event, version)
    if shown is None:
        return b""
    return build_frame(dump_json(shown), number=event.number, type_=shown["type"])


async def _await_end(request: Request, run: Run) -> Run:
    """Return a run once it has ended; as it is then, if that takes longer than a few seconds, for instance because its server is gone."""
    runs = find_runs(request)
    events = runs.watch_events(run.run_id, tenant=run.tenant, after=run.last_event)
    with suppress(TimeoutError, TooManyWatchersError):
        async with asyncio.timeout(_CANCEL_SECONDS), aclosing(events) as batches:
            async for _ in batches:
                pass
    return await runs.get(run.run_id, tenant=run.tenant)


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
        raise QueryError(where, name, str(error)) from None


def _read_limit(request: Request) -> int:
    text = request.query_params.get("limit", str(_PAGE))
    # Measured first, because `int` is slow for a number of very many digits.
    if text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST_EVENTS)):
        limit = int(text)
        if 1 <= limit <= _MOST_EVENTS:
            return limit
    raise QueryError("query", "limit", f"expected a number from 1 to {_MOST_EVENTS}")
