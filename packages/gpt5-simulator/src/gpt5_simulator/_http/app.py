"""The routes: who is asking, what goes wrong on purpose, and what is answered."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from gpt5_simulator._answer import Answer, Responder
from gpt5_simulator._errors import ApiError, FaultError
from gpt5_simulator._faults.effects import damage
from gpt5_simulator._faults.fault_queue import FaultQueue
from gpt5_simulator._faults.fault_text import parse_fault
from gpt5_simulator._faults.faults import Fault, HttpError
from gpt5_simulator._faults.refusals import build_error, retry_headers, validate_against
from gpt5_simulator._http.delivery import Delivery
from gpt5_simulator._http.recorded import RecordedRequest, RequestLog, fingerprint
from gpt5_simulator._http.replay import Recording, ReplayQueue
from gpt5_simulator._json import Json, is_object, object_at
from gpt5_simulator._profiles import iter_profiles
from gpt5_simulator._reply import ChunkSizes, Reply
from gpt5_simulator._responses.events import begun, encode, encode_event, iter_events
from gpt5_simulator._stored.stored_calls import EVENTS, JSON, Query, StoredCalls


FAULT_HEADER = "x-simulator-fault"
REPLAY_HEADER = "x-simulator-replay"

_WORKERS = 256
_MODEL_CREATED = 1754425777
_NO_KEY = "You didn't provide an API key. Put it in an Authorization header using Bearer auth (Authorization: Bearer YOUR_KEY)."
_WRONG_KEY = "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys."


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What the caller decided about the server; see `ResponsesSimulator`."""

    api_keys: Collection[str] | None
    models: tuple[str, ...] | None
    models_status: int
    chunk_bytes: ChunkSizes | None
    delay_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The handlers of the routes, and what they share."""

    behaviour: Behaviour
    responder: Responder
    replay: ReplayQueue
    faults: FaultQueue
    log: RequestLog
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    workers: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_WORKERS))

    def build_app(self) -> Starlette:
        """Build the ASGI application."""
        routes = [
            Route("/v1/models", self.list_models, methods=["GET"]),
            Route("/v1/models/{model}", self.show_model, methods=["GET"]),
            Route("/v1/responses", self.create_response, methods=["POST"]),
            Route("/v1/responses/input_tokens", self.count_input, methods=["POST"]),
            Route("/v1/responses/compact", self.compact, methods=["POST"]),
            Route("/v1/responses/{response_id}", self.show_response, methods=["GET"]),
            Route("/v1/responses/{response_id}", self.delete_response, methods=["DELETE"]),
            Route("/v1/responses/{response_id}/cancel", self.cancel_response, methods=["POST"]),
            Route("/v1/responses/{response_id}/input_items", self.list_input, methods=["GET"]),
        ]
        handlers = {HTTPException: self.refuse_route, Exception: self.report_failure}
        return Starlette(routes=routes, exception_handlers=handlers)

    async def create_response(self, request: Request) -> Delivery:
        """Answer `POST /v1/responses`."""
        body = await request.body()
        recorded = self._record(request, body)
        try:
            owner = self._owner(request)
            faults = self._due_faults(request)
        except ApiError as error:
            return self._deliver(_error_reply(error), recorded)
        for fault in faults:
            if isinstance(fault, HttpError):
                reply = _error_reply(build_error(fault), retry_headers(fault))
                return self._deliver(reply, recorded)
        try:
            reply = await self._reply(request, recorded, owner=owner, faults=faults)
        except ApiError as error:
            reply = _error_reply(error)
        else:
            for fault in faults:
                reply = damage(reply, fault)
        return self._deliver(reply, recorded)

    async def count_input(self, request: Request) -> Delivery:
        """Answer `POST /v1/responses/input_tokens`."""
        raw = await request.body()

        def count(owner: str, _: RecordedRequest) -> Reply:
            tokens = self.responder.count(_parse_body(request, raw), owner=owner)
            return _json_body({"object": "response.input_tokens", "input_tokens": tokens})

        return self._answer(request, count, raw)

    async def compact(self, request: Request) -> Delivery:
        """Answer `POST /v1/responses/compact`."""
        raw = await request.body()

        def compact(owner: str, recorded: RecordedRequest) -> Reply:
            body, source = _parse_body(request, raw), _id_source(recorded, raw)
            return _json_body(self.responder.compact(body, owner=owner, id_source=source))

        return self._answer(request, compact, raw)

    async def show_response(self, request: Request) -> Delivery:
        """Answer `GET /v1/responses/{id}`."""
        query = Query(request.url.query)
        return self._answer_stored(request, lambda calls: calls.show(query))

    async def cancel_response(self, request: Request) -> Delivery:
        """Answer `POST /v1/responses/{id}/cancel`."""
        return self._answer_stored(request, StoredCalls.cancel)

    async def list_input(self, request: Request) -> Delivery:
        """Answer `GET /v1/responses/{id}/input_items`."""
        query = Query(request.url.query)
        return self._answer_stored(request, lambda calls: calls.list_input(query))

    async def delete_response(self, request: Request) -> Delivery:
        """Answer `DELETE /v1/responses/{id}`."""
        response_id: str = request.path_params["response_id"]

        def delete(owner: str, _: RecordedRequest) -> Reply:
            self.responder.store.delete(response_id, owner=owner)
            return _json_body({"id": response_id, "object": "response.deleted", "deleted": True})

        return self._answer(request, delete)

    async def list_models(self, request: Request) -> Delivery:
        """Answer `GET /v1/models`."""

        def models() -> Json:
            self._validate_models_route(request)
            return {"object": "list", "data": [self._model(name) for name in self._model_names()]}

        return self._deliver(_json_reply(models), self._record(request))

    async def show_model(self, request: Request) -> Delivery:
        """Answer `GET /v1/models/{id}`."""
        name: str = request.path_params["model"]

        def model() -> Json:
            self._validate_models_route(request)
            if name not in self._model_names():
                text = f"The model '{name}' does not exist"
                raise ApiError(
                    text, status=HTTPStatus.NOT_FOUND, param="model", code="model_not_found"
                )
            return self._model(name)

        return self._deliver(_json_reply(model), self._record(request))

    async def refuse_route(self, request: Request, error: Exception) -> Delivery:
        """Answer a request for which there is no route."""
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
        refusal = _no_route(request, status)
        return self._deliver(_error_reply(refusal), self._record(request))

    async def report_failure(self, request: Request, error: Exception) -> Delivery:
        """Answer a request for which a model object, or the simulator itself, raised something unexpected."""
        text = f"The simulator failed: {type(error).__name__}: {error}"
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        refusal = ApiError(text, status=status, error_type="server_error")
        headers = {"x-request-id": "req_failed"}
        del request
        return self._send(_error_reply(refusal), headers)

    def _answer_stored(self, request: Request, call: Callable[[StoredCalls], Reply]) -> Delivery:
        response_id: str = request.path_params["response_id"]

        def answer(owner: str, _: RecordedRequest) -> Reply:
            stored = self.responder.store.find(response_id, owner=owner)
            is_paced = FAULT_HEADER not in request.headers  # a fault is done to a whole stream
            return call(StoredCalls(stored, self.responder.clock, is_paced))

        return self._answer(request, answer)

    def _answer(
        self,
        request: Request,
        build: Callable[[str, RecordedRequest], Reply],
        body: bytes = b"",
    ) -> Delivery:
        """Answer a call that no fault of the queue hits, only one that the request itself asks for."""
        recorded = self._record(request, body)
        try:
            owner = self._owner(request)
            asked = self._asked_faults(request) or ()
            for fault in asked:
                if isinstance(fault, HttpError):
                    reply = _error_reply(build_error(fault), retry_headers(fault))
                    return self._deliver(reply, recorded)
            reply = build(owner, recorded)
        except ApiError as error:
            return self._deliver(_error_reply(error), recorded)
        for fault in asked:
            reply = damage(reply, fault)
        return self._deliver(reply, recorded)

    async def _reply(
        self,
        request: Request,
        recorded: RecordedRequest,
        *,
        owner: str,
        faults: tuple[Fault, ...],
    ) -> Reply:
        raw = await request.body()
        body = _parse_body(request, raw)
        for fault in faults:
            validate_against(fault, body)
        if self.replay:
            return self._replayed(request, body, owner=owner)
        source = _id_source(recorded, raw)
        answer = partial(self.responder.answer, body, owner=owner, id_source=source)
        found = await asyncio.get_running_loop().run_in_executor(self.workers, answer)
        return self._response_reply(found, body, is_damaged=bool(faults))

    def _response_reply(self, answer: Answer, body: Json, *, is_damaged: bool) -> Reply:
        response, run = answer.response, answer.run
        if not body.get("stream"):
            begins = response if run is None else begun(response, status="queued")
            return _json_body(begins)
        obfuscate = object_at(body, "stream_options").get("include_obfuscation") is not False
        if run is None or is_damaged:
            events = tuple(map(encode_event, iter_events(response, obfuscate=obfuscate)))
            return Reply(content_type=EVENTS, steps=events, is_stream=True)
        live = run.iter_steps(response, after=-1, clock=self.responder.clock, obfuscate=obfuscate)
        return Reply(content_type=EVENTS, live=live, is_stream=True)

    def _replayed(self, request: Request, body: Json, *, owner: str) -> Reply:
        chosen = self._find_recording(request, body)
        self.responder.read(body, owner=owner, knows_model=chosen is not None)
        due = chosen or self.replay.take(is_stream=bool(body.get("stream")))
        return due.to_reply()

    def _find_recording(self, request: Request, body: Json) -> Recording | None:
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

    def _record(self, request: Request, body: bytes = b"") -> RecordedRequest:
        return self.log.add(
            method=request.method, path=request.url.path, headers=request.headers.items(), body=body
        )

    def _owner(self, request: Request) -> str:
        """Return the fingerprint of the request's key.

        Raises:
            ApiError: If there is no key, or it is not accepted (status 401).
        """
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise ApiError(_NO_KEY, status=HTTPStatus.UNAUTHORIZED)
        accepted = self.behaviour.api_keys
        if accepted is not None and key.strip() not in accepted:
            raise ApiError(_WRONG_KEY, status=HTTPStatus.UNAUTHORIZED, code="invalid_api_key")
        return fingerprint(key.strip())

    def _due_faults(self, request: Request) -> tuple[Fault, ...]:
        """Return the fault that the request asks for itself, or else those that are due.

        Raises:
            ApiError: If the header names no fault.
        """
        asked = self._asked_faults(request)
        return self.faults.take() if asked is None else asked

    def _asked_faults(self, request: Request) -> tuple[Fault, ...] | None:
        """Return the fault that the request asks for itself; None where it does not say.

        Raises:
            ApiError: If the header names no fault.
        """
        text = request.headers.get(FAULT_HEADER)
        if text is None:
            return None
        try:
            asked = parse_fault(text)
        except FaultError as error:
            raise ApiError(str(error), param=FAULT_HEADER) from error
        return () if asked is None else (asked,)

    def _validate_models_route(self, request: Request) -> None:
        self._owner(request)
        status = self.behaviour.models_status
        if status != HTTPStatus.OK:
            raise _no_route(request, status)

    def _model_names(self) -> tuple[str, ...]:
        names = self.behaviour.models
        if names is None:
            names = tuple(profile.name for profile in iter_profiles() if profile.successor is None)
        return tuple(name for name in names if not self.responder.lifetimes.is_over(name))

    def _model(self, name: str) -> Json:
        return {
            "id": name,
            "object": "model",
            "created": _MODEL_CREATED,
            "owned_by": "system",
            "shutdown_date": self.responder.lifetimes.find_date(name),
        }

    def _deliver(self, reply: Reply, recorded: RecordedRequest) -> Delivery:
        request_id = hashlib.sha256(str(recorded.number).encode()).hexdigest()[:32]
        return self._send(reply, {"x-request-id": f"req_{request_id}"})

    def _send(self, reply: Reply, headers: dict[str, str]) -> Delivery:
        return Delivery(
            reply,
            headers={"openai-version": "2020-10-01"} | headers,
            chunk_bytes=self.behaviour.chunk_bytes,
            delay_seconds=self.behaviour.delay_seconds,
            stopping=self.stopping,
        )


def _parse_body(request: Request, body: bytes) -> Json:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        text = (
            f"Unsupported content type: '{kind}'. This API method only accepts '{JSON}' requests."
        )
        raise ApiError(text, code="unsupported_content_type")
    try:
        decoded: object = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ApiError("We could not parse the JSON body of your request.") from error
    if not is_object(decoded):
        raise ApiError("The JSON body of your request has to be an object.")
    return decoded


def _refuse_constant(name: str) -> None:
    """Refuse `NaN` and the infinities, which Python reads although JSON has no such numbers."""
    raise ValueError(name)


def _id_source(recorded: RecordedRequest, raw: bytes) -> str:
    return f"{recorded.number}:{hashlib.sha256(raw).hexdigest()}"


def _json_body(value: Json) -> Reply:
    return Reply(content_type=JSON, steps=(encode(value),))


def _json_reply(build: Callable[[], Json]) -> Reply:
    try:
        return _json_body(build())
    except ApiError as error:
        return _error_reply(error)


def _error_reply(error: ApiError, headers: dict[str, str] | None = None) -> Reply:
    steps = (encode(error.envelope()),)
    return Reply(status=error.status, content_type=JSON, headers=headers or {}, steps=steps)


def _no_route(request: Request, status: int) -> ApiError:
    is_method = status == HTTPStatus.METHOD_NOT_ALLOWED
    what = "Invalid method for URL" if is_method else "Invalid URL"
    return ApiError(f"{what} ({request.method} {request.url.path})", status=status)
