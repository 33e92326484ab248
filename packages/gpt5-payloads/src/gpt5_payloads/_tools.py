"""Function tools."""

import re
from collections.abc import Mapping
from typing import Any, cast

from stream_text import read_member

from ._errors import PayloadError
from ._strict import is_strict, validate_strict
from ._values import coerce_bool, copy_json, is_blank, quote


# Source: docs/evidence/responses-api.md, R14.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# Further fields of the API's functions. Source: openai 3.54.0, `types/responses/function_tool.py`.
_FURTHER_KEYS = ("defer_loading", "async", "allowed_callers", "output_schema")
# JSON Schema keywords that hold one schema, a list of schemas, or schemas by name.
_SCHEMA_KEYS = frozenset({"additionalProperties", "contains", "else", "if", "items", "not", "then"})
_SCHEMA_LIST_KEYS = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_SCHEMA_MAP_KEYS = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)


def function_tool(tool: object) -> dict[str, Any]:
    """Build a Responses function tool from a mapping or an object with `name`, `description` and `parameters`.

    An object schema without `properties`, at the top or nested, gets an empty one, because the API refuses it otherwise. A tool without
    `strict` is strict only if the API accepts its schema as strict without a change, which most tools' optional parameters forbid. `tool`
    itself stays as it is.

    Returns:
        `{"type": "function", "name": ..., "description": ..., "parameters": {...}, "strict": ...}`, with `defer_loading`,
        `async`, `allowed_callers` and `output_schema` if the tool has them.

    Raises:
        PayloadError: If the name is blank or one that the API does not take, if `parameters` is not a JSON schema of an object, or if the tool should
            be strict and the API would refuse it.

    Source: https://platform.openai.com/docs/api-reference/responses/create, `tools`; for `properties` and `strict`
    docs/evidence/responses-api.md, R15 and R18.
    """
    name = tool_name(read_member(tool, "name"))
    description = read_member(tool, "description")
    parameters = _parameters(read_member(tool, "parameters"), name)
    wanted = read_member(tool, "strict")
    strict = is_strict(parameters) if wanted is None else coerce_bool(wanted, field="tools.strict")
    if strict and wanted is not None:
        validate_strict(parameters, field="tools", name=f"parameters of tool {name!r}")
    further = {key: read_member(tool, key) for key in _FURTHER_KEYS}
    return {
        "type": "function",
        "name": name,
        "description": "" if description is None else str(description),
        "parameters": parameters,
        "strict": strict,
    } | {key: copy_json(one, field="tools") for key, one in further.items() if one is not None}


def tool_name(value: object) -> str:
    """Return the name of a function, a custom tool or a group of them.

    Raises:
        PayloadError: If it is blank, or one that the API does not take.
    """
    if is_blank(value):
        raise PayloadError("tool name is required", field="tools")
    if not (isinstance(value, str) and _NAME.fullmatch(value)):
        raise PayloadError(
            f"tool name {quote(value)!r} must be 1 to 128 letters, digits, underscores or hyphens",
            field="tools",
        )
    return value


def _parameters(value: object, name: str) -> dict[str, Any]:
    if not value:
        return {"type": "object", "properties": {}}
    if not isinstance(value, Mapping):
        raise _refused_parameters(name, "must be a JSON schema object")
    # Parameters are always those of an object, so a missing type can mean nothing else.
    schema = {"type": "object"} | copy_json(cast("object", value), field="tools")
    if schema["type"] != "object":
        raise _refused_parameters(name, "must be a JSON schema of type 'object'")
    try:
        return _with_properties(schema)
    except RecursionError:
        raise _refused_parameters(name, "are nested too deeply") from None


def _refused_parameters(name: str, reason: str) -> PayloadError:
    return PayloadError(f"parameters of tool {name!r} {reason}", field="tools")


def _with_properties(schema: object) -> Any:
    """Return `schema`, which may also be `true` or `false`, with `properties` in every object schema.

    Keys that hold data, such as `enum`, are left alone.
    """
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, object]", schema)
    result = {key: _patched(key, value) for key, value in members.items()}
    kind = members.get("type")
    if kind == "object" or (isinstance(kind, list) and "object" in kind):
        result.setdefault("properties", {})
    return result


def _patched(key: str, value: object) -> object:
    if key in _SCHEMA_MAP_KEYS and isinstance(value, dict):
        members = cast("dict[str, object]", value).items()
        return {member: _with_properties(child) for member, child in members}
    if key in _SCHEMA_LIST_KEYS and isinstance(value, list):
        return [_with_properties(child) for child in cast("list[object]", value)]
    return _with_properties(value) if key in _SCHEMA_KEYS else value
