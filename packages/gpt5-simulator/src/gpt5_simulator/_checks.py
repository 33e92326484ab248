"""What a real server would refuse about a request as a whole.

Messages are in our own words, close to OpenAI's; `param` and `code` are OpenAI's own.

Source: recorded 400 and 404 bodies; docs/evidence/responses-api.md, R1 to R16; https://platform.openai.com/docs/api-reference/responses/create,
read in November 2026.
"""

from collections.abc import Callable, Sequence

from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_array, is_object, object_at
from gpt5_simulator._profiles import ModelProfile


_PARAMETERS = frozenset(
    {
        "access_programs",
        "background",
        "background_options",
        "context_management",
        "conversation",
        "image",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "moderation",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    }
)
_REASONING = frozenset({"context", "effort", "generate_summary", "mode", "summary"})
_TEXT = frozenset({"format", "verbosity"})
_INCLUDABLE = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)
_TYPES: tuple[tuple[str, type | tuple[type, ...], str], ...] = (
    ("model", str, "a string"),
    ("input", (str, list), "a string or an array"),
    ("instructions", str, "a string"),
    ("include", list, "an array of strings"),
    ("max_output_tokens", int, "an integer"),
    ("metadata", dict, "an object"),
    ("parallel_tool_calls", bool, "a boolean"),
    ("previous_response_id", str, "a string"),
    ("prompt_cache_key", str, "a string"),
    ("reasoning", dict, "an object"),
    ("safety_identifier", str, "a string"),
    ("store", bool, "a boolean"),
    ("stream", bool, "a boolean"),
    ("stream_options", dict, "an object"),
    ("text", dict, "an object"),
    ("tool_choice", (str, dict), "a string or an object"),
    ("tools", list, "an array"),
)
_MIN_OUTPUT_TOKENS = 16
_MAX_LENGTHS = {"safety_identifier": 128, "prompt_cache_key": 64}
_MAX_METADATA = 16
_SAMPLING = ("temperature", "top_p", "top_logprobs")


def validate_shape(body: Json) -> None:
    """Refuse unknown parameters, missing ones, and wrong types.

    Raises:
        ApiError: If anything is wrong; it says the first thing.
    """
    if body.get("model") is None:
        raise missing("model")
    for name in body:
        if name not in _PARAMETERS:
            raise unknown(name)
    for name, accepted, wanted in _TYPES:
        _validate_type(body, name, accepted, wanted)
    if body.get("input") is None and not _continues(body):
        raise missing("input")


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
        _validate_fixed,
    )
    for check in checks:
        check(body, profile)


def missing(param: str) -> ApiError:
    """Return the error for a parameter that is not there."""
    text = f"Missing required parameter: '{param}'."
    return ApiError(text, param=param, code="missing_required_parameter")


def unknown(param: str) -> ApiError:
    """Return the error for a parameter that does not exist."""
    return ApiError(f"Unknown parameter: '{param}'.", param=param, code="unknown_parameter")


def wrong_type(param: str, *, wanted: str, got: object) -> ApiError:
    """Return the error for a value of the wrong JSON type."""
    text = f"Invalid type for '{param}': expected {wanted}, but got {json_type(got)} instead."
    return ApiError(text, param=param, code="invalid_type")


def bad_value(param: str, value: object, *, accepted: Sequence[str]) -> ApiError:
    """Return the error for a value outside a fixed list."""
    text = f"Invalid value: '{value}'. Supported values are: {enumeration(accepted)}."
    return ApiError(text, param=param, code="invalid_value")


def unsupported_value(
    param: str, value: object, *, profile: ModelProfile, accepted: Sequence[str]
) -> ApiError:
    """Return the error for a value that this model does not accept; without accepted values it takes no such parameter."""
    if not accepted:
        return unsupported_parameter(param)
    text = (
        f"Unsupported value: '{value}' is not supported with the '{profile.snapshot}' model. "
        f"Supported values are: {enumeration(accepted)}."
    )
    return ApiError(text, param=param, code="unsupported_value")


def unsupported_parameter(param: str) -> ApiError:
    """Return the error for a parameter that this model does not take."""
    text = f"Unsupported parameter: '{param}' is not supported with this model."
    return ApiError(text, param=param)


def enumeration(values: Sequence[str]) -> str:
    """Return values quoted and joined the way OpenAI does it: 'a', 'b', and 'c'."""
    quoted = [f"'{value}'" for value in values]
    match quoted:
        case [first]:
            return first
        case [first, last]:
            return f"{first} and {last}"
        case _:
            return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def json_type(value: object) -> str:
    """Return the JSON name of a value's type, with its article."""
    names: dict[type, str] = {
        type(None): "null",
        bool: "a boolean",
        int: "an integer",
        float: "a decimal number",
        str: "a string",
        list: "an array",
    }
    return names.get(type(value), "an object")


def _continues(body: Json) -> bool:
    return any(body.get(name) for name in ("previous_response_id", "prompt", "conversation"))


def _validate_type(body: Json, name: str, accepted: type | tuple[type, ...], wanted: str) -> None:
    value: object = body.get(name)
    is_disguised = isinstance(value, bool) and accepted is int
    if value is not None and (is_disguised or not isinstance(value, accepted)):
        raise wrong_type(name, wanted=wanted, got=value)


def _validate_limits(body: Json, profile: ModelProfile) -> None:
    del profile  # the same for all
    limit: int | None = body.get("max_output_tokens")
    if limit is not None and limit < _MIN_OUTPUT_TOKENS:
        text = (
            "Invalid 'max_output_tokens': integer below minimum value. "
            f"Expected a value >= {_MIN_OUTPUT_TOKENS}, but got {limit} instead."
        )
        raise ApiError(text, param="max_output_tokens", code="integer_below_min_value")
    for name, longest in _MAX_LENGTHS.items():
        length = len(body.get(name) or "")
        if length > longest:
            text = (
                f"Invalid '{name}': string too long. Expected a string with maximum length {longest}, "
                f"but got a string with length {length} instead."
            )
            raise ApiError(text, param=name, code="string_above_max_length")
    if len(object_at(body, "metadata")) > _MAX_METADATA:
        text = f"Invalid 'metadata': too many properties. Expected at most {_MAX_METADATA}."
        raise ApiError(text, param="metadata", code="object_above_max_properties")


def _validate_reasoning(body: Json, profile: ModelProfile) -> None:
    reasoning = object_at(body, "reasoning")
    _validate_members("reasoning", reasoning, _REASONING)
    accepted = {"effort": profile.efforts, "summary": profile.summaries}
    for name, values in accepted.items():
        _validate_choice(f"reasoning.{name}", reasoning.get(name), values, profile)


def _validate_text(body: Json, profile: ModelProfile) -> None:
    text = object_at(body, "text")
    _validate_members("text", text, _TEXT)
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


def validate_closed(schema: Json, *, label: str, param: str, code: str, path: str = "") -> None:
    """Refuse a strict schema with an object in it that is open or has optional properties.

    Raises:
        ApiError: If there is such an object; it names the first one.
    """
    context = f"In context=({path})"
    if schema.get("type") == "object" or "properties" in schema:
        if schema.get("additionalProperties") is not False:
            text = f"{label}: {context}, 'additionalProperties' is required to be supplied and to be false."
            raise ApiError(text, param=param, code=code)
        optional = set(object_at(schema, "properties")) - set(schema.get("required") or ())
        if optional:
            text = (
                f"{label}: {context}, 'required' is required to be supplied and to be an array including "
                f"every key in properties. Missing '{min(optional)}'."
            )
            raise ApiError(text, param=param, code=code)
    for step, inner in _subschemas(schema):
        deeper = f"{path}, {step}" if path else step
        validate_closed(inner, label=label, param=param, code=code, path=deeper)


def _subschemas(schema: Json) -> list[tuple[str, Json]]:
    named = [
        (f"'{group}', '{name}'", inner)
        for group in ("properties", "$defs", "definitions")
        for name, inner in object_at(schema, group).items()
    ]
    listed = [
        (f"'{group}', '{index}'", inner)
        for group in ("anyOf", "oneOf", "allOf")
        for index, inner in enumerate(schema.get(group) or ())
    ]
    single = [("'items'", schema.get("items"))]
    return [(step, inner) for step, inner in (*named, *listed, *single) if is_object(inner)]


def _validate_sampling(body: Json, profile: ModelProfile) -> None:
    effort = object_at(body, "reasoning").get("effort") or profile.default_effort
    if effort == "none" or profile.takes_sampling:
        return
    for name in _SAMPLING:
        if body.get(name) is not None:
            raise unsupported_parameter(name)


def _validate_stream(body: Json, profile: ModelProfile) -> None:
    if body.get("stream") and not profile.streams:
        text = f"Unsupported value: 'stream' does not support true with the '{profile.snapshot}' model. Supported values are: false."
        raise ApiError(text, param="stream", code="unsupported_value")
    if body.get("stream_options") is not None and not body.get("stream"):
        text = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise ApiError(text, param="stream_options")


def _validate_fixed(body: Json, profile: ModelProfile) -> None:
    del profile  # the same for all
    include: object = body.get("include")
    for index, entry in enumerate(include if is_array(include) else ()):
        if entry not in _INCLUDABLE:
            raise bad_value(f"include[{index}]", entry, accepted=_INCLUDABLE)
    truncation: object = body.get("truncation")
    if truncation not in (None, "auto", "disabled"):  # a tuple: it may be unhashable
        raise bad_value("truncation", truncation, accepted=("auto", "disabled"))


def _validate_members(param: str, value: Json, known: frozenset[str]) -> None:
    for name in value:
        if name not in known:
            raise unknown(f"{param}.{name}")


def _validate_choice(
    param: str, value: object, accepted: Sequence[str], profile: ModelProfile
) -> None:
    if value is not None and value not in accepted:
        raise unsupported_value(param, value, profile=profile, accepted=accepted)
