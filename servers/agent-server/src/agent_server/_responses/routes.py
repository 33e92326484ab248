"""The routes of the Responses API, and of the models that it has: the agents.

Source: https://platform.openai.com/docs/api-reference/responses; openai 3.51.0, `resources/responses/responses.py`.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent_server._http.access import find_caller, find_tenant, require_right_to, require_start
from agent_server._http.bodies import build_model, parse_body, read_as, work_on_body
from agent_server._http.documents import QueryNumber
from agent_server._http.problems import ProblemError, refuse
from agent_server._http.routes import find_runs, read_idempotency_key, to_json
from agent_server._http.streams import EventStream, find_watchers
from agent_server._http.unread import building
from agent_server.executor import Executor, JsonObject, RequestRefusedError
from agent_server.runs import FINISHED, AnswerConflictError, NewAnswer
from agent_server.settings import ServerSettings

from .creation import Creation, read_creation
from .ids import ResponseId
from .reading import (
    Found,
    find_response,
    find_stored,
    read_response,
    stream_response,
    wait_for_response,
)
from .references import resolve_references
from .repeats import drop_last_turn
from .turns import build_answer, build_run, check_unchanged, find_answered


_NO_CHAT: Final = (
    "Chat completions are not served here. Agents answer at POST /v1/responses, by the same base URL:"
    " LangChain calls that with use_responses_api=True, the AI SDK with openai.responses('AGENT')."
)
_NO_SUCH_MODEL: Final = "There is no such model: the models are this server's agents."


class ReadQuery(BaseModel):
    """The query of a request for a response."""

    model_config = ConfigDict(extra="forbid")

    stream: bool = False
    starting_after: QueryNumber = Field(default=-1, ge=-1, le=10**15)
    include_obfuscation: bool = False


class ItemsQuery(BaseModel):
    """The query of a request for the items that a response was asked with."""

    model_config = ConfigDict(extra="forbid")

    after: str | None = None
    limit: QueryNumber = Field(default=20, ge=1, le=100)
    order: Literal["asc", "desc"] = "desc"


def build_responses_routes() -> Sequence[BaseRoute]:
    """Return the routes of this face."""
    return [
        Route("/v1/models", list_models),
        Route("/v1/models/{model}", get_model),
        Route("/v1/responses", create_response, methods=["POST"]),
        Route("/v1/responses/{response_id}", answer_response, methods=["GET", "DELETE"]),
        Route("/v1/responses/{response_id}/cancel", cancel_response, methods=["POST"]),
        Route("/v1/responses/{response_id}/input_items", list_input_items),
        Route("/v1/chat/completions", refuse_chat, methods=["POST"]),
    ]


async def list_models(request: Request) -> Response:
    """Return the agents as models."""
    return to_json({"object": "list", "data": _build_models(request)})


async def get_model(request: Request) -> Response:
    """Return an agent as a model."""
    for model in _build_models(request):
        if model["id"] == request.path_params["model"]:
            return to_json(model)
    raise ProblemError(404, _NO_SUCH_MODEL, code="model_not_found")


def _build_models(request: Request) -> Sequence[JsonObject]:
    executor: Executor = request.app.state.executor
    # An agent has no day on which it was made.
    shared = {"object": "model", "created": 0, "owned_by": executor.name}
    return [{"id": one.name, **shared} for one in executor.agents()]


async def create_response(request: Request) -> Response:
    """Begin a run, or answer one that waits, and return the response or a stream of its events."""
    asked = await read_as(request, partial(_read, read_idempotency_key(request)))
    if asked.is_stream or not asked.is_background:
        # Before anything is begun, of which the client would get nothing but an error.
        find_watchers(request).check(find_tenant(request))
    if asked.previous is None:
        found = await _answer_history(request, asked)
        if found is None:
            await resolve_references(request, asked.input, None)
            found = await _begin(request, asked)
    else:
        found = await _go_on(request, asked, asked.previous)
    is_stream, is_background = asked.is_stream, asked.is_background
    del asked  # Of megabytes, which nobody needs while the run goes on.
    if is_stream:
        return _stream(request, found, after=-1)
    # Who asks in the background comes back for the rest.
    if is_background:
        return await _answer_with(request, found)
    return to_json((await wait_for_response(request, found)).response)


def _read(key: str | None, body: bytes) -> Creation:
    fingerprint = "" if key is None else hashlib.sha256(body).hexdigest()
    asked = read_creation(parse_body(body))
    return replace(asked, key=key, fingerprint=fingerprint, size=len(body))


async def _go_on(request: Request, asked: Creation, previous_id: str) -> Found:
    previous = await _find_previous(request, asked, previous_id)
    items = asked.input
    await resolve_references(request, items, previous)
    told = await read_response(request, previous)
    given, before = previous.input, previous.response_id
    items[:] = await work_on_body(asked.size, drop_last_turn, items, given, before, told)
    if not items:
        raise refuse("input", "expected an item that the conversation does not have yet")
    if told.waiting is not None:
        check_unchanged(asked, previous.shown, previous.run.metadata)
        return await _answer(request, previous, told.waiting, asked.input)
    # Some clients name the same response at each step of a turn.
    answered = await _answer_history(request, asked)
    if answered is not None:
        return answered
    return await _begin(request, asked, previous)


async def _answer_history(request: Request, asked: Creation) -> Found | None:
    """Go on with the run whose response the end of a whole history answers; None if there is none, or it was answered in another way."""
    response_id, items = await work_on_body(asked.size, find_answered, asked.input)
    if response_id is None:
        return None
    try:
        previous = await find_response(request, str(response_id))
        check_unchanged(asked, previous.shown, previous.run.metadata)
        waiting = (await read_response(request, previous)).waiting
        is_of_it = asked.previous in {None, previous.shown["previous_response_id"]}
        if waiting is None or previous.run.agent != asked.model or not is_of_it:
            return None
    except (ProblemError, RequestRefusedError):
        return None
    with suppress(AnswerConflictError):
        return await _answer(request, previous, waiting, items)
    return None


async def _find_previous(request: Request, asked: Creation, text: str) -> Found:
    try:
        found = await find_stored(request, text)
    except ProblemError:
        message = "expected the id of a response that was stored"
        code = "previous_response_not_found"
        raise refuse("previous_response_id", message, code=code) from None
    if found.run.agent != asked.model:
        raise refuse("model", "expected that of the previous response")
    return found


async def _read_state(request: Request, previous: Found) -> bytes:
    run = previous.run
    if run.status not in FINISHED:
        raise ProblemError(409, "The previous response has not ended.", code="response_not_ended")
    state = await find_runs(request).read_state(run.run_id, tenant=run.tenant)
    if state is None:
        message = "expected the id of a response that can be continued"
        raise refuse("previous_response_id", message, code="previous_response_not_found")
    return state


async def _begin(request: Request, asked: Creation, previous: Found | None = None) -> Found:
    state = None if previous is None else await _read_state(request, previous)
    require_start(request)
    settings: ServerSettings = request.app.state.settings
    executor, tenant = request.app.state.executor, find_tenant(request)
    build = partial(build_run, executor, asked, tenant=tenant, state=state)
    new = await work_on_body(asked.size, build)
    shown = {name: one for name, one in (new.shown or {}).items() if name != "input"}
    # Of what is large nobody keeps anything while it is stored.
    asked.input.clear()
    made = [
        replace(
            new,
            idempotency_key=asked.key,
            fingerprint=asked.fingerprint,
            keep_seconds=None if asked.is_stored else settings.keep_unstored_seconds,
            origin={} if previous is None else {"conversation": previous.run.conversation},
        )
    ]
    del new
    run, _ = await find_runs(request).create(made.pop())
    return Found(response_id=ResponseId(run.run_id, 0), run=run, shown=shown)


async def _answer(
    request: Request, previous: Found, waiting: JsonObject, items: Sequence[JsonObject]
) -> Found:
    before = previous.response_id
    answer = build_answer(before, waiting, items)
    require_right_to(request, answer)
    new = NewAnswer(wait_id=waiting["wait_id"], answer=answer, key=find_caller(request).key)
    run, _ = await find_runs(request).answer(before.run_id, new, tenant=previous.run.tenant)
    return Found(
        response_id=ResponseId(before.run_id, before.part + 1), run=run, shown=previous.shown
    )


async def answer_response(request: Request) -> Response:
    """Return a response or a stream of its events, or delete its run."""
    found = await find_response(request, request.path_params["response_id"])
    if request.method == "DELETE":
        require_start(request)
        await find_runs(request).delete(found.run.run_id, tenant=found.run.tenant)
        shown = {"id": str(found.response_id), "object": "response.deleted", "deleted": True}
        return to_json(shown)
    query = _read_query(request, ReadQuery)
    if query.stream and request.method == "GET":
        return _stream(request, found, after=query.starting_after)
    return await _answer_with(request, found)


async def _answer_with(request: Request, found: Found) -> Response:
    """Answer with a response as far as it is stored."""
    async with building(request):
        return to_json((await read_response(request, found)).response)


async def cancel_response(request: Request) -> Response:
    """Cancel the run of a response that has not ended, and return the response once it has."""
    require_start(request)
    found = await find_response(request, request.path_params["response_id"])
    told = await read_response(request, found)
    if not told.is_over:
        await find_runs(request).cancel(found.run.run_id, tenant=found.run.tenant)
        told = await wait_for_response(request, found)
    return to_json(told.response)


async def refuse_chat(_request: Request) -> Response:
    """Refuse the older form of the API by the name of the one that there is."""
    raise ProblemError(404, _NO_CHAT, code="not_found")


async def list_input_items(request: Request) -> Response:
    """Return a page of the items that a response was asked with."""
    query = _read_query(request, ItemsQuery)
    found = await find_response(request, request.path_params["response_id"], with_input=True)
    own, given = found.response_id, found.input
    if own.part > 0:
        given = (await read_response(request, found)).answers
    items = [{"id": own.input_item(n)} | item for n, item in enumerate(given)]
    if query.order == "desc":
        items.reverse()
    if query.after is not None:
        ids = [item["id"] for item in items]
        if query.after not in ids:
            raise refuse("after", "expected the id of an item of this response's input")
        items = items[ids.index(query.after) + 1 :]
    page = items[: query.limit]
    ends = {
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
    }
    has_more = len(items) > len(page)
    return to_json({"object": "list", "data": page, **ends, "has_more": has_more})


def _read_query[Query: BaseModel](request: Request, model: type[Query]) -> Query:
    pairs = request.query_params.items()
    # What to include is a hint, as in a request for a response.
    given = {name: value for name, value in pairs if name.partition("[")[0] != "include"}
    return build_model(model, given)


def _stream(request: Request, found: Found, *, after: int) -> Response:
    return EventStream(
        stream_response(request, found, after=after),
        tenant=find_tenant(request),
        watchers=find_watchers(request),
    )
