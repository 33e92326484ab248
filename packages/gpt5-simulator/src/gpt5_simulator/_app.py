"""The routes: who is asking, is the request sound, what is the answer, what goes wrong with it."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from gpt5_simulator._answer import AnswerDesk
from gpt5_simulator._delivery import Delivery
from gpt5_simulator._errors import ApiError, FaultError
from gpt5_simulator._events import encode_event, iter_events
from gpt5_simulator._fault_text import parse_fault
from gpt5_simulator._faultline import FaultQueue
from gpt5_simulator._faults import Fault, HttpError
from gpt5_simulator._json import Json, dump, is_object, object_at
from gpt5_simulator._misbehaviour import damage, error_of, validate_against
from gpt5_simulator._profiles import iter_profiles
from gpt5_simulator._recorded import RecordedRequest, RequestLog, fingerprint
from gpt5_simulator._replay import Recording, ReplayQueue
from gpt5_simulator._reply import ChunkSizes, Reply


FAULT_HEADER = "x-simulator-fault"
REPLAY_HEADER = "x-simulator-replay"

_MODEL_CREATED = 1754425777
_NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header "
    "using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """Be what the caller decided about the server."""

    api_keys: Collection[str] | None
    models: tuple[str, ...] | None
    models_status: int
    chunk_bytes: ChunkSizes | None
    delay_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Be the handlers of the routes and what they share."""

    behaviour: Behaviour
    desk: AnswerDesk
    replay: ReplayQueue
    faults: FaultQueue
    log: RequestLog
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def build_app(self) -> Starlette:
        """Return the ASGI application."""
        routes = [
            Route("/v1/models", self.list_models, methods=["GET"]),
            Route("/v1/models/{model}", self.show_model, methods=["GET"]),
            Route("/v1/responses", self.create_response, methods=["POST"]),
            Route("/v1/responses/{response_id}", self.show_response, methods=["GET"]),
        ]
        return Starlette(routes=routes, exception_handlers={HTTPException: self.refuse_route})

    async def create_response(self, request: Request) -> Delivery:
        """Answer `POST /v1/responses`."""
        body = await request.body()
        recorded = self._record(request, body)
        try:
            owner = self._owner(request)
            faults = self._due_faults(request)
        except ApiError as error:
            return self._deliver(_error_reply(error), recorded)
        return self._deliver(await self._reply(request, body, recorded, owner, faults), recorded)

    async def show_response(self, request: Request) -> Delivery:
        """Answer `GET /v1/responses/{id}`."""
        recorded = self._record(request, b"")

        def find() -> Json:
            response_id: str = request.path_params["response_id"]
            found = self.desk.store.find(response_id, owner=self._owner(request))
            if found is None:
                raise ApiError(f"Response with id '{response_id}' not found.", status=404)
            return found

        return self._deliver(_json_reply(find), recorded)

    async def list_models(self, request: Request) -> Delivery:
        """Answer `GET /v1/models`."""
        recorded = self._record(request, b"")

        def models() -> Json:
            self._owner(request)
            self._validate_route(request)
            return {"object": "list", "data": [_model(name) for name in self._model_names()]}

        return self._deliver(_json_reply(models), recorded)

    async def show_model(self, request: Request) -> Delivery:
        """Answer `GET /v1/models/{id}`."""
        recorded = self._record(request, b"")

        def model() -> Json:
            self._owner(request)
            self._validate_route(request)
            name: str = request.path_params["model"]
            if name not in self._model_names():
                text = f"The model '{name}' does not exist"
                raise ApiError(text, status=404, param="model", code="model_not_found")
            return _model(name)

        return self._deliver(_json_reply(model), recorded)

    async def refuse_route(self, request: Request, error: Exception) -> Delivery:
        """Answer a request for which there is no route."""
        recorded = self._record(request, b"")
        status = error.status_code if isinstance(error, HTTPException) else 500
        what = "Invalid URL" if status == 404 else "Invalid method for URL"  # noqa: PLR2004  HTTP's own number
        refusal = ApiError(f"{what} ({request.method} {request.url.path})", status=status)
        return self._deliver(_error_reply(refusal), recorded)

    async def _reply(
        self,
        request: Request,
        body: bytes,
        recorded: RecordedRequest,
        owner: str,
        faults: tuple[Fault, ...],
    ) -> Reply:
        for fault in faults:
            if isinstance(fault, HttpError):
                error, headers = error_of(fault)
                return _error_reply(error, headers)
        try:
            reply = await self._answer(request, body, recorded, owner, faults)
        except ApiError as error:
            return _error_reply(error)
        for fault in faults:
            reply = damage(reply, fault)
        return reply

    async def _answer(
        self,
        request: Request,
        body: bytes,
        recorded: RecordedRequest,
        owner: str,
        faults: tuple[Fault, ...],
    ) -> Reply:
        decoded = _decode(request, body)
        for fault in faults:
            validate_against(fault, decoded)
        chosen = self._chosen_recording(request, decoded)
        if self.replay:
            self.desk.validate(decoded, owner=owner, knows_model=chosen is not None)
            due = chosen or self.replay.take(is_stream=bool(decoded.get("stream")))
            return due.to_reply()
        ticket = f"{recorded.number}:{hashlib.sha256(body).hexdigest()}"
        response = await run_in_threadpool(self.desk.answer, decoded, owner=owner, ticket=ticket)
        return _response_reply(response, decoded)

    def _chosen_recording(self, request: Request, body: Json) -> Recording | None:
        name = request.headers.get(REPLAY_HEADER)
        if name is None:
            return self.replay.find(str(body.get("model")))
        found = self.replay.find(name)
        if found is None:
            raise ApiError(f"No recording is named {name!r}.", status=404, param=REPLAY_HEADER)
        return found

    def _record(self, request: Request, body: bytes) -> RecordedRequest:
        return self.log.add(
            method=request.method, path=request.url.path, headers=request.headers.items(), body=body
        )

    def _owner(self, request: Request) -> str:
        """Return the fingerprint of the request's key.

        Raises:
            ApiError: There is none, or it is not accepted (status 401).
        """
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise ApiError(_NO_KEY, status=401)
        accepted = self.behaviour.api_keys
        if accepted is not None and key.strip() not in accepted:
            text = "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys."
            raise ApiError(text, status=401, code="invalid_api_key")
        return fingerprint(key.strip())

    def _due_faults(self, request: Request) -> tuple[Fault, ...]:
        """Return the fault that the request asks for itself, or else those that are due.

        Raises:
            ApiError: The header cannot be read.
        """
        text = request.headers.get(FAULT_HEADER)
        if text is None:
            return self.faults.take()
        try:
            asked = parse_fault(text)
        except FaultError as error:
            raise ApiError(str(error), param=FAULT_HEADER) from error
        return () if asked is None else (asked,)

    def _validate_route(self, request: Request) -> None:
        status = self.behaviour.models_status
        if status >= 400:  # noqa: PLR2004  HTTP's own number
            raise ApiError(f"Invalid URL ({request.method} {request.url.path})", status=status)

    def _model_names(self) -> tuple[str, ...]:
        if self.behaviour.models is not None:
            return self.behaviour.models
        return tuple(profile.name for profile in iter_profiles() if profile.successor is None)

    def _deliver(self, reply: Reply, recorded: RecordedRequest) -> Delivery:
        request_id = hashlib.sha256(str(recorded.number).encode()).hexdigest()[:32]
        return Delivery(
            reply,
            headers={"x-request-id": f"req_{request_id}", "openai-version": "2020-10-01"},
            chunk_bytes=self.behaviour.chunk_bytes,
            delay_seconds=self.behaviour.delay_seconds,
            stopping=self.stopping,
        )


def _decode(request: Request, body: bytes) -> Json:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        text = f"Unsupported content type: '{kind}'. This API method only accepts 'application/json' requests."
        raise ApiError(text, status=415, code="unsupported_content_type")
    try:
        decoded: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        text = "We could not parse the JSON body of your request."
        raise ApiError(text) from error
    if not is_object(decoded):
        raise ApiError("The body of your request has to be a JSON object.")
    return decoded


def _response_reply(response: Json, body: Json) -> Reply:
    if not body.get("stream"):
        return Reply(content_type="application/json", steps=(_encode(response),))
    obfuscate = object_at(body, "stream_options").get("include_obfuscation") is not False
    events = tuple(map(encode_event, iter_events(response, obfuscate=obfuscate)))
    kind = "text/event-stream; charset=utf-8"
    return Reply(content_type=kind, steps=events, is_stream=True)


def _json_reply(build: Callable[[], Json]) -> Reply:
    try:
        return Reply(content_type="application/json", steps=(_encode(build()),))
    except ApiError as error:
        return _error_reply(error)


def _error_reply(error: ApiError, headers: dict[str, str] | None = None) -> Reply:
    body = _encode(error.envelope())
    kind = "application/json"
    return Reply(status=error.status, content_type=kind, headers=headers or {}, steps=(body,))


def _encode(value: Json) -> bytes:
    return dump(value).encode(errors="backslashreplace")


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": _MODEL_CREATED, "owned_by": "system"}
