"""What a real server would refuse about tools and the choice among them.

Source: recorded 400 bodies; docs/evidence/responses-api.md, R14 and R15.
"""

import re

from gpt5_simulator._checks import bad_value, missing, validate_closed, wrong_type
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_object, object_at, objects_in


_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MODES = ("none", "auto", "required")
_CODE = "invalid_function_parameters"


def validate_tools(body: Json) -> None:
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
        if tool["type"] in {"function", "custom"}:
            _validate_tool(tool, where)
    _validate_choice(body)


def _validate_tool(tool: Json, where: str) -> None:
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


def _validate_choice(body: Json) -> None:
    choice: object = body.get("tool_choice")
    if isinstance(choice, str) and choice not in _MODES:
        raise bad_value("tool_choice", choice, accepted=_MODES)
    tools = objects_in(body.get("tools"))
    if choice not in {None, "none", "auto"} if isinstance(choice, str) else is_object(choice):
        _validate_forced(choice, tools)


def _validate_forced(choice: object, tools: list[Json]) -> None:
    if not tools:
        text = "Tool choices other than 'none' and 'auto' need a 'tools' parameter."
        raise ApiError(text, param="tool_choice")
    entry = choice if is_object(choice) else {}
    wanted = objects_in(entry.get("tools")) or [entry]
    offered = [tool.get("name") for tool in tools]  # a list: what is looked for may be unhashable
    for name in (one["name"] for one in wanted if "name" in one):
        if name not in offered:
            text = f"Tool choice '{name}' not found in 'tools' parameter."
            raise ApiError(text, param="tool_choice")
    mode: object = object_at({"choice": choice}, "choice").get("mode", "auto")
    if entry.get("type") == "allowed_tools" and mode not in ("auto", "required"):
        raise bad_value("tool_choice.mode", mode, accepted=("auto", "required"))
