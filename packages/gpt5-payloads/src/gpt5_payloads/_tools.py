"""Function tools, and the choice among them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from stream_text import read_member

from ._errors import PayloadError
from ._strict import is_strict, validate_strict
from ._values import coerce_bool, copy_json, is_blank, parse_json, quote


type ToolChoice = str | dict[str, Any]

_MODES = ("auto", "none", "required")
# Source: docs/evidence/responses-api.md, R14.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# JSON Schema keywords that hold one schema, a list of schemas, or schemas by name.
_SCHEMA_KEYS = frozenset({"additionalProperties", "contains", "else", "if", "items", "not", "then"})
_SCHEMA_LIST_KEYS = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_SCHEMA_MAP_KEYS = frozenset(
    {"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"}
)


def function_tool(tool: object) -> dict[str, Any]:
    """Build a Responses function tool from a mapping or an object with `name`, `description` and `parameters`.

    An object schema without `properties`, at the top or nested, gets an empty one, because the API refuses it otherwise. A tool that
    says nothing of `strict` is strict only if the API takes its schema so as it stands, which most tools' optional parameters forbid. `tool`
    itself stays as it is.

    Returns:
        `{"type": "function", "name": ..., "description": ..., "parameters": {...}, "strict": ...}`.

    Raises:
        PayloadError: If the name is blank or not one that the API takes, if `parameters` is not a JSON schema of an object, or if the tool is to
            be strict and the API would refuse it.

    Source: https://platform.openai.com/docs/api-reference/responses/create, `tools`; for `properties` and `strict`
    docs/evidence/responses-api.md, R15 and R18.
    """
    name = _tool_name(read_member(tool, "name"))
    description = read_member(tool, "description")
    parameters = _parameters(read_member(tool, "parameters"), name)
    wanted = read_member(tool, "strict")
    strict = is_strict(parameters) if wanted is None else coerce_bool(wanted, field="tools.strict")
    if strict and wanted is not None:
        validate_strict(parameters, field="tools", name=f"parameters of tool {name!r}")
    return {
        "type": "function",
        "name": name,
        "description": "" if description is None else str(description),
        "parameters": parameters,
        "strict": strict,
    }


def _tool_name(value: object) -> str:
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
        raise PayloadError(
            f"parameters of tool {name!r} must be a JSON schema object", field="tools"
        )
    schema = {"type": "object"} | copy_json(cast("object", value), field="tools")
    if schema["type"] != "object":
        raise PayloadError(
            f"parameters of tool {name!r} must be a JSON schema of type 'object'", field="tools"
        )
    try:
        return _with_properties(schema)
    except RecursionError:
        raise PayloadError(
            f"parameters of tool {name!r} are nested too deeply", field="tools"
        ) from None


def _with_properties(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` with `properties` in every object schema; keys that hold data, such as `enum`, are left alone."""
    result = {key: _patched_keyword(key, value) for key, value in schema.items()}
    if _is_object_type(schema.get("type")):
        result.setdefault("properties", {})
    return result


def _patched_keyword(key: str, value: object) -> object:
    if isinstance(value, dict) and key in _SCHEMA_KEYS:
        return _with_properties(cast("dict[str, Any]", value))
    if isinstance(value, dict) and key in _SCHEMA_MAP_KEYS:
        members = cast("dict[str, object]", value).items()
        return {member: _patched(child) for member, child in members}
    if isinstance(value, list) and key in _SCHEMA_LIST_KEYS:
        return [_patched(child) for child in cast("list[object]", value)]
    return cast("object", value)


def _patched(schema: object) -> object:
    """Return, with `properties`, a member of a schema list or map, which may also be `true` or `false`."""
    return _with_properties(cast("dict[str, Any]", schema)) if isinstance(schema, dict) else schema


def _is_object_type(value: object) -> bool:
    return value == "object" or (isinstance(value, list) and "object" in value)


def read_tool_choice(value: object) -> ToolChoice:
    """Read the `tool_choice` parameter: a mode, a function's name, or a form of the API as a mapping or as JSON text.

    Returns:
        `auto`, `none`, `required`, another text (a function's name), or one of the API's two forms for functions:
        `{"type": "function", "name": ...}` and `{"type": "allowed_tools", "mode": ..., "tools": [...]}`.

    Raises:
        PayloadError: If it is none of these.
    """
    if isinstance(value, str) and value.strip().startswith("{"):
        value = parse_json(value, field="tool_choice")
    match value:
        case str():
            text = value.strip()
            return text.lower() if text.lower() in _MODES else text
        case Mapping():
            return _read_form(cast("Mapping[str, Any]", value))
        case _:
            raise _refused_choice()


def _read_form(form: Mapping[str, Any]) -> ToolChoice:
    match form:
        case {"type": "function", "name": str(name)}:
            return {"type": "function", "name": name}
        # Chat Completions nests the name; callers who come from there write it so.
        case {"type": "function", "function": {"name": str(name)}}:
            return {"type": "function", "name": name}
        case {"type": "allowed_tools", "mode": "auto" | "required" as mode, "tools": [*tools]}:
            return {"type": "allowed_tools", "mode": mode, "tools": [_allowed(t) for t in tools]}
        case _:
            raise _refused_choice()


def _allowed(tool: object) -> dict[str, Any]:
    match tool:
        case {"type": "function", "name": str(name)}:
            return {"type": "function", "name": name}
        case _:
            raise _refused_choice()


def _refused_choice() -> PayloadError:
    return PayloadError(
        "tool_choice must be auto, none, required, the name of a tool, or an object of type 'function' or 'allowed_tools'",
        field="tool_choice",
    )


def resolve_tool_choice(choice: ToolChoice, *, tools: Sequence[Mapping[str, Any]]) -> ToolChoice:
    """Return `choice` as it is sent along with `tools`: a bare name becomes the named form.

    Raises:
        PayloadError: If it names a function that is not among `tools`.
    """
    if isinstance(choice, str):
        if choice in _MODES:
            return choice
        choice = {"type": "function", "name": choice}
    offered = {tool["name"] for tool in tools}
    for chosen in choice.get("tools", [choice]):
        if chosen["name"] not in offered:
            raise PayloadError(
                f"tool_choice names {quote(chosen['name'])!r}, which is not among the tools offered",
                field="tool_choice",
            )
    return choice
