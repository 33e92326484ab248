"""What a real server would refuse about tools and the choice among them.

Source: recorded 400 bodies; docs/evidence/responses-api.md, R14 and R15.
"""

import re

from gpt5_simulator._checks import bad_value, missing, validate_closed, validate_members, wrong_type
from gpt5_simulator._errors import ApiError
from gpt5_simulator._hosted_tool_checks import HOSTED_TYPES, validate_hosted_tool
from gpt5_simulator._json import Json, is_array, is_object, object_at, objects_in
from gpt5_simulator._profiles import ModelProfile
from gpt5_simulator._request import input_items, plain_type


_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MODES = ("none", "auto", "required")
_CODE = "invalid_function_parameters"
_OWN_TYPES = ("function", "custom")
_COMMON = ("type", "name", "description", "allowed_callers", "async", "defer_loading")
_OWN_FIELDS = {
    "function": (*_COMMON, "output_schema", "parameters", "strict"),
    "custom": (*_COMMON, "format"),
}
_NOT_MINIMAL = frozenset({"image_generation", "web_search"})


def validate_tools(body: Json, *, profile: ModelProfile) -> None:
    """Refuse tools that cannot be called and a choice that cannot be made.

    Raises:
        ApiError: If anything is wrong; it says the first thing.
    """
    for index, tool in enumerate(body.get("tools") or ()):
        where = f"tools[{index}]"
        if not is_object(tool):
            raise wrong_type(where, wanted="an object", got=tool)
        if not isinstance(tool.get("type"), str):
            raise missing(f"{where}.type")
        _validate_tool(tool, where, profile)
    _validate_effort(body, profile)
    _validate_choice(body, profile)


def _validate_tool(tool: Json, where: str, profile: ModelProfile) -> None:
    kind = plain_type(tool)
    if kind in _OWN_TYPES:
        _validate_own_tool(tool, where)
        return
    if kind not in HOSTED_TYPES:
        raise bad_value(f"{where}.type", tool["type"], accepted=(*_OWN_TYPES, *HOSTED_TYPES))
    if kind in profile.lacks_tools:
        text = f"Tool '{kind}' is not supported with {profile.snapshot}."
        raise ApiError(text, param="tools")
    validate_hosted_tool(tool | {"type": kind}, where)
    if kind == "namespace":
        _validate_namespace(tool, where)


def _validate_namespace(tool: Json, where: str) -> None:
    for name in ("name", "description"):
        if not isinstance(tool.get(name), str):
            raise missing(f"{where}.{name}")
    inner: object = tool.get("tools")
    if not is_array(inner):
        raise missing(f"{where}.tools")
    for index, entry in enumerate(inner):
        path = f"{where}.tools[{index}]"
        if not is_object(entry):
            raise wrong_type(path, wanted="an object", got=entry)
        if entry.get("type") not in _OWN_TYPES:
            raise bad_value(f"{path}.type", entry.get("type"), accepted=_OWN_TYPES)
        _validate_own_tool(entry, path)


def _validate_effort(body: Json, profile: ModelProfile) -> None:
    """Refuse tools that the least effort rules out.

    Source: openai/codex, issue 3559.
    """
    effort = object_at(body, "reasoning").get("effort") or profile.default_effort
    kinds = {plain_type(tool) for tool in objects_in(body.get("tools"))}
    ruled_out = sorted(kinds & _NOT_MINIMAL)
    if effort == "minimal" and ruled_out:
        listed = ", ".join(ruled_out)
        text = f"The following tools cannot be used with reasoning.effort 'minimal': {listed}."
        raise ApiError(text, param="tools")


def _validate_own_tool(tool: Json, where: str) -> None:
    validate_members(where, tool, _OWN_FIELDS[tool["type"]])
    name: object = tool.get("name")
    if not isinstance(name, str):
        raise missing(f"{where}.name")
    if not _NAME.fullmatch(name):
        text = f"Invalid '{where}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        raise ApiError(text, param=f"{where}.name", code="invalid_value")
    if tool["type"] == "function" and tool.get("parameters") is not None:
        _validate_parameters(tool, where)


def _validate_parameters(tool: Json, where: str) -> None:
    schema: object = tool["parameters"]
    param = f"{where}.parameters"
    if not is_object(schema):
        raise wrong_type(param, wanted="an object", got=schema)
    label = f"Invalid schema for function '{tool['name']}'"
    if schema.get("type") != "object":
        text = f"{label}: schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
        raise ApiError(text, param=param, code=_CODE)
    if not is_object(schema.get("properties")):
        text = f"{label}: In context=(), object schema missing properties."
        raise ApiError(text, param=param, code=_CODE)
    if tool.get("strict") is True:
        validate_closed(schema, label=label, param=param, code=_CODE)


def _validate_choice(body: Json, profile: ModelProfile) -> None:
    choice: object = body.get("tool_choice")
    if isinstance(choice, str) and choice not in _MODES:
        raise bad_value("tool_choice", choice, accepted=_MODES)
    tools = objects_in(body.get("tools"))
    if profile.chooses_added:
        added = (item for item in input_items(body) if item.get("type") == "additional_tools")
        tools += [tool for item in added for tool in objects_in(item.get("tools"))]
    if choice not in {None, "none", "auto"} if isinstance(choice, str) else is_object(choice):
        _validate_forced(choice, tools)


def _validate_forced(choice: object, tools: list[Json]) -> None:
    if not tools:
        text = "Tool choices other than 'none' and 'auto' need a 'tools' parameter."
        raise ApiError(text, param="tool_choice")
    entry = choice if is_object(choice) else {}
    is_list = entry.get("type") == "allowed_tools"
    mode: object = entry.get("mode", "auto")
    if is_list and mode not in ("auto", "required"):
        raise bad_value("tool_choice.mode", mode, accepted=("auto", "required"))
    if is_list and not is_array(entry.get("tools")):
        raise missing("tool_choice.tools")
    for one in objects_in(entry.get("tools")) if is_list else filter(None, [entry]):
        _validate_chosen(one, tools)


def _validate_chosen(choice: Json, tools: list[Json]) -> None:
    """Refuse a choice of a tool that is not among those of the request."""
    kind: object = choice.get("type")
    if not isinstance(kind, str):
        raise missing("tool_choice.type")
    if kind not in _OWN_TYPES and plain_type(choice) not in HOSTED_TYPES:
        accepted = ("allowed_tools", *_OWN_TYPES, *HOSTED_TYPES)
        raise bad_value("tool_choice.type", kind, accepted=accepted)
    key = {"function": "name", "custom": "name", "mcp": "server_label"}.get(kind, "type")
    name: object = choice.get(key)
    if name is None:
        raise missing(f"tool_choice.{key}")
    offered = [tool.get(key) for tool in _all_tools(tools) if kind == tool.get("type")]
    if name not in offered:
        text = f"Tool choice '{name}' not found in 'tools' parameter."
        raise ApiError(text, param="tool_choice")


def _all_tools(tools: list[Json]) -> list[Json]:
    """Return tools with those that stand in namespaces."""
    inner = [entry for tool in tools for entry in objects_in(tool.get("tools"))]
    return [*tools, *inner]
