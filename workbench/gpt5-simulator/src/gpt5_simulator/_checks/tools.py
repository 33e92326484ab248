"""Checks for tools and the choice among them, as a real server makes them.

Source: recorded 400 bodies; docs/evidence/responses-api.md, R14, R15 and R40.
"""

import re
from collections import Counter

from gpt5_simulator._checks.function_schemas import validate_function_schema
from gpt5_simulator._checks.schema import SCHEMAS, bad_value, missing, validate, wrong_type
from gpt5_simulator._checks.strict_schemas import validate_closed
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_array, is_object, object_at, objects_in
from gpt5_simulator._profiles import ModelProfile
from gpt5_simulator._request import input_items, plain_type


_CLIENT: Json = SCHEMAS["client_tools"]
_HOSTED: Json = SCHEMAS["hosted_tools"]
_MODES = ("none", "auto", "required")
_NOT_MINIMAL = frozenset({"image_generation", "web_search"})
_SIZE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})")
_STEP = 16
_MAX_EDGE = 3840
_MAX_PIXELS = 3840 * 2160
_MAX_RATIO = 3


def validate_tools(body: Json, *, profile: ModelProfile) -> None:
    """Refuse tools that cannot be called and a choice that cannot be made.

    Raises:
        ApiError: If anything is wrong; it names the first fault.
    """
    for index, tool in enumerate(body.get("tools") or ()):
        where = f"tools[{index}]"
        if not is_object(tool):
            raise wrong_type(where, wanted="an object", got=tool)
        if not isinstance(tool.get("type"), str):
            raise missing(f"{where}.type")
        _validate_tool(tool, where, profile)
    _validate_names(objects_in(body.get("tools")))
    _validate_effort(body, profile)
    _validate_choice(body, profile)


def _validate_names(tools: list[Json]) -> None:
    """Refuse two functions of one name, whose calls nobody could tell apart; OpenAI's words for it are not known."""
    counts = Counter(tool["name"] for tool in tools if tool["type"] in _CLIENT and "name" in tool)
    for name, count in counts.items():
        if count > 1:
            text = f"Function names must be unique, but '{name}' is used {count} times."
            raise ApiError(text, param="tools", code="invalid_value")


def _validate_tool(tool: Json, where: str, profile: ModelProfile) -> None:
    kind = plain_type(tool)
    if kind in _CLIENT:
        _validate_client_tool(tool, where, kind)
        return
    if kind not in _HOSTED:
        raise bad_value(f"{where}.type", tool["type"], accepted=(*_CLIENT, *_HOSTED))
    if kind in profile.lacks_tools:
        text = f"Tool '{kind}' is not supported with {profile.snapshot}."
        raise ApiError(text, param="tools")
    validate(tool, _HOSTED[kind], where)
    if kind == "namespace":
        _validate_namespace(tool["tools"], f"{where}.tools")
    elif kind == "image_generation":
        _validate_picture(tool, where)
    is_clients_search = kind == "tool_search" and tool.get("execution") == "client"
    if is_clients_search and not tool.get("description"):
        raise missing(f"{where}.description")


def _validate_namespace(tools: list[object], where: str) -> None:
    for index, tool in enumerate(tools):
        path = f"{where}[{index}]"
        if not is_object(tool):
            raise wrong_type(path, wanted="an object", got=tool)
        kind: object = tool.get("type")
        if kind not in tuple(_CLIENT):  # a tuple: it may be unhashable
            raise bad_value(f"{path}.type", kind, accepted=tuple(_CLIENT))
        _validate_client_tool(tool, path, str(kind))


def _validate_client_tool(tool: Json, where: str, kind: str) -> None:
    validate(tool, _CLIENT[kind], where)
    schema: Json | None = tool.get("parameters")
    if schema is None:
        return
    label = f"Invalid schema for function '{tool['name']}'"
    fault = None
    if schema.get("type") != "object":
        fault = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
    elif not is_object(schema.get("properties")):
        fault = "In context=(), object schema missing properties."
    code, param = "invalid_function_parameters", f"{where}.parameters"
    if fault is not None:
        raise ApiError(f"{label}: {fault}", param=param, code=code)
    validate_function_schema(schema, name=tool["name"], param=param)
    # Only where it is asked for: a function without `strict` is made strict where that is possible.
    # Source: docs/evidence/responses-api.md, R18.
    if tool.get("strict") is True:
        validate_closed(schema, label=label, param=param, code=code)


def _validate_picture(tool: Json, where: str) -> None:
    size: object = tool.get("size")
    if size not in (None, "auto") and not _is_size(size):
        text = (
            f"Invalid value: '{size}'. Expected 'auto' or 'WIDTHxHEIGHT' with edges that are divisible by {_STEP}, "
            f"a ratio of at most {_MAX_RATIO} to 1, and at most 3840x2160 pixels."
        )
        raise ApiError(text, param=f"{where}.size", code="invalid_value")
    if tool.get("background") == "transparent" and tool.get("output_format") == "jpeg":
        text = "Transparent background is not supported for JPEG output format."
        raise ApiError(text, param=f"{where}.background", code="invalid_value")


def _is_size(value: object) -> bool:
    """Return whether a value is a size that pictures can have.

    Source: the docstring of `size` in `tool.py` of openai 3.54.0.
    """
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return False
    short, long = sorted((int(found[1]), int(found[2])))
    is_step = short % _STEP == long % _STEP == 0
    return is_step and long <= min(_MAX_EDGE, short * _MAX_RATIO) and short * long <= _MAX_PIXELS


def _validate_effort(body: Json, profile: ModelProfile) -> None:
    """Refuse tools that the effort `minimal` excludes.

    Source: openai/codex, issue 3559.
    """
    effort = object_at(body, "reasoning").get("effort") or profile.default_effort
    kinds = {plain_type(tool) for tool in objects_in(body.get("tools"))}
    ruled_out = sorted(kinds & _NOT_MINIMAL)
    if effort == "minimal" and ruled_out:
        listed = ", ".join(ruled_out)
        text = f"The following tools cannot be used with reasoning.effort 'minimal': {listed}."
        raise ApiError(text, param="tools")


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
    """Refuse the choice of a tool that the request does not have."""
    kind: object = choice.get("type")
    if not isinstance(kind, str):
        raise missing("tool_choice.type")
    if kind not in _CLIENT and plain_type(choice) not in _HOSTED:
        accepted = ("allowed_tools", *_CLIENT, *_HOSTED)
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
    """Return tools together with those in namespaces."""
    inner = [entry for tool in tools for entry in objects_in(tool.get("tools"))]
    return [*tools, *inner]
