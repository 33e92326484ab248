"""What a real server would refuse about the shape of a request, and the errors that say so.

Messages are in our own words, close to OpenAI's; `param` and `code` are OpenAI's own.

Source: recorded 400 and 404 bodies; docs/evidence/responses-api.md, R1 to R16; https://platform.openai.com/docs/api-reference/responses/create,
read in November 2026.
"""

from collections.abc import Collection, Sequence
from typing import Literal

from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_object, object_at
from gpt5_simulator._profiles import ModelProfile


type Call = Literal["create", "input_tokens", "compact"]

_CREATE = frozenset(
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
_PARAMETERS: dict[Call, frozenset[str]] = {
    "create": _CREATE,
    "input_tokens": frozenset(
        {
            "conversation",
            "input",
            "instructions",
            "model",
            "parallel_tool_calls",
            "personality",
            "previous_response_id",
            "reasoning",
            "text",
            "tool_choice",
            "tools",
            "truncation",
        }
    ),
    "compact": frozenset(
        {
            "image",
            "input",
            "instructions",
            "model",
            "previous_response_id",
            "prompt_cache_key",
            "prompt_cache_options",
            "prompt_cache_retention",
            "service_tier",
        }
    ),
}
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
    ("background", bool, "a boolean"),
    ("background_options", dict, "an object"),
    ("context_management", list, "an array"),
    ("conversation", (str, dict), "a string or an object"),
    ("instructions", str, "a string"),
    ("include", list, "an array of strings"),
    ("max_output_tokens", int, "an integer"),
    ("max_tool_calls", int, "an integer"),
    ("metadata", dict, "an object"),
    ("parallel_tool_calls", bool, "a boolean"),
    ("previous_response_id", str, "a string"),
    ("prompt", dict, "an object"),
    ("prompt_cache_key", str, "a string"),
    ("prompt_cache_options", dict, "an object"),
    ("prompt_cache_retention", str, "a string"),
    ("reasoning", dict, "an object"),
    ("safety_identifier", str, "a string"),
    ("service_tier", str, "a string"),
    ("store", bool, "a boolean"),
    ("stream", bool, "a boolean"),
    ("stream_options", dict, "an object"),
    ("temperature", (int, float), "a number"),
    ("text", dict, "an object"),
    ("tool_choice", (str, dict), "a string or an object"),
    ("tools", list, "an array"),
    ("top_logprobs", int, "an integer"),
    ("top_p", (int, float), "a number"),
)


def validate_shape(body: Json, *, call: Call = "create") -> None:
    """Refuse unknown parameters, missing ones, and wrong types.

    Args:
        body: The request.
        call: Which call it is for.

    Raises:
        ApiError: If anything is wrong; it says the first thing.
    """
    if body.get("model") is None and call != "input_tokens":
        raise missing("model")
    for name in body:
        if name not in _PARAMETERS[call]:
            raise unknown(name)
    for name, accepted, wanted in _TYPES:
        _validate_type(body, name, accepted, wanted)
    if body.get("input") is None and not _continues(body):
        raise missing("input")


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
    is_disguised = isinstance(value, bool) and accepted in {int, (int, float)}
    if value is not None and (is_disguised or not isinstance(value, accepted)):
        raise wrong_type(name, wanted=wanted, got=value)


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


def validate_includes(values: Sequence[object]) -> None:
    """Refuse to include what is not known.

    Raises:
        ApiError: If there is such a value; it names the first one.
    """
    for index, value in enumerate(values):
        if value not in _INCLUDABLE:
            raise bad_value(f"include[{index}]", value, accepted=_INCLUDABLE)


def validate_members(param: str, value: Json, known: Collection[str]) -> None:
    """Refuse a field that an object does not have.

    Raises:
        ApiError: If there is such a field; it names the first one.
    """
    for name in value:
        if name not in known:
            raise unknown(f"{param}.{name}")


def validate_value(param: str, value: object, accepted: Sequence[str]) -> None:
    """Refuse a value outside a fixed list; null is fine.

    Raises:
        ApiError: If it is not in the list.
    """
    if value is not None and value not in accepted:
        raise bad_value(param, value, accepted=accepted)
