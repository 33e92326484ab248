"""Tools of the API in a run that offers them beside tools of its own: what they are called, and whether they need somebody at the caller's end.

Source: openai 3.57.0, `types/responses/tool.py`, `function_shell_tool.py` and `tool_search_tool.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stream_text import is_object

from ._choice import tool_label
from ._combinations import is_lacking
from ._hosted import plain_kind, read_tool
from ._profiles import profile_for


# Their calls are the caller's to make.
_OF_CALLER = frozenset(
    {"function", "custom", "namespace", "apply_patch", "computer", "local_shell"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedTool:
    """A tool of the API, as a run sees it that offers it beside its own.

    Attributes:
        tool: The tool as the API takes it.
        name: What a tool choice may call it: its type without a date, or the label of its MCP server.
        is_lacking: Whether the model is known not to have it.
        need: What it needs of a caller who leaves everything to the server, as a clause; None for nothing.
    """

    tool: dict[str, Any] = field(repr=False)
    name: str
    is_lacking: bool = False
    need: str | None = None


def read_hosted_tool(tool: object, *, model: str) -> HostedTool:
    """Read a tool that is offered beside those of a run.

    Args:
        tool: A tool, in any form that `build_request` takes.
        model: The name of the model.

    Raises:
        PayloadError: If it is no tool.
    """
    read = read_tool(tool)
    need = None
    if _is_of_caller(read):
        need = "it is called at the caller's end, and nobody there would make its calls"
    elif read["type"] == "mcp" and _asks(read):
        need = "its require_approval asks a person, and nobody would answer: expected 'never'"
    lacking = is_lacking(read, profile_for(model))
    return HostedTool(tool=read, name=tool_label(read), is_lacking=lacking, need=need)


def _is_of_caller(tool: Mapping[str, Any]) -> bool:
    match tool:
        case {"type": "shell"}:
            place = _filter(tool.get("environment")).get("type")
            return not str(place).startswith("container")
        case {"type": "tool_search"}:
            return tool.get("execution") == "client"
        case _:
            return plain_kind(tool) in _OF_CALLER


def _asks(tool: Mapping[str, Any]) -> bool:
    """Return whether a call of an MCP server's tool may wait for a person: what is not said asks."""
    said = tool.get("require_approval")
    if not is_object(said):
        return said != "never"
    never, always = (_filter(said.get(key)) for key in ("never", "always"))
    allowed = _filter(tool.get("allowed_tools"))
    if always or not never or not allowed:
        return True
    names = set(allowed.get("tool_names") or ())
    is_named = bool(names) and names <= set(never.get("tool_names") or ())
    return not (never == allowed or (is_named and "read_only" not in never))


def _filter(value: Any) -> Mapping[str, Any]:
    """Return a filter of tools as an object; a list is one of names."""
    if is_object(value):
        return value
    return {"tool_names": value} if isinstance(value, list) and value else {}
