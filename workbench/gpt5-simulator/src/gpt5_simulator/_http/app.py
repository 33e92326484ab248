"""The routes: keys, faults on purpose, and answers."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gpt5_simulator._answer import Responder
from gpt5_simulator._errors import ApiError, FaultError
from gpt5_simulator._faults.effects import damage, refuse_upgrade
from gpt5_simulator._faults.fault_queue import FaultQueue
from gpt5_simulator._faults.faults import HttpError, RefuseUpgrade
from gpt5_simulator._faults.refusals import build_error, retry_headers, validate_against
from gpt5_simulator._http.calls import Call
from gpt5_simulator._http.delivery import Delivery
from gpt5_simulator._http.exchanges import ExchangeQueue, read_asked
from gpt5_simulator._http.recorded import RequestLog, fingerprint
from gpt5_simulator._http.replay import Recording, ReplayQueue
from gpt5_simulator._http.sockets import NO_PONGS, Socket, answer_as_get
from gpt5_simulator._json import Json, object_at, object_in
from gpt5_simulator._likeness import Likeness
from gpt5_simulator._profiles import iter_profiles
from gpt5_simulator._reply import ChunkSizes, Drop, Reply
from gpt5_simulator._responses.events import begun, encode_event, iter_events
from gpt5_simulator._stored.background import BackgroundRun
from gpt5_simulator._stored.store import Lane
from gpt5_simulator._stored.stored_calls import StoredCalls


FAULT_HEADER = "x-simulator-fault"
REPLAY_HEADER = "x-simulator-replay"

_WORKERS = 256  # requests at once, since a model object may block as long as a test wants
_MODEL_CREATED = 1754425777
_SOCKET_PATH = "/v1/responses"
_SOCKET_SECONDS = 3600
_SOCKET_OVER = "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue."
_NO_KEY = "You didn't provide an API key. Put it in an Authorization header using Bearer auth (Authorization: Bearer YOUR_KEY)."
_WRONG_KEY = "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys."


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The handlers of the routes, with their shared state; `ResponsesSimulator` documents the caller's settings."""

    api_keys: Collection[str] | None
    models_status: int
    chunk_bytes: ChunkSizes | None
    delay_seconds: float
    responder: Responder
    like: Likeness | None
    replay: ReplayQueue
    exchanges: ExchangeQueue
    faults: FaultQueue
    log: RequestLog
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_WORKERS))

    def build_app(self) -> ASGIApp:
        """Build the ASGI application, in which each route has a handler and its pending faults.

        The faults are None where a request cannot even ask for one.
        """
        due, asked = self.faults, FaultQueue()
        calls: list[tuple[str, str, Callable[[Call], Awaitable[Reply]], FaultQueue | None]] = [
            ("GET", "/models", self.list_models, None),
            ("GET", "/models/{model}", self.show_model, None),
            ("POST", "/responses", self.create_response, due),
            ("POST", "/responses/input_tokens", self.count_input, asked),
            ("POST", "/responses/compact", self.compact, asked),
            ("GET", "/responses/{response_id}", self.show_response, asked),
            ("DELETE", "/responses/{response_id}", self.delete_response, asked),
            ("POST", "/responses/{response_id}/cancel", self.cancel_response, asked),
            ("GET", "/responses/{response_id}/input_items", self.list_input, asked),
        ]
        routes = [
            Route(f"/v1{path}", partial(self._answer, answer, faults), methods=[method])
            for method, path, answer, faults in calls
        ]
        handlers = {HTTPException: self.refuse_route, Exception: self.report_failure}
        return partial(self._serve, Starlette(routes=routes, exception_handlers=handlers))

    async def replay_exchange(self, call: Call) -> Reply:
        """Answer a request as it was answered when it was recorded."""
        return self.exchanges.answer(read_asked(call.request, call.raw))

    async def create_response(self, call: Call) -> Reply:
        """Answer `POST /v1/responses`."""
        body = call.body()
        for fault in call.faults:
            validate_against(fault, body)
        if self.replay:
            return self._replayed(call, body)
        read = body if self.like is None else self.like.read_body(body)
        # In a thread: the event loop has to go on while a model object blocks.
        known = {"owner": call.owner, "id_source": call.source, "lane": call.lane}
        answer = partial(self.responder.answer, read, **known)
        made = await asyncio.get_running_loop().run_in_executor(self.workers, answer)
        if self.like is not None:
            return self.like.reply(made[0], body)
        return self._response_reply(*made, body, is_damaged=bool(call.faults))

    async def count_input(self, call: Call) -> Reply:
        """Answer `POST /v1/responses/input_tokens`."""
        tokens = self.responder.count(call.body(), owner=call.owner)
        return Reply.of_json({"object": "response.input_tokens", "input_tokens": tokens})

    async def compact(self, call: Call) -> Reply:
        """Answer `POST /v1/responses/compact`."""
        compacted = self.responder.compact(call.body(), owner=call.owner, id_source=call.source)
        return Reply.of_json(compacted)

    async def show_response(self, call: Call) -> Reply:
        """Answer `GET /v1/responses/{id}`."""
        return self._stored(call).show(call.request.query_params)

    async def cancel_response(self, call: Call) -> Reply:
        """Answer `POST /v1/responses/{id}/cancel`."""
        return self._stored(call).cancel()

    async def list_input(self, call: Call) -> Reply:
        """Answer `GET /v1/responses/{id}/input_items`."""
        return self._stored(call).list_input(call.request.query_params)

    async def delete_response(self, call: Call) -> Reply:
        """Answer `DELETE /v1/responses/{id}`."""
        response_id: str = call.request.path_params["response_id"]
        self.responder.store.delete(response_id, owner=call.owner)
        return Reply.of_json({"id": response_id, "object": "response.deleted", "deleted": True})

    async def list_models(self, call: Call) -> Reply:
        """Answer `GET /v1/models`."""
        models = [self._model(name) for name in self._model_names(call.request)]
        return Reply.of_json({"object": "list", "data": models})

    async def show_model(self, call: Call) -> Reply:
        """Answer `GET /v1/models/{id}`."""
        name: str = call.request.path_params["model"]
        if name not in self._model_names(call.request):
            text = f"The model '{name}' does not exist"
            raise ApiError(text, status=HTTPStatus.NOT_FOUND, param="model", code="model_not_found")
        return Reply.of_json(self._model(name))

    async def refuse_route(self, request: Request, error: Exception) -> Delivery:
        """Answer a request for which there is no route."""
        if self.exchanges.is_used:
            return await self._answer(self.replay_exchange, None, request)
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
        number = self.log.add(request, method=request.method).number
        return self._deliver(self._refuse(_no_route(request, status)), number)

    async def report_failure(self, request: Request, error: Exception) -> Delivery:
        """Answer a request for which a model object, or the simulator itself, raised an unexpected error."""
        del request
        return self._deliver(self._failure(error))

    async def _answer(
        self,
        answer: Callable[[Call], Awaitable[Reply]],
        waiting: FaultQueue | None,
        request: Request,
    ) -> Delivery:
        """Answer a request by its route's handler, unless it is refused, and damage the reply by its faults."""
        # Recorded first, for a test wants to see the requests that were refused, too.
        raw = await request.body()
        number = self.log.add(request, raw, method=request.method).number
        if self.exchanges.is_used:
            answer = self.replay_exchange
        try:
            owner = "" if self.exchanges.is_used else self._owner(request)
            faults = () if waiting is None else _queue_of(request, waiting).take()
        except ApiError as error:
            return self._deliver(self._refuse(error), number)
        reply = await self._reply(Call(request, raw, number, owner, faults), answer)
        return self._deliver(reply, number)

    async def _reply(self, call: Call, answer: Callable[[Call], Awaitable[Reply]]) -> Reply:
        """Return a handler's answer, damaged by the faults, or a refusal."""
        refusal = next((fault for fault in call.faults if isinstance(fault, HttpError)), None)
        if refusal is not None:
            return self._refuse(build_error(refusal), retry_headers(refusal))
        try:
            reply = await answer(call)
        except ApiError as error:
            return self._refuse(error)
        for fault in call.faults:
            reply = damage(reply, fault)
        return reply

    async def _serve(self, http: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or one for a WebSocket where there is one: other servers are played without."""
        if scope["type"] == "http":
            await http(scope, receive, send)
        elif self.like is not None or self.exchanges.is_used or scope["path"] != _SOCKET_PATH:
            await answer_as_get(http, scope, receive, send)
        else:
            await self._serve_socket(HTTPConnection(scope), receive, send)

    async def _serve_socket(self, upgrade: HTTPConnection, receive: Receive, send: Send) -> None:
        """Open a WebSocket, unless it is refused, and answer its messages."""
        number = self.log.add(upgrade, method="GET").number
        try:
            owner, waiting = self._owner(upgrade), _queue_of(upgrade, self.faults)
        except ApiError as error:
            refusal = self._deliver(self._refuse(error), number)
            await answer_as_get(refusal, upgrade.scope, receive, send)
            return
        for fault in waiting.take(is_upgrade=True):
            if isinstance(fault, RefuseUpgrade):
                refusal = self._deliver(refuse_upgrade(fault), number)
                await answer_as_get(refusal, upgrade.scope, receive, send)
                return
            upgrade.scope[NO_PONGS] = True
        ends = self.responder.clock() + _SOCKET_SECONDS

        async def answer(raw: bytes, lane: Lane) -> Reply:
            logged = self.log.add(upgrade, raw, method="WEBSOCKET", socket=number)
            if self.responder.clock() >= ends:
                over = self._refuse(
                    ApiError(_SOCKET_OVER, code="websocket_connection_limit_reached")
                )
                return replace(over, steps=(*over.steps, Drop(code=1000)))
            call = Call(upgrade, raw, logged.number, owner, waiting.take(), lane)
            try:
                reply = await self._reply(call, self.create_response)
            except Exception as error:  # noqa: BLE001  a model object's, of which HTTP tells as well
                reply = self._failure(error)
            if reply.status >= HTTPStatus.BAD_REQUEST:
                lane.forget(object_in(raw).get("previous_response_id"))
            return reply

        await Socket(answer, delay_seconds=self.delay_seconds, stopping=self.stopping).serve(
            receive, send
        )

    def _stored(self, call: Call) -> StoredCalls:
        """Return the calls about a stored response; its stream is paced unless a fault needs all of it at once.

        Raises:
            ApiError: If there is no such response (status 404).
        """
        response_id: str = call.request.path_params["response_id"]
        stored = self.responder.store.find(response_id, owner=call.owner)
        is_paced = FAULT_HEADER not in call.request.headers
        return StoredCalls(stored, self.responder.clock, is_paced)

    def _response_reply(
        self, response: Json, run: BackgroundRun | None, body: Json, *, is_damaged: bool
    ) -> Reply:
        if not body.get("stream"):
            return Reply.of_json(response if run is None else begun(response, status="queued"))
        # A fault counts events and bytes of the whole stream, so one that is to be damaged is not paced.
        obfuscate = object_at(body, "stream_options").get("include_obfuscation") is not False
        if run is None or is_damaged:
            events = iter_events(response, obfuscate=obfuscate)
            return Reply.of_events(tuple(map(encode_event, events)))
        clock = self.responder.clock
        return Reply.of_events(run.iter_steps(response, after=-1, clock=clock, obfuscate=obfuscate))

    def _replayed(self, call: Call, body: Json) -> Reply:
        chosen = self._find_recording(call.request, body)
        # Only for what it refuses. A request that chooses by its model names one that nobody knows.
        self.responder.read(body, owner=call.owner, knows_model=chosen is not None, lane=call.lane)
        due = chosen or self.replay.take(is_stream=bool(body.get("stream")))
        return due.to_reply()

    def _find_recording(self, request: HTTPConnection, body: Json) -> Recording | None:
        """Return the recording that the request names, in the header or as its model.

        Raises:
            ApiError: If no recording has the name in the header (status 404).
        """
        name = request.headers.get(REPLAY_HEADER)
        found = self.replay.find(str(body.get("model")) if name is None else name)
        if name is not None and found is None:
            text = f"No recording is named {name!r}."
            raise ApiError(text, status=HTTPStatus.NOT_FOUND, param=REPLAY_HEADER)
        return found

    def _owner(self, request: HTTPConnection) -> str:
        """Return the fingerprint of the request's key.

        Raises:
            ApiError: If there is no key, or it is not accepted (status 401).
        """
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise ApiError(_NO_KEY, status=HTTPStatus.UNAUTHORIZED)
        accepted = self.api_keys
        if accepted is not None and key.strip() not in accepted:
            raise ApiError(_WRONG_KEY, status=HTTPStatus.UNAUTHORIZED, code="invalid_api_key")
        return fingerprint(key.strip())

    def _model_names(self, request: HTTPConnection) -> list[str]:
        """Return the models that are served.

        Raises:
            ApiError: If the caller wants a server without this route.
        """
        if self.models_status != HTTPStatus.OK:
            raise _no_route(request, self.models_status)
        names = self.responder.models
        if names is None:
            names = tuple(profile.name for profile in iter_profiles() if profile.successor is None)
        return [name for name in names if not self.responder.lifetimes.is_over(name)]

    def _model(self, name: str) -> Json:
        return {
            "id": name,
            "object": "model",
            "created": _MODEL_CREATED,
            "owned_by": "system",
            "shutdown_date": self.responder.lifetimes.find_date(name),
        }

    def _failure(self, error: Exception) -> Reply:
        text = f"The simulator failed: {type(error).__name__}: {error}"
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        return self._refuse(ApiError(text, status=status, error_type="server_error"))

    def _refuse(self, error: ApiError, headers: dict[str, str] | None = None) -> Reply:
        """Return the reply with an error, as OpenAI sends it or the server that this one is like."""
        if self.like is not None:
            return self.like.dress(error, headers)
        return Reply.of_json(error.envelope(), status=error.status, headers=headers)

    def _deliver(self, reply: Reply, number: int | None = None) -> Delivery:
        """Return the delivery of a reply to the request with this number; None after a failure of the simulator."""
        request_id = hashlib.sha256(str(number).encode()).hexdigest()[:32]
        named = "req_failed" if number is None else f"req_{request_id}"
        return Delivery(
            reply,
            headers={"openai-version": "2020-10-01", "x-request-id": named},
            chunk_bytes=self.chunk_bytes,
            delay_seconds=self.delay_seconds,
            stopping=self.stopping,
        )


def _queue_of(request: HTTPConnection, waiting: FaultQueue) -> FaultQueue:
    """Return the faults that the request itself asks for, or else those that wait.

    Raises:
        ApiError: If the header names no fault.
    """
    # `none` counts as well: such a request leaves those that wait as they are.
    if FAULT_HEADER not in request.headers:
        return waiting
    try:
        return FaultQueue([request.headers[FAULT_HEADER]])
    except FaultError as error:
        raise ApiError(str(error), param=FAULT_HEADER) from error


def _no_route(request: HTTPConnection, status: int) -> ApiError:
    is_method = status == HTTPStatus.METHOD_NOT_ALLOWED
    what = "Invalid method for URL" if is_method else "Invalid URL"
    return ApiError(f"{what} ({request.scope['method']} {request.url.path})", status=status)
