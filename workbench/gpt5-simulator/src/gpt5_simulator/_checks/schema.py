"""A validator of values against a JSON schema, which reports errors like OpenAI.

Of JSON Schema it knows `$ref` (the name of one of `$defs`), `anyOf` by type, `type`, `enum`, `const`, `pattern`, `minimum`, `maximum`,
`maxLength`, `maxItems`, `maxProperties`, `items`, `properties`, `propertyNames`, `required` and `additionalProperties`. As in the API, a null
member counts as missing, unless its schema has `"nullable": false`; a member with a `const` must be there. Beyond JSON Schema:

- `x-model` names the field of a model's profile that has the accepted values;
- `x-exactly-one` lists members of which an object must have exactly one;
- `x-type` and `x-expected` are the words for the expected type, and for a text that does not match.

A library for JSON Schema would copy each text of a request, does not know the model, and decides itself which error comes first.
Messages are in our own words, close to OpenAI's; `param` and `code` are OpenAI's own.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_array, is_object
from gpt5_simulator._profiles import ModelProfile


_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "string": (str, "a string"),
    "integer": (int, "an integer"),
    "number": ((int, float), "a number"),
    "boolean": (bool, "a boolean"),
    "array": (list, "an array"),
    "object": (dict, "an object"),
}


def _resolve(schema: Any, definitions: Json) -> Any:
    """Return a schema with its references replaced and its types as a list.

    `x-python` has the types of Python, and `x-plain` says that there are no further rules.
    """
    if is_array(schema):
        return [_resolve(entry, definitions) for entry in schema]
    if not is_object(schema):
        return schema
    # Once for each schema, when this is imported: values are checked by the thousand.
    own = {key: _resolve(value, definitions) for key, value in schema.items() if key != "$ref"}
    if isinstance(own.get("type"), str):
        own["type"] = [own["type"]]
    if is_array(own.get("type")):
        own["x-plain"] = own.keys() <= {"type", "x-type"}
        own["x-python"] = tuple(_TYPES[name][0] for name in own["type"])
    if "$ref" not in schema:
        return own
    base = _resolve(definitions[schema["$ref"]], definitions)
    # What stands beside a reference adds to it, and goes before it.
    if "properties" in own:
        own["properties"] = base["properties"] | own["properties"]
    return base | own


_FILE = json.loads(Path(__file__).with_name("request.json").read_text(encoding="utf-8"))
SCHEMAS: Json = _resolve(_FILE, _FILE["$defs"])

_MOST_SHOWN = 64  # characters of the name of a member whose name may be too long


def validate(
    value: object, schema: Json, param: str, *, profile: ModelProfile | None = None
) -> None:
    """Refuse a value that does not match its schema.

    Args:
        value: The value.
        schema: The schema, resolved.
        param: The value's path; empty for the request itself.
        profile: The model's profile; without one `x-model` is ignored.

    Raises:
        ApiError: If anything is wrong; it names the first fault.
    """
    if "anyOf" in schema:
        # Where no alternative has the type of the value, the last one words the refusal.
        fitting = (one for one in schema["anyOf"] if _has_type(value, one))
        schema = next(fitting, schema["anyOf"][-1])
    if not _has_type(value, schema):
        raise wrong_type(param, wanted=_wanted(schema), got=value)
    if schema.get("x-plain"):  # as most of them: of a long conversation there are thousands
        return
    _validate_choice(value, schema, param, profile)
    if isinstance(value, str):
        _validate_text(value, schema, param)
    elif isinstance(value, (int, float)):
        _validate_number(value, schema, param)
    elif is_array(value):
        _validate_array(value, schema, param, profile)
    elif is_object(value):
        _validate_object(value, schema, param, profile)


def missing(param: str) -> ApiError:
    """Return the error for a missing parameter."""
    text = f"Missing required parameter: '{param}'."
    return ApiError(text, param=param, code="missing_required_parameter")


def unknown(param: str) -> ApiError:
    """Return the error for a parameter that does not exist."""
    return ApiError(f"Unknown parameter: '{param}'.", param=param, code="unknown_parameter")


def wrong_type(param: str, *, wanted: str, got: object) -> ApiError:
    """Return the error for a value of the wrong JSON type."""
    text = f"Invalid type for '{param}': expected {wanted}, but got {_type_name(got)} instead."
    return ApiError(text, param=param, code="invalid_type")


def bad_value(param: str, value: object, *, accepted: Sequence[str]) -> ApiError:
    """Return the error for a value outside a fixed list."""
    text = f"Invalid value: '{value}'. Supported values are: {_enumeration(accepted)}."
    return ApiError(text, param=param, code="invalid_value")


def mutually_exclusive(param: str, names: Sequence[str]) -> ApiError:
    """Return the error for an object with several members of which it may have only one."""
    listed = " or ".join(f"'{name}'" for name in names)
    text = f"Mutually exclusive parameters. Ensure you are only providing one of: {listed}."
    return ApiError(text, param=param, code="mutually_exclusive_parameters")


def unsupported_value(
    param: str, value: object, *, profile: ModelProfile, accepted: Sequence[str]
) -> ApiError:
    """Return the error for a value that this model does not accept; without accepted values, for the parameter itself."""
    if not accepted:
        return unsupported_parameter(param)
    text = (
        f"Unsupported value: '{value}' is not supported with the '{profile.snapshot}' model. "
        f"Supported values are: {_enumeration(accepted)}."
    )
    return ApiError(text, param=param, code="unsupported_value")


def unsupported_parameter(param: str) -> ApiError:
    """Return the error for a parameter that this model does not accept."""
    text = f"Unsupported parameter: '{param}' is not supported with this model."
    return ApiError(text, param=param)


def _has_type(value: object, schema: Json) -> bool:
    accepted: tuple[type | tuple[type, ...], ...] | None = schema.get("x-python")
    if accepted is None:
        return True
    if isinstance(value, bool):  # which Python takes for an integer
        return bool in accepted
    return isinstance(value, accepted)


def _wanted(schema: Json) -> str:
    return schema.get("x-type") or " or ".join(_TYPES[name][1] for name in schema["type"])


def _type_name(value: object) -> str:
    """Return the JSON name of a value's type, with its article."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return "a decimal number"
    if isinstance(value, bool):  # which Python takes for an integer
        return "a boolean"
    return next(text for kind, text in _TYPES.values() if isinstance(value, kind))


def _enumeration(values: Sequence[str]) -> str:
    """Return values quoted and joined in OpenAI's way: 'a', 'b', and 'c'."""
    *first, last = [f"'{value}'" for value in values]
    if len(first) > 1:
        return f"{', '.join(first)}, and {last}"
    return " and ".join([*first, last])


def _validate_choice(value: object, schema: Json, param: str, profile: ModelProfile | None) -> None:
    if "const" in schema and value != schema["const"]:
        raise bad_value(param, value, accepted=[schema["const"]])
    if "enum" in schema and value not in schema["enum"]:
        raise bad_value(param, value, accepted=schema["enum"])
    if "x-model" in schema and profile is not None:
        accepted: Sequence[str] = getattr(profile, schema["x-model"])
        if value not in accepted:
            raise unsupported_value(param, value, profile=profile, accepted=accepted)


def _validate_text(value: str, schema: Json, param: str) -> None:
    most = schema.get("maxLength")
    if most is not None and len(value) > most:
        text = (
            f"Invalid '{param}': string too long. Expected a string with maximum length {most}, "
            f"but got a string with length {len(value)} instead."
        )
        raise ApiError(text, param=param, code="string_above_max_length")
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        text = f"Invalid '{param}': {schema['x-expected']}"
        raise ApiError(text, param=param, code="invalid_value")


def _validate_number(value: float, schema: Json, param: str) -> None:
    kind = "integer" if isinstance(value, int) else "decimal"
    least, most = schema.get("minimum", value), schema.get("maximum", value)
    if least <= value <= most:
        return
    side, sign, bound = ("below_min", ">=", least) if value < least else ("above_max", "<=", most)
    fault = f"{side.replace('_', ' ')}imum value. Expected a value {sign} {bound}"
    text = f"Invalid '{param}': {kind} {fault}, but got {value} instead."
    raise ApiError(text, param=param, code=f"{kind}_{side}_value")


def _validate_array(
    value: list[Any], schema: Json, param: str, profile: ModelProfile | None
) -> None:
    most = schema.get("maxItems")
    if most is not None and len(value) > most:
        text = (
            f"Invalid '{param}': array too long. Expected an array with maximum length {most}, "
            f"but got an array with length {len(value)} instead."
        )
        raise ApiError(text, param=param, code="array_above_max_length")
    if "items" in schema:
        for index, entry in enumerate(value):
            validate(entry, schema["items"], f"{param}[{index}]", profile=profile)


def _validate_object(value: Json, schema: Json, param: str, profile: ModelProfile | None) -> None:
    prefix = f"{param}." if param else ""
    _validate_names(value, schema, param, prefix)
    known: Json = schema.get("properties", {})
    for name, inner in known.items():
        if name in value or "const" in inner:
            entry: object = value.get(name)
            if entry is not None or "const" in inner or inner.get("nullable") is False:
                validate(entry, inner, f"{prefix}{name}", profile=profile)
    others: object = schema.get("additionalProperties")
    if is_object(others):
        for name, entry in value.items():
            # A name that is too long must not make the refusal too long as well.
            validate(name, schema["propertyNames"], f"{prefix}{name[:_MOST_SHOWN]}")
            validate(entry, others, f"{prefix}{name}")
    if "x-exactly-one" in schema:
        given = [name for name in schema["x-exactly-one"] if value.get(name) is not None]
        if not given:
            raise missing(f"{prefix}{schema['x-exactly-one'][0]}")
        if len(given) > 1:
            raise mutually_exclusive(param, given)


def _validate_names(value: Json, schema: Json, param: str, prefix: str) -> None:
    """Refuse an object with too many members, with unknown ones, or without required ones."""
    most = schema.get("maxProperties")
    if most is not None and len(value) > most:
        text = f"Invalid '{param}': too many properties. Expected at most {most}."
        raise ApiError(text, param=param, code="object_above_max_properties")
    if schema.get("additionalProperties") is False:
        for name in value:
            if name not in schema["properties"]:
                raise unknown(f"{prefix}{name}")
    for name in schema.get("required", ()):
        if value.get(name) is None:
            raise missing(f"{prefix}{name}")
