"""The choice among the tools of a request."""

from collections.abc import Mapping, Sequence
from typing import Any

from stream_text import is_object

from ._errors import PayloadError, refused
from ._hosted import plain_kind
from ._values import parse_json, quote


type ToolChoice = str | dict[str, Any]

_MODES = ("auto", "none", "required")
_NAMED = ("function", "custom")


def read_tool_choice(value: object) -> ToolChoice:
    """Read the `tool_choice` parameter: a mode, a tool's name, or a form of the API as a mapping or as JSON text.

    Returns:
        `auto`, `none`, `required`, another text (a tool's name), or a form of the API: `{"type": "function", "name": ...}`, the same for
        `custom`, `{"type": "mcp", "server_label": ...}`, the `type` of another tool, or `{"type": "allowed_tools", "mode": ..., "tools": [...]}`.

    Raises:
        PayloadError: If it is none of these.
    """
    if isinstance(value, str) and value.strip().startswith("{"):
        value = parse_json(value, field="tool_choice")
    if isinstance(value, str):
        text = value.strip()
        return text.lower() if text.lower() in _MODES else text
    if not is_object(value):
        raise _refused_choice()
    match value:
        case {"type": "allowed_tools", "mode": "auto" | "required" as mode, "tools": [*tools]}:
            return {"type": "allowed_tools", "mode": mode, "tools": [_read_form(t) for t in tools]}
        case {"type": "function", "function": {"name": str(name)}}:
            # Chat Completions nests the name; callers who come from there write it so.
            return {"type": "function", "name": name}
        case form:
            return _read_form(form)


def _read_form(form: Any) -> dict[str, Any]:
    match form:
        case {"type": "function" | "custom" as kind, "name": str(name)}:
            return {"type": kind, "name": name}
        case {"type": "mcp", "server_label": str(label), "name": str(name)}:
            return {"type": "mcp", "server_label": label, "name": name}
        case {"type": "mcp", "server_label": str(label)}:
            return {"type": "mcp", "server_label": label}
        case {"type": str(kind)} if kind not in (*_NAMED, "mcp", "allowed_tools"):
            return {"type": kind}
        case _:
            raise _refused_choice()


def _refused_choice() -> PayloadError:
    return refused(
        "tool_choice",
        "must be auto, none, required, the name of a tool, or an object of type 'function' or 'allowed_tools' "
        "or of another tool's type",
    )


def resolve_tool_choice(
    choice: ToolChoice,
    *,
    tools: Sequence[Mapping[str, Any]],
    allowed: Sequence[str] = (),
) -> ToolChoice:
    """Return `choice` as it is sent along with `tools`: a bare name becomes the named form, and a mode with allowed names a list of them.

    Args:
        choice: A choice, as `read_tool_choice` returns it.
        tools: The tools that the request offers.
        allowed: The names of the only tools that may be called; empty for all. `none` allows no tool, whatever they are.

    Raises:
        PayloadError: If a tool is named that is not among `tools`, or one tool has to be called while others are allowed.
    """
    if isinstance(choice, str) and choice in _MODES:
        if not allowed or choice == "none":
            return choice
        # The tools stay in the request and only the choice names some: so the prompt cache still hits.
        named = [_find(name, tools, field="allowed_tools") for name in allowed]
        return {"type": "allowed_tools", "mode": choice, "tools": named}
    if allowed:
        raise refused("allowed_tools", "goes with a tool_choice of auto, required or none")
    if isinstance(choice, str):
        return _find(choice, tools, field="tool_choice")
    offered = [_form(tool) for tool in tools]
    for chosen in choice.get("tools", [choice]):
        # One tool of an MCP server is chosen by its name, which the offer of the server does not have.
        wanted = {key: value for key, value in chosen.items() if key != "name"}
        if chosen not in offered and (chosen["type"] in _NAMED or wanted not in offered):
            raise _not_offered(_name(chosen), field="tool_choice")
    return choice


def _find(name: str, tools: Sequence[Mapping[str, Any]], *, field: str) -> dict[str, Any]:
    """Return the form of the first tool with a name, which is its own name, the label of its server, or its type with or without a date."""
    for form in map(_form, tools):
        if name in {_name(form), _label(form)}:
            return form
    raise _not_offered(name, field=field)


def _form(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form in which a choice refers to a tool."""
    keys = {"function": "name", "custom": "name", "mcp": "server_label"}
    form = {"type": tool["type"]}
    key = keys.get(tool["type"])
    return form | {key: tool.get(key)} if key else form


def tool_label(tool: Mapping[str, Any]) -> str:
    """Return the name by which a choice may name a tool: its own, the label of its server, or its type without a date."""
    return _label(_form(tool))


def _label(form: Mapping[str, Any]) -> str:
    return _name(form) if len(form) > 1 else plain_kind(form)


def _name(form: Mapping[str, Any]) -> str:
    return str(form.get("server_label") or form.get("name") or form["type"])


def _not_offered(name: str, *, field: str) -> PayloadError:
    return refused(field, f"names {quote(name)!r}, which is not among the tools offered")
