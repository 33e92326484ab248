"""From a request to the response object: checks, the model, usage, the store."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock

from gpt5_simulator._checks.conversation import lost_item, validate_conversation
from gpt5_simulator._checks.items import validate_items
from gpt5_simulator._checks.settings import Call, validate_settings, validate_shape
from gpt5_simulator._checks.tools import validate_tools
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, dump, object_at, objects_in
from gpt5_simulator._lifetimes import Lifetimes
from gpt5_simulator._model.turn import Model
from gpt5_simulator._profiles import ModelProfile, profile_for, profile_for_unknown
from gpt5_simulator._request import ModelRequest, input_items, item_type, read_request
from gpt5_simulator._responses.item_kinds import without_unasked
from gpt5_simulator._responses.output import IdSource, Output, build_compaction, build_output
from gpt5_simulator._responses.response import build_response
from gpt5_simulator._responses.usage import (
    CacheUse,
    PromptCache,
    build_usage,
    count_tokens,
    prompt_text,
)
from gpt5_simulator._stored.background import BackgroundRun
from gpt5_simulator._stored.store import Lane, ResponseStore, StoredResponse
from gpt5_simulator._stored.stored_calls import listed_items


_SHORTER = 4  # how many times shorter a compacted conversation is; our choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Responder:
    """The part of the server that answers requests, any number at once.

    Attributes:
        model: The model that decides the answers.
        models: The ids that are served; None means all known ones.
        strict: Whether requests are checked as by a real server.
        lifetimes: The days on which models are shut down.
        seed: A number that goes into every id.
        clock: Returns the time in seconds since 1970.
        background_seconds: How long a background response takes.
    """

    model: Model
    models: tuple[str, ...] | None
    strict: bool
    lifetimes: Lifetimes
    seed: int
    clock: Callable[[], float]
    background_seconds: float = 0.0
    store: ResponseStore = field(default_factory=ResponseStore)
    _cache: PromptCache = field(default_factory=PromptCache)
    # For the store and the cache: requests are answered in threads, many at once.
    _lock: Lock = field(default_factory=Lock)

    def answer(
        self, body: Json, *, owner: str, id_source: str, lane: Lane | None = None
    ) -> tuple[Json, BackgroundRun | None]:
        """Return the final response to a request, with its run if it is made in the background; store it if the request asks for that.

        Args:
            body: The request.
            owner: The fingerprint of the request's key.
            id_source: Text that no other request has; ids are made from it.
            lane: What the request's WebSocket remembers; None for a request over HTTP.

        Raises:
            ApiError: If the checks or the model refuse the request.
        """
        request = self.read(body, owner=owner, lane=lane)
        ids = self._ids(id_source, owner)
        response_id = ids.make("resp")
        now = self.clock()
        # The whole response is made here, also in the background; there the run decides how much of it
        # is to be seen at a time.
        run = None
        if body.get("background"):
            run = BackgroundRun(started=now, seconds=self.background_seconds)
        output, error = self._output(request, ids, is_background=run is not None)
        # After the model, so that a request that it refuses leaves nothing in the cache.
        usage = build_usage(
            prompt=(prompt := prompt_text(request)),
            cache=self._cache_use(prompt, request, owner),
            output=output.tokens,
            reasoning=output.reasoning,
        )
        response = build_response(
            request=request,
            output=output,
            response_id=response_id,
            created_at=int(now),
            usage=usage,
        )
        if error is not None:
            failed = {"code": error.code or "server_error", "message": error.message}
            response |= {"status": "failed", "error": failed, "completed_at": None, "usage": None}
        # A background response is kept for some minutes even with `store: false`, to be polled.
        if response["store"] or run is not None:
            kept = StoredResponse(
                response=response, items=request.items, is_streamed=request.stream, run=run
            )
            with self._lock:
                self.store.keep(kept, owner=owner)
        # Stored whole and shown in part: a later GET may include more than this request did.
        shown = [without_unasked(item, request.include) for item in output.items]
        return response | {"output": shown}, run

    def count(self, body: Json, *, owner: str) -> int:
        """Return how many input tokens a request would have.

        Raises:
            ApiError: If a real server would refuse the request.
        """
        return count_tokens(prompt_text(self.read(body, owner=owner, call="input_tokens")))

    def compact(self, body: Json, *, owner: str, id_source: str) -> Json:
        """Return a compacted conversation: the user's messages, and one item in place of the rest.

        Args:
            body: The request.
            owner: The fingerprint of the request's key.
            id_source: Text that no other request has; ids are made from it.

        Raises:
            ApiError: If a real server would refuse the request.
        """
        request = self.read(body, owner=owner, call="compact")
        ids = self._ids(id_source, owner)
        response_id = ids.make("resp")
        said = [item for item in request.items if item.get("role") == "user"]
        compaction = build_compaction(ids)
        with self._lock:
            self.store.keep_window(str(compaction["id"]), said)
        rest = [item for item in request.items if item.get("role") != "user"]
        prompt = prompt_text(request)
        usage = build_usage(
            prompt=prompt,
            cache=self._cache_use(prompt, request, owner),
            output=1 + count_tokens(dump(rest)) // _SHORTER,
            reasoning=0,
        )
        return {
            "id": response_id,
            "object": "response.compaction",
            "created_at": int(self.clock()),
            "output": [*listed_items(said, material=response_id), compaction],
            "usage": usage,
        }

    def read(
        self,
        body: Json,
        *,
        owner: str,
        knows_model: bool = False,
        call: Call = "create",
        lane: Lane | None = None,
    ) -> ModelRequest:
        """Return a request as the model reads it.

        Args:
            body: The request.
            owner: The fingerprint of the request's key.
            knows_model: Whether any model is accepted.
            call: The call that it is for.
            lane: What the request's WebSocket remembers; it notes the conversation there.

        Raises:
            ApiError: If a real server would refuse the request.
        """
        if call == "create" and lane is not None:
            call = "socket"
        lane = lane or Lane()
        # The shape first: what follows relies on the types of the fields.
        if self.strict:
            validate_shape(body, call=call)
        if body.get("model") is None and call == "input_tokens":
            profile = profile_for_unknown("")
        else:
            profile = self._profile(str(body.get("model")), knows_model=knows_model)
        if self.strict:
            validate_settings(body, profile=profile)
            validate_tools(body, profile=profile)
            validate_items(body.get("input"), profile=profile)
        # One lock for all of it: nothing that a reference leads to may go before it has been checked.
        with self._lock:
            said = (self._referenced(item, owner) for item in input_items(body))
            items = lane.asked = (*self._earlier(body, owner, lane), *said)
            if self.strict:
                is_stored = partial(self._is_stored, owner=owner, lane=lane)
                validate_conversation(items, key=_key(owner), is_stored=is_stored)
                self.store.validate_windows(input_items(body))
        return read_request(body, profile=profile, items=items)

    def _ids(self, id_source: str, owner: str) -> IdSource:
        return IdSource(f"{self.seed}:{id_source}", key=_key(owner))

    def _output(
        self, request: ModelRequest, ids: IdSource, *, is_background: bool
    ) -> tuple[Output, ApiError | None]:
        """Return the model's output; for a background response the error as well, if the model refused."""
        warms_up = object_at(request.body, "prompt_cache_options").get("prewarm")
        if warms_up or request.body.get("generate") is False:
            return Output(items=(), tokens=0, reasoning=0, is_cut=False), None
        try:
            turn = self.model.respond(request)
        except ApiError as error:
            # A background request is answered before the model is asked: its error comes with a poll.
            if not is_background:
                raise
            return Output(items=(), tokens=0, reasoning=0, is_cut=False), error
        output = build_output(turn, request=request, ids=ids)
        if self._is_long(request, output):
            output = replace(output, items=(*output.items, build_compaction(ids)))
        return output, None

    def _is_long(self, request: ModelRequest, output: Output) -> bool:
        """Return whether to compact the conversation: because the request asks for it, or because it has crossed its threshold."""
        asked = any(item.get("type") == "compaction_trigger" for item in input_items(request.body))
        tokens = count_tokens(prompt_text(request)) + output.tokens
        bounds = objects_in(request.body.get("context_management"))
        return asked or any(
            tokens > (bound.get("compact_threshold") or math.inf) for bound in bounds
        )

    def _referenced(self, item: Json, owner: str) -> Json:
        """Return an item of the input, or the stored item that it refers to."""
        # An image without its data stands for the one that is stored.
        is_bare = item.get("type") == "image_generation_call" and "result" not in item
        if item_type(item) != "item_reference" and not is_bare:
            return item
        found = self.store.find_item(str(item.get("id")), owner=owner)
        if found is None:
            raise lost_item(str(item.get("id")))
        return found

    def _profile(self, model: str, *, knows_model: bool) -> ModelProfile:
        if self.lifetimes.is_over(model):
            raise _deprecated(model)
        known = profile_for(model)
        # What the caller lists is served, whatever the table says of it: retired, or not known.
        is_listed = self.models is not None and model in self.models
        if knows_model or is_listed or not self.strict:
            return known or profile_for_unknown(model)
        if known is None or self.models is not None:
            text = f"The requested model '{model}' does not exist."
            raise ApiError(text, status=404, param="model", code="model_not_found")
        if known.successor is not None:
            raise _deprecated(model)
        return known

    def _earlier(self, body: Json, owner: str, lane: Lane) -> tuple[Json, ...]:
        previous: object = body.get("previous_response_id")
        if not isinstance(previous, str):
            return ()
        if previous == lane.response_id:
            return lane.items
        return self.store.conversation(previous, owner=owner)

    def _is_stored(self, item_id: str, *, owner: str, lane: Lane) -> bool:
        is_kept = any(item.get("id") == item_id for item in lane.items)
        return is_kept or self.store.find_item(item_id, owner=owner) is not None

    def _cache_use(self, prompt: str, request: ModelRequest, owner: str) -> CacheUse:
        # Requests share a cache if the server routes them alike: by their key, or by how they begin.
        label = request.body.get("prompt_cache_key") or request.body.get("instructions")
        scope = f"{owner}\n{request.profile.name}\n{label}"
        with self._lock:
            return self._cache.use(prompt, scope=scope, request=request)


def _deprecated(model: str) -> ApiError:
    """Return the refusal of a model that has been shut down, in the real server's words, as a gateway's documentation quotes them."""
    text = f"The model `{model}` has been deprecated"
    return ApiError(text, status=404, code="model_not_found")


def _key(owner: str) -> bytes:
    """Return the key that signs a customer's reasoning; the same in every simulator, so that a restart loses nothing."""
    return hashlib.sha256(f"gpt5-simulator {owner}".encode()).digest()
