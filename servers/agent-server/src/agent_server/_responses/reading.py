"""Responses as they are read: found by their id, projected from their run's events."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from starlette.requests import Request

from agent_server._http.access import find_tenant
from agent_server._http.problems import ProblemError, dump_json
from agent_server._http.routes import find_runs
from agent_server._http.streams import (
    Frames,
    build_frame,
    find_watchers,
    wait_for_leave,
    watch_run,
)
from agent_server._http.unread import building, group_small
from agent_server._store.records import measure_json
from agent_server.executor import Conversational, JsonObject
from agent_server.runs import Run, RunNotFoundError

from .ids import ResponseId
from .projection import Projection


_PAGE: Final = 1000
# How the agent calls its model is its own business, but clients and the schema of Open Responses expect numbers here: those of a request that asks for nothing.
_UNSAID: Final[JsonObject] = {
    "frequency_penalty": 0,
    "max_tool_calls": None,
    "presence_penalty": 0,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "temperature": 1,
    "top_logprobs": 0,
    "top_p": 1,
    "truncation": "disabled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A response that a tenant has.

    Attributes:
        response_id: Its id.
        run: Its run.
        shown: What the run shows of the request that has begun it, without its input: a stream lasts, and an input may be large.
        input: That; empty unless it was asked for.
    """

    response_id: ResponseId
    run: Run
    shown: JsonObject
    input: Sequence[JsonObject] = ()

    def start_projection(self, request: Request) -> Projection:
        """Return the projection that tells it, at its beginning."""
        executor: Conversational = request.app.state.executor
        return Projection(self.response_id, self._build_head(), executor.show)

    def _build_head(self) -> JsonObject:
        shown, is_first = self.shown, self.response_id.part == 0
        before = shown["previous_response_id"] if is_first else str(self.response_id.before)
        return {
            **_UNSAID,
            "id": str(self.response_id),
            "object": "response",
            "created_at": int(self.run.created_at.timestamp()),
            "background": shown["background"],
            "incomplete_details": None,
            "instructions": shown["instructions"],
            "max_output_tokens": shown.get("max_output_tokens"),
            "metadata": dict(self.run.metadata),
            "model": self.run.agent,
            "parallel_tool_calls": True,
            "previous_response_id": before,
            "store": shown["store"],
            "text": {"format": shown["text_format"] or {"type": "text"}},
            "tool_choice": "auto",
            "tools": [{"type": "function", "strict": False, **tool} for tool in shown["tools"]],
        }


def not_found() -> ProblemError:
    """Return the error for a response that the tenant does not have."""
    return ProblemError(404, "There is no such response.", code="not_found")


async def find_response(request: Request, text: str, *, with_input: bool = False) -> Found:
    """Return the response with an id.

    Args:
        request: The request.
        text: The id.
        with_input: Whether its input is asked for, too.

    Raises:
        ProblemError: If the tenant has no such response.
    """
    response_id = ResponseId.parse(text)
    if response_id is None:
        raise not_found()
    runs, tenant = find_runs(request), find_tenant(request)
    try:
        # Without its result: a stream lasts, and tells it from the events.
        run = replace(await runs.get(response_id.run_id, tenant=tenant), result=None)
        async with building(request):
            shown = await runs.read_shown(response_id.run_id, tenant=tenant)
            given = (shown or {}).pop("input", ())
            if not with_input:
                given = ()
    except RunNotFoundError:
        raise not_found() from None
    # A run may have been begun elsewhere.
    if shown is None or response_id.part > run.part:
        raise not_found()
    return Found(response_id=response_id, run=run, shown=shown, input=given)


async def find_stored(request: Request, text: str) -> Found:
    """Return the response with an id, with its input, if others may continue from it.

    Raises:
        ProblemError: If the tenant has no such response, or it is not stored.
    """
    found = await find_response(request, text, with_input=True)
    if not found.shown["store"]:
        raise not_found()
    return found


async def read_response(request: Request, found: Found) -> Projection:
    """Return a response as far as it is stored."""
    projection = found.start_projection(request)
    projection.begin()
    runs, tenant, run_id = find_runs(request), find_tenant(request), found.run.run_id
    last = 0
    while not projection.is_over:
        events = await runs.read_events(run_id, tenant=tenant, after=last, limit=_PAGE)
        if not events:
            break
        for event in events:
            projection.feed(event)
        last = events[-1].number
    return projection


async def wait_for_response(request: Request, found: Found) -> Projection:
    """Return a response once it has ended, or as it is when its client goes away or the server stops.

    Raises:
        TooManyWatchersError: If too many already wait or watch.
    """
    projection = found.start_projection(request)
    projection.begin()
    watchers, tenant = find_watchers(request), find_tenant(request)
    watchers.admit(tenant)
    try:
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(_follow(request, found, projection)),
            asyncio.create_task(wait_for_leave(request.receive)),
            asyncio.create_task(watchers.closed.wait()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not tasks[0].cancelled():
            tasks[0].result()
    finally:
        watchers.dismiss(tenant)
    return projection


async def _follow(request: Request, found: Found, projection: Projection) -> None:
    async with aclosing(_watch(request, found, projection)) as events:
        async for _ in events:
            pass


async def stream_response(request: Request, found: Found, *, after: int) -> Frames:
    """Yield the frames of a response's events.

    Args:
        request: The request.
        found: The response.
        after: The `sequence_number` of the last event that the client has; -1 for none.
    """
    projection = found.start_projection(request)
    for size, group in _group(projection.begin(), after):
        yield size, partial(_build_frames, group)
    async with aclosing(_watch(request, found, projection)) as watched:
        async for events in watched:
            for size, group in _group(events, after):
                yield size, partial(_build_frames, group)


async def _watch(
    request: Request, found: Found, projection: Projection
) -> AsyncGenerator[Sequence[JsonObject]]:
    """Yield the events of a response as they come, up to its last."""
    runs, tenant, run_id = find_runs(request), find_tenant(request), found.run.run_id
    async with aclosing(watch_run(runs, run_id, tenant=tenant, after=0)) as batches:
        async for batch in batches:
            yield [told for event in batch for told in projection.feed(event)]
            if projection.is_over:
                return


def _group(events: Sequence[JsonObject], after: int) -> Iterator[tuple[int, Sequence[JsonObject]]]:
    return group_small([one for one in events if one["sequence_number"] > after], measure_json)


def _build_frames(events: Sequence[JsonObject]) -> bytes:
    return b"".join(build_frame(dump_json(one), type_=one["type"]) for one in events)
