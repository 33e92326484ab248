"""The tools of a request, and which of them the model may choose."""

from collections.abc import Collection, Mapping

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings, ToolOrOutput
from pydantic_ai.tools import ToolDefinition


type PromptTool = dict[str, object]


def build_tools(
    parameters: ModelRequestParameters, settings: ModelSettings
) -> tuple[list[PromptTool] | None, str | None]:
    """Build the tools of a request, and the value of its `tool_choice` parameter; None for what there is not.

    The daemon has a list of tools and nothing that says which to use. A plugin may have a parameter `tool_choice`; where it
    has none, only the tools that are left out are sure not to be called. A choice among named tools therefore leaves the
    others out.

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
            choice = "auto" if parameters.allow_text_output else "required"
        case []:
            choice = "none"
        case names:
            tools = _only(tools, names)
            choice = "required"
    prompt_tools = [_build_tool(tool) for tool in tools.values()]
    return prompt_tools or None, choice if prompt_tools else None


def _only(tools: Mapping[str, ToolDefinition], names: Collection[str]) -> dict[str, ToolDefinition]:
    chosen = {name: tool for name, tool in tools.items() if name in names}
    if names and not chosen:
        raise UserError(
            f"tool_choice: expected names among {sorted(tools)!r}, got {sorted(names)!r}"
        )
    return chosen


def _build_tool(tool: ToolDefinition) -> PromptTool:
    return {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.parameters_json_schema,
    }
