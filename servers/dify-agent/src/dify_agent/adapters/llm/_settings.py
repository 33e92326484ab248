"""Conversion of Pydantic AI's settings and tools to fields of a request: model parameters, stop sequences, and the tools to choose from."""

from collections.abc import Collection, Mapping
from typing import Final

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings, ToolOrOutput
from pydantic_ai.tools import ToolDefinition

from stream_text import is_object


type PromptTool = dict[str, object]

_ELSEWHERE: Final = frozenset(
    {
        "cache",
        "citations",
        "extra_body",
        "extra_headers",
        "first_event_timeout",
        "framing_announcement",
        "max_retries",
        "request_timeout",
        "stop_sequences",
        "timeout",
        "tool_choice",
    }
)
"""Settings that Pydantic AI applies itself, that have a field of their own, or that concern HTTP requests."""


def build_model_parameters(
    settings: ModelSettings, *, tool_choice: str | None = None
) -> dict[str, object]:
    """Build the model parameters of a request; a plugin drops those that its model does not have.

    `extra_body` holds parameters under the plugin's own names, and overrides everything else.

    Raises:
        UserError: If `extra_body` is not a mapping.
    """
    parameters: dict[str, object] = {
        name: value
        for name, value in settings.items()
        if value is not None and name not in _ELSEWHERE
    }
    if tool_choice is not None:
        parameters["tool_choice"] = tool_choice
    return {**parameters, **_extra_body(settings)}


def build_stop(settings: ModelSettings) -> list[str] | None:
    """Build the stop sequences of a request; None if there are none."""
    return list(settings.get("stop_sequences") or []) or None


def build_tools(
    parameters: ModelRequestParameters, settings: ModelSettings
) -> tuple[list[PromptTool] | None, str | None]:
    """Build the tools of a request, and the value of its `tool_choice` parameter; None for no tools and for no choice.

    The daemon has a list of tools and no field for the choice. A plugin may have a parameter `tool_choice`; if it does
    not, only leaving a tool out makes sure that it is not called. A choice among named tools therefore leaves the others
    out.

    Raises:
        UserError: If `tool_choice` names no tool of the request.
    """
    tools = parameters.declared_tool_defs
    match settings.get("tool_choice"):
        case None:
            choice = None
        case str(mode):
            choice = mode
        case ToolOrOutput(function_tools=names):
            outputs = [tool.name for tool in parameters.output_tools]
            tools = _only(tools, [*names, *outputs])
            # A model that may not answer in text can end the run only by an output tool.
            choice = "auto" if parameters.allow_text_output else "required"
        case []:
            choice = "none"
        case names:
            tools = _only(tools, names)
            choice = "required"
    prompt_tools = [build_tool(tool) for tool in tools.values()]
    return prompt_tools or None, choice if prompt_tools else None


def build_tool(tool: ToolDefinition) -> PromptTool:
    """Build a tool of a request."""
    return {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.parameters_json_schema,
    }


def _extra_body(settings: ModelSettings) -> Mapping[str, object]:
    extra = settings.get("extra_body")
    if extra is None:
        return {}
    if not is_object(extra):
        raise UserError(
            f"extra_body: expected a mapping of model parameters, got {type(extra).__name__}"
        )
    return extra


def _only(tools: Mapping[str, ToolDefinition], names: Collection[str]) -> dict[str, ToolDefinition]:
    chosen = {name: tool for name, tool in tools.items() if name in names}
    if names and not chosen:
        raise UserError(
            f"tool_choice: expected names among {sorted(tools)!r}, got {sorted(names)!r}"
        )
    return chosen
