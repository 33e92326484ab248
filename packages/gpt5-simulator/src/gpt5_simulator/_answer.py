"""From a request to the response object: checks, the model, what it cost, what is kept."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from gpt5_simulator._checks import validate_settings, validate_shape
from gpt5_simulator._encrypted import build_token, is_genuine_token
from gpt5_simulator._errors import ApiError
from gpt5_simulator._item_checks import validate_conversation, validate_items
from gpt5_simulator._json import Json
from gpt5_simulator._lifetimes import Lifetimes
from gpt5_simulator._output import IdSource, build_output
from gpt5_simulator._profiles import ModelProfile, profile_for, profile_for_unknown
from gpt5_simulator._request import ModelRequest, input_items, read_request
from gpt5_simulator._response import build_response
from gpt5_simulator._store import ResponseStore
from gpt5_simulator._tool_checks import validate_tools
from gpt5_simulator._turn import Model
from gpt5_simulator._usage import PromptCache, build_usage, prompt_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Responder:
    """What answers requests, as many at once as come.

    Attributes:
        model: What says what is said.
        models: The ids that are served; None means all known ones.
        strict: Whether requests are checked as a real server checks them.
        lifetimes: How long the models are served.
        seed: A number that goes into every id.
        clock: Returns the time in seconds since 1970.
    """

    model: Model
    models: tuple[str, ...] | None
    strict: bool
    lifetimes: Lifetimes
    seed: int
    clock: Callable[[], float]
    store: ResponseStore = field(default_factory=ResponseStore)
    _cache: PromptCache = field(default_factory=PromptCache)
    _lock: Lock = field(default_factory=Lock)

    def answer(self, body: Json, *, owner: str, id_source: str) -> Json:
        """Return the final response object.

        Args:
            body: The request.
            owner: The fingerprint of the request's key.
            id_source: Text that no other request has; ids are made from it.

        Raises:
            ApiError: If the checks or the model refuse the request.
        """
        request = self.read(body, owner=owner)
        turn = self.model.respond(request)
        ids = IdSource(f"{self.seed}:{id_source}")
        response_id = ids.make("resp")
        key = _key(owner)
        output = build_output(
            turn, request=request, ids=ids, encrypt=lambda item_id: build_token(item_id, key=key)
        )
        usage = build_usage(
            prompt=(prompt := prompt_text(request)),
            cached=self._cached_tokens(prompt, request, owner),
            output=output.tokens,
            reasoning=output.reasoning,
        )
        response = build_response(
            request=request,
            output=output,
            response_id=response_id,
            created_at=int(self.clock()),
            usage=usage,
        )
        self._keep(response, request, owner)
        return response

    def read(self, body: Json, *, owner: str, knows_model: bool = False) -> ModelRequest:
        """Return a request as the model reads it.

        Args:
            body: The request.
            owner: The fingerprint of the request's key.
            knows_model: Whether any model is accepted.

        Raises:
            ApiError: If a real server would refuse the request.
        """
        if self.strict:
            validate_shape(body)
        profile = self._profile(str(body.get("model")), knows_model=knows_model)
        if self.strict:
            validate_settings(body, profile=profile)
            validate_tools(body)
            validate_items(body.get("input"), profile=profile)
        earlier = self._earlier(body, owner)
        if self.strict:
            self._validate_conversation((*earlier, *input_items(body)), owner)
        return read_request(body, profile=profile, earlier=earlier)

    def _profile(self, model: str, *, knows_model: bool) -> ModelProfile:
        if self.lifetimes.is_over(model):
            raise _deprecated(model)
        known = profile_for(model)
        is_listed = self.models is not None and model in self.models
        if knows_model or is_listed or not self.strict:
            return known or profile_for_unknown(model)
        if known is None or self.models is not None:
            text = f"The requested model '{model}' does not exist."
            raise ApiError(text, status=404, param="model", code="model_not_found")
        if known.successor is not None:
            raise _deprecated(model)
        return known

    def _earlier(self, body: Json, owner: str) -> tuple[Json, ...]:
        previous: object = body.get("previous_response_id")
        if not isinstance(previous, str):
            return ()
        with self._lock:
            return self.store.conversation(previous, owner=owner)

    def _validate_conversation(self, items: tuple[Json, ...], owner: str) -> None:
        key = _key(owner)

        def is_genuine(item: Json) -> bool:
            return is_genuine_token(item["encrypted_content"], item_id=item.get("id"), key=key)

        def is_stored(item_id: str) -> bool:
            with self._lock:
                return self.store.item(item_id, owner=owner) is not None

        validate_conversation(items, is_genuine=is_genuine, is_stored=is_stored)

    def _cached_tokens(self, prompt: str, request: ModelRequest, owner: str) -> int:
        label = request.body.get("prompt_cache_key") or request.body.get("instructions")
        scope = f"{owner}\n{request.profile.name}\n{label}"
        with self._lock:
            return self._cache.cached_tokens(prompt, scope=scope)

    def _keep(self, response: Json, request: ModelRequest, owner: str) -> None:
        if response["store"]:
            with self._lock:
                self.store.keep(response, items=request.items, owner=owner)


def _deprecated(model: str) -> ApiError:
    """Return the refusal of a model that has been shut down, in the words in which a gateway's documentation quotes the real server."""
    text = f"The model `{model}` has been deprecated"
    return ApiError(text, status=404, code="model_not_found")


def _key(owner: str) -> bytes:
    """Return the key that signs a customer's reasoning; the same in every simulator, so that a restart loses nothing."""
    return hashlib.sha256(f"gpt5-simulator {owner}".encode()).digest()
