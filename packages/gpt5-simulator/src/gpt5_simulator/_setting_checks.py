"""What a real server would refuse about the settings of a request.

Messages are in our own words, close to OpenAI's; `param` and `code` are OpenAI's own.

Source: recorded 400 bodies; docs/evidence/responses-api.md, R1 to R16; the limits in the docstrings of openai 3.54.0.
"""

from collections.abc import Callable, Sequence

from gpt5_simulator._checks import (
    bad_value,
    missing,
    unsupported_parameter,
    unsupported_value,
    validate_closed,
    validate_includes,
    validate_members,
    validate_value,
    wrong_type,
)
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_array, is_object, object_at, objects_in
from gpt5_simulator._limits import validate_length, validate_number
from gpt5_simulator._profiles import ModelProfile


_REASONING = frozenset({"context", "effort", "generate_summary", "mode", "summary"})
_TEXT = frozenset({"format", "verbosity"})
_TIERS = ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
_NUMBERS: dict[str, tuple[float, float | None]] = {
    "max_output_tokens": (16, None),
    "max_tool_calls": (1, None),
    "temperature": (0, 2),
    "top_p": (0, 1),
    "top_logprobs": (0, 20),
}
_MAX_LENGTHS = {"safety_identifier": 128, "prompt_cache_key": 64}
_LEAST_THRESHOLD = 1000
_MAX_METADATA = 16
_MAX_KEY = 64
_MAX_VALUE = 512
_SAMPLING = ("temperature", "top_p", "top_logprobs")
_WINDOWS = ("soonest", "2h", "8h")
_MAX_BREAKPOINTS = 4


def validate_settings(body: Json, *, profile: ModelProfile) -> None:
    """Refuse settings that are out of range or that the model does not accept.

    Raises:
        ApiError: If anything is wrong; it says the first thing.
    """
    checks: Sequence[Callable[[Json, ModelProfile], None]] = (
        _validate_limits,
        _validate_reasoning,
        _validate_text,
        _validate_sampling,
        _validate_stream,
        _validate_tier,
        _validate_cache,
        _validate_fixed,
        _validate_state,
        _validate_background,
    )
    for check in checks:
        check(body, profile)


def _validate_limits(body: Json, profile: ModelProfile) -> None:
    del profile  # the same for all
    for name, (least, most) in _NUMBERS.items():
        if body.get(name) is not None:
            validate_number(name, body[name], least=least, most=most)
    for name, longest in _MAX_LENGTHS.items():
        validate_length(name, body.get(name) or "", most=longest)
    metadata = object_at(body, "metadata")
    if len(metadata) > _MAX_METADATA:
        text = f"Invalid 'metadata': too many properties. Expected at most {_MAX_METADATA}."
        raise ApiError(text, param="metadata", code="object_above_max_properties")
    for key, value in metadata.items():
        where = f"metadata.{key}"
        if not isinstance(value, str):
            raise wrong_type(where, wanted="a string", got=value)
        validate_length(where[: _MAX_KEY + len("metadata.")], key, most=_MAX_KEY)
        validate_length(where, value, most=_MAX_VALUE)


def _validate_reasoning(body: Json, profile: ModelProfile) -> None:
    reasoning = object_at(body, "reasoning")
    validate_members("reasoning", reasoning, _REASONING)
    accepted = {
        "effort": profile.efforts,
        "summary": profile.summaries,
        "context": profile.contexts,
        "mode": profile.modes,
    }
    for name, values in accepted.items():
        _validate_choice(f"reasoning.{name}", reasoning.get(name), values, profile)


def _validate_text(body: Json, profile: ModelProfile) -> None:
    text = object_at(body, "text")
    validate_members("text", text, _TEXT)
    _validate_choice("text.verbosity", text.get("verbosity"), profile.verbosities, profile)
    shape = object_at(text, "format")
    kind: object = shape.get("type", "text")
    accepted = ("text", "json_schema", "json_object")  # a tuple: it may be unhashable
    if kind not in accepted:
        raise bad_value("text.format.type", kind, accepted=accepted)
    if kind == "json_schema":
        _validate_json_schema(shape)


def _validate_json_schema(shape: Json) -> None:
    for name in ("name", "schema"):
        if shape.get(name) is None:
            raise missing(f"text.format.{name}")
    schema: object = shape["schema"]
    if not is_object(schema):
        raise wrong_type("text.format.schema", wanted="an object", got=schema)
    if shape.get("strict") is not False:
        label = f"Invalid schema for response_format '{shape['name']}'"
        validate_closed(schema, label=label, param="text.format.schema", code="invalid_json_schema")


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
    options = object_at(body, "stream_options")
    validate_members("stream_options", options, ("include_obfuscation",))
    asked: object = options.get("include_obfuscation")
    if asked is not None and not isinstance(asked, bool):
        raise wrong_type("stream_options.include_obfuscation", wanted="a boolean", got=asked)


def _validate_fixed(body: Json, profile: ModelProfile) -> None:
    del profile  # the same for all
    include: object = body.get("include")
    validate_includes(include if is_array(include) else ())
    validate_value("truncation", body.get("truncation"), ("auto", "disabled"))
    for index, entry in enumerate(objects_in(body.get("context_management"))):
        where = f"context_management[{index}]"
        validate_value(f"{where}.type", entry.get("type", ""), ("compaction",))
        threshold: object = entry.get("compact_threshold")
        if isinstance(threshold, int):
            validate_number(f"{where}.compact_threshold", threshold, least=_LEAST_THRESHOLD)


def _validate_tier(body: Json, profile: ModelProfile) -> None:
    tier: object = body.get("service_tier")
    validate_value("service_tier", tier, _TIERS)
    if tier in ("flex", "ultrafast") and tier not in profile.tiers:
        accepted = ("auto", "default", *profile.tiers)
        raise unsupported_value("service_tier", tier, profile=profile, accepted=accepted)


def _validate_cache(body: Json, profile: ModelProfile) -> None:
    options = object_at(body, "prompt_cache_options")
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
    known = ("comparison_response_id", "mode", "prewarm", "ttl")
    validate_members("prompt_cache_options", options, known)
    validate_value("prompt_cache_options.mode", options.get("mode"), ("implicit", "explicit"))
    validate_value("prompt_cache_options.ttl", options.get("ttl"), ("30m", "12h"))
    mode: str | None = options.get("mode")
    most = _MAX_BREAKPOINTS if mode == "explicit" else _MAX_BREAKPOINTS - 1
    if len(marked) > most:
        text = f"Too many cache breakpoints. Expected at most {most}, but got {len(marked)}."
        raise ApiError(text, param=marked[most], code="invalid_value")
    retention: str | None = body.get("prompt_cache_retention")
    validate_value("prompt_cache_retention", retention, ("in_memory", "24h"))
    if retention == "in_memory" and profile.keeps_cache:
        raise unsupported_value(
            "prompt_cache_retention", retention, profile=profile, accepted=("24h",)
        )


def _validate_state(body: Json, profile: ModelProfile) -> None:
    """Refuse what is to go on with something that the server does not have: it keeps no conversations and no prompts."""
    del profile  # the same for all
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
        name: object = object_at(body, "prompt").get("id")
        if name is None:
            raise missing("prompt.id")
        raise ApiError(f"Prompt with id '{name}' not found.", status=404)


def _validate_background(body: Json, profile: ModelProfile) -> None:
    del profile  # the same for all
    if body.get("background_options") is None:
        return
    options = object_at(body, "background_options")
    if not body.get("background"):
        text = "The 'background_options' parameter is only allowed when 'background' is enabled."
        raise ApiError(text, param="background_options")
    validate_members("background_options", options, ("completion_window", "continuation_id"))
    window: object = options.get("completion_window")
    validate_value("background_options.completion_window", window, _WINDOWS)
    if window is not None and body.get("stream"):
        text = "A response with a 'completion_window' cannot be streamed."
        raise ApiError(text, param="stream", code="unsupported_value")
    if window is not None and body.get("service_tier") not in (None, "auto", "default"):
        text = "A response with a 'completion_window' is served in the default service tier only."
        raise ApiError(text, param="service_tier", code="unsupported_value")


def _validate_choice(
    param: str, value: object, accepted: Sequence[str], profile: ModelProfile
) -> None:
    if value is not None and value not in accepted:
        raise unsupported_value(param, value, profile=profile, accepted=accepted)
