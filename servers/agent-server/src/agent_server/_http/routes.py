"""The routes of every server: `/v1`, health and metrics."""

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent_server._engine.gathering import beside
from agent_server.executor import Executor
from agent_server.runs import FINISHED, RESTING, NewRun, Runs
from agent_server.settings import DEFAULT_TENANT
from stream_text import LARGE_TEXT

from .access import find_caller, find_tenant, require_right_to, require_start
from .bodies import build_model, parse_body, read_as, read_model
from .documents import (
    AnswerRequest,
    CancelRequest,
    RunRequest,
    SteerRequest,
    describe_run,
    dump_events,
)
from .metrics import METRICS_TYPE, render_metrics
from .openapi import build_description
from .problems import ProblemError, dump_json, refuse_field
from .queries import read_events_query, read_runs_query, wants_stream
from .streams import EventStream, Project, find_watchers, project_event, share_frames, watch_run
from .unread import Answer, building


_MAX_KEY: Final = 255


def build_routes() -> Sequence[BaseRoute]:
    """Return the routes that every server has."""
    return [
        Route("/health", answer_health),
        Route("/ready", answer_ready),
        Route("/metrics", answer_metrics),
        Route("/openapi.json", answer_description),
        Route("/v1/agents", list_agents),
        Route("/v1/runs", answer_runs, methods=["GET", "POST"]),
        Route("/v1/runs/{run_id}", get_run),
        Route("/v1/runs/{run_id}/cancel", cancel_run, methods=["POST"]),
        Route("/v1/runs/{run_id}/input", answer_run, methods=["POST"]),
        Route("/v1/runs/{run_id}/events", read_events),
    ]


async def answer_health(_request: Request) -> Response:
    """Answer that the process is alive."""
    return to_json({"status": "ok"})


async def answer_ready(request: Request) -> Response:
    """Answer whether runs can be accepted and executed."""
    if request.app.state.is_ending:
        raise ProblemError(503, "The server is about to stop.", headers={"Retry-After": "2"})
    await find_runs(request).ping()
    return to_json({"status": "ready"})


async def answer_metrics(request: Request) -> Response:
    """Return metrics: those of the server to the operator, those of its own runs to a tenant."""
    tenant = find_tenant(request)
    of = None if tenant == DEFAULT_TENANT else tenant
    figures, refused = find_runs(request).statistics(tenant=of), request.app.state.refusals.of(of)
    content = render_metrics(figures, refused, with_process=of is None)
    return Response(content, headers={"Content-Type": METRICS_TYPE})


async def answer_description(request: Request) -> Response:
    """Return the OpenAPI description."""
    executor = _executor(request)
    return to_json(
        build_description(
            executor.name,
            [one.name for one in executor.agents()],
            paths=request.app.state.described,
        )
    )


async def list_agents(request: Request) -> Response:
    """Return the agents that can be run."""
    agents = _executor(request).agents()
    return to_json(
        {"agents": [{"name": one.name, "input_schema": one.input_schema} for one in agents]}
    )


async def answer_runs(request: Request) -> Response:
    """Create a run, or list runs."""
    # One route for both, so that the answer to any other method names both.
    return await (create_run if request.method == "POST" else list_runs)(request)


async def create_run(request: Request) -> Response:
    """Create a run, or return the one that was created under the same idempotency key."""
    require_start(request)
    about = (_executor(request), find_tenant(request), read_idempotency_key(request))
    # Taken out again: it may be of megabytes, which nobody needs while it is stored.
    new = [await read_as(request, partial(_build_run, *about))]
    run, is_new = await find_runs(request).create(new.pop())
    return to_json(
        describe_run(run),
        HTTPStatus.ACCEPTED if is_new else HTTPStatus.OK,
        headers={"Location": f"/v1/runs/{run.run_id}"},
    )


def _build_run(executor: Executor, tenant: str, key: str | None, body: bytes) -> NewRun:
    value = parse_body(body)
    asked = build_model(RunRequest, value)
    agent = asked.agent
    if agent is None:
        names = [one.name for one in executor.agents()]
        if len(names) != 1:
            raise refuse_field("agent", "expected the name of one of this server's agents")
        agent = names[0]
    rest = {name: member for name, member in value.items() if name not in RunRequest.model_fields}
    checked = executor.check(agent, rest)
    return NewRun(
        tenant=tenant,
        agent=agent,
        request=checked,
        metadata=asked.metadata,
        idempotency_key=key,
        fingerprint="" if key is None else _build_fingerprint(body, value, agent),
    )


def _build_fingerprint(body: bytes, value: Any, agent: str) -> str:
    """Return a digest of a body. In a small one the order of members does not matter; sorting a large one would keep other requests waiting."""
    if len(body) <= LARGE_TEXT:
        text = json.dumps({**value, "agent": agent}, sort_keys=True, separators=(",", ":"))
        body = text.encode()
    return hashlib.sha256(body).hexdigest()


async def list_runs(request: Request) -> Response:
    """Return a page of the tenant's runs."""
    query = read_runs_query(request)
    async with building(request):
        page = await find_runs(request).list(
            query.to_filter(), tenant=find_tenant(request), limit=query.limit, cursor=query.cursor
        )
        found = [describe_run(run) for run in page.runs]
        listed = {"runs": found, "next_cursor": page.next_cursor}
        return await beside(listed, to_json, listed)


async def get_run(request: Request) -> Response:
    """Return a run."""
    async with building(request):
        run = await find_runs(request).get(_run_id(request), tenant=find_tenant(request))
        described = describe_run(run)
        return await beside(described, to_json, described)


async def cancel_run(request: Request) -> Response:
    """Cancel a run."""
    require_start(request)
    asked = await read_model(request, CancelRequest, is_optional=True)
    run = await find_runs(request).cancel(
        _run_id(request), tenant=find_tenant(request), reason=asked.reason
    )
    return to_json(
        describe_run(run), HTTPStatus.OK if run.status in FINISHED else HTTPStatus.ACCEPTED
    )


async def answer_run(request: Request) -> Response:
    """Give a run what it waits for, or tell one under way something: 202, or 200 if the same came before."""
    asked = await read_as(request, _read_input)
    runs, run_id, tenant = find_runs(request), _run_id(request), find_tenant(request)
    if isinstance(asked, SteerRequest):
        require_start(request)
        key = read_idempotency_key(request)
        run, is_new = await runs.steer(run_id, asked.steer, tenant=tenant, key=key)
    else:
        given = asked.to_answer(find_caller(request).key)
        require_right_to(request, given.answer)
        run, is_new = await runs.answer(run_id, given, tenant=tenant)
    return to_json(describe_run(run), HTTPStatus.ACCEPTED if is_new else HTTPStatus.OK)


def _read_input(body: bytes) -> AnswerRequest | SteerRequest:
    value = parse_body(body)
    is_message = isinstance(value, dict) and "steer" in value
    return build_model(SteerRequest if is_message else AnswerRequest, value)


async def read_events(request: Request) -> Response:
    """Return a page of a run's events, or a stream if the client accepts one."""
    if wants_stream(request):
        return await stream_events(request, _run_id(request), project_event, view="v1")
    query = read_events_query(request)
    runs, run_id, tenant = find_runs(request), _run_id(request), find_tenant(request)
    async with building(request):
        run = await runs.get(run_id, tenant=tenant)
        events = await runs.read_events(run_id, tenant=tenant, after=query.after, limit=query.limit)
        content = dump_events(
            events, after=query.after, last_event=run.last_event, is_over=run.status in FINISHED
        )
    return Answer(content, media_type="application/json")


async def stream_events(
    request: Request, run_id: str, project: Project, *, view: str, after: int | None = None
) -> Response:
    """Return a stream of a run's events after the last that the client has; 204 if it has seen all of them.

    Args:
        request: A request whose header `Last-Event-ID`, or query `after`, has the number of the last event that the client has.
        run_id: The run.
        project: Returns the frames of an event.
        view: The name of that form, `v1` for the server's own: streams of a run with the same name share their frames.
        after: The number of the last event that the client has, if the request says it in another way; None to read it from the request.

    Raises:
        RunNotFoundError: If the tenant has no such run.
        TooManyWatchersError: If the limit of streams is reached.
    """
    if after is None:
        after = read_events_query(request).after
    runs, tenant = find_runs(request), find_tenant(request)
    run = await runs.get(run_id, tenant=tenant)
    if run.status in RESTING and after == run.last_event:
        # Tells an EventSource that no more will come by itself; otherwise it would reconnect for ever.
        return Response(status_code=HTTPStatus.NO_CONTENT)
    if run.status in RESTING:
        # A client that claims to have more events than there are still gets the last.
        after = min(after, run.last_event - 1)
    # Nobody would read the stream.
    if request.method == "HEAD":
        return Response(media_type=EventStream.media_type)
    return EventStream(
        share_frames(watch_run(runs, run_id, tenant=tenant, after=after), project, view=view),
        tenant=tenant,
        watchers=find_watchers(request),
    )


def find_runs(request: Request) -> Runs:
    """Return the runs of a request's server."""
    return request.app.state.runs


def _executor(request: Request) -> Executor:
    return request.app.state.executor


def _run_id(request: Request) -> str:
    return request.path_params["run_id"]


def read_idempotency_key(request: Request) -> str | None:
    """Return the `Idempotency-Key` of a request; None if it has none.

    Raises:
        ProblemError: If it has another form.
    """
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= _MAX_KEY and key.isascii() and key.isprintable()):
        raise refuse_field(
            "Idempotency-Key", f"expected 1 to {_MAX_KEY} characters of ASCII that can be printed"
        )
    return key


def to_json(
    value: object, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None
) -> Response:
    """Return an answer of JSON."""
    return Answer(
        dump_json(value), status_code=status, media_type="application/json", headers=headers
    )
