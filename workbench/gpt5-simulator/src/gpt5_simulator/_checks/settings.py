"""Checks for the settings of a request, as a real server makes them: by its schema, and for combinations that exclude each other.

Source: recorded 400 bodies; docs/evidence/responses-api.md, R1 to R16; the limits in the docstrings of openai 3.54.0.
"""

from typing import Literal

from gpt5_simulator._checks.schema import (
    SCHEMAS,
    missing,
    unknown,
    unsupported_parameter,
    unsupported_value,
    validate,
)
from gpt5_simulator._checks.strict_schemas import validate_closed
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_object, object_at, objects_in
from gpt5_simulator._profiles import ModelProfile


type Call = Literal["create", "socket", "input_tokens", "compact"]

_PARAMETERS: Json = SCHEMAS["parameters"]
_REQUEST: Json = {"properties": _PARAMETERS}
_KNOWN: dict[Call, frozenset[str]] = {
    # Only the count of tokens takes a personality, and only a WebSocket may be told not to generate.
    "create": frozenset(_PARAMETERS) - {"personality", "generate"},
    "socket": frozenset({*_PARAMETERS, "type"})
    - {"personality", "background", "background_options"},
    "input_tokens": frozenset(SCHEMAS["calls"]["input_tokens"]),
    "compact": frozenset(SCHEMAS["calls"]["compact"]),
}
# The types alone, to be looked at before the model is known.
_SHAPE: Json = {
    "properties": {
        name: {key: value for key, value in schema.items() if key in {"type", "x-type", "x-python"}}
        for name, schema in _PARAMETERS.items()
    }
}
_SAMPLING = ("temperature", "top_p", "top_logprobs")
_MAX_BREAKPOINTS = 4


def validate_shape(body: Json, *, call: Call = "create") -> None:
    """Refuse unknown parameters, missing ones, and wrong types, all of which do not depend on the model.

    Args:
        body: The request.
        call: The call that it is for.

    Raises:
        ApiError: If anything is wrong; it names the first fault.
    """
    if body.get("model") is None and call != "input_tokens":
        raise missing("model")
    for name in body:
        if name not in _KNOWN[call]:
            raise unknown(name)
    validate(body, _SHAPE, "")
    goes_on = any(body.get(name) for name in ("previous_response_id", "prompt", "conversation"))
    if body.get("input") is None and not goes_on:
        raise missing("input")


def validate_settings(body: Json, *, profile: ModelProfile) -> None:
    """Refuse settings that are out of range, that the model does not accept, or that exclude each other.

    Raises:
        ApiError: If anything is wrong; it names the first fault.
    """
    validate(body, _REQUEST, "", profile=profile)
    _validate_format(object_at(object_at(body, "text"), "format"))
    _validate_sampling(body, profile)
    _validate_stream(body, profile)
    _validate_tier(body.get("service_tier"), profile)
    _validate_cache(body, profile)
    _validate_state(body)
    if body.get("background_options") is not None:
        _validate_background(body, object_at(body, "background_options"))


def _validate_format(shape: Json) -> None:
    if shape.get("type") != "json_schema":
        return
    validate(shape, SCHEMAS["json_schema"], "text.format")
    # A missing `strict` counts as true. Source: docs/evidence/responses-api.md, R18.
    if shape.get("strict") is not False:
        label = f"Invalid schema for response_format '{shape['name']}'"
        param, code = "text.format.schema", "invalid_json_schema"
        validate_closed(shape["schema"], label=label, param=param, code=code)


def _validate_sampling(body: Json, profile: ModelProfile) -> None:
    effort = object_at(body, "reasoning").get("effort") or profile.default_effort
    if effort == "none" or profile.takes_sampling:
        return
    for name in _SAMPLING:
        if body.get(name) is not None:
            raise unsupported_parameter(name)
    if "message.output_text.logprobs" in (body.get("include") or ()):
        raise unsupported_parameter("include")


def _validate_stream(body: Json, profile: ModelProfile) -> None:
    if body.get("stream") and not profile.streams:
        text = f"Unsupported value: 'stream' does not support true with the '{profile.snapshot}' model. Supported values are: false."
        raise ApiError(text, param="stream", code="unsupported_value")
    if body.get("stream_options") is not None and not body.get("stream"):
        text = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise ApiError(text, param="stream_options")


def _validate_tier(tier: object, profile: ModelProfile) -> None:
    # `priority` is not refused: a model that lacks it serves the request as usual.
    if tier in ("flex", "ultrafast") and tier not in profile.tiers:
        accepted = ("auto", "default", *profile.tiers)
        raise unsupported_value("service_tier", tier, profile=profile, accepted=accepted)


def _validate_cache(body: Json, profile: ModelProfile) -> None:
    marked = [
        f"input[{index}].content[{position}].prompt_cache_breakpoint"
        for index, item in enumerate(objects_in(body.get("input")))
        for position, part in enumerate(objects_in(item.get("content")))
        if "prompt_cache_breakpoint" in part
    ]
    if not profile.has_cache_options:
        if body.get("prompt_cache_options") is not None:
            raise unsupported_parameter("prompt_cache_options")
        if marked:
            raise unsupported_parameter(marked[0])
    # In the implicit mode the server sets one of the four breakpoints by itself.
    is_explicit = object_at(body, "prompt_cache_options").get("mode") == "explicit"
    most = _MAX_BREAKPOINTS if is_explicit else _MAX_BREAKPOINTS - 1
    if len(marked) > most:
        text = f"Too many cache breakpoints. Expected at most {most}, but got {len(marked)}."
        raise ApiError(text, param=marked[most], code="invalid_value")
    retention: str | None = body.get("prompt_cache_retention")
    if retention == "in_memory" and profile.keeps_cache:
        raise unsupported_value(
            "prompt_cache_retention", retention, profile=profile, accepted=("24h",)
        )


def _validate_state(body: Json) -> None:
    """Refuse references to conversations and prompts, of which the simulator has none."""
    conversation: object = body.get("conversation")
    if conversation is not None:
        if body.get("previous_response_id") is not None:
            text = (
                "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. "
                "Ensure you are only providing one of: 'previous_response_id' or 'conversation'."
            )
            raise ApiError(text, param="conversation", code="mutually_exclusive_parameters")
        named = conversation.get("id") if is_object(conversation) else conversation
        raise ApiError(f"Conversation with id '{named}' not found.", status=404)
    if body.get("prompt") is not None:
        raise ApiError(f"Prompt with id '{body['prompt']['id']}' not found.", status=404)


def _validate_background(body: Json, options: Json) -> None:
    if not body.get("background"):
        text = "The 'background_options' parameter is only allowed when 'background' is enabled."
        raise ApiError(text, param="background_options")
    if options.get("completion_window") is None:
        return
    if body.get("stream"):
        text = "A response with a 'completion_window' cannot be streamed."
        raise ApiError(text, param="stream", code="unsupported_value")
    if body.get("service_tier") not in (None, "auto", "default"):
        text = "A response with a 'completion_window' is served in the default service tier only."
        raise ApiError(text, param="service_tier", code="unsupported_value")
