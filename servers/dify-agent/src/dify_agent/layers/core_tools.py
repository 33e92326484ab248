"""The layer with the tools that Dify itself invokes: its built-in ones, workflows, APIs and MCP servers, with credentials that stay in Dify.

Dify checks and casts the arguments, and puts the configured values together with the model's.

Source: docs/contracts/dify-agent.md, C66; dify-agent 1.16.0, its `layers/dify_core_tools`; langgenius/dify at 15c1b6347429,
`api/services/agent_tool_inner_service.py`.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal

import httpx
from pydantic import BaseModel, Field, JsonValue, ValidationError
from pydantic_ai import Tool, ToolReturn

from agent_tooling import (
    CHECK_CREDENTIALS,
    ResultBudget,
    invoke_error_text,
    parameters_error_text,
    unknown_tool_text,
)
from dify_agent._inner_api import InnerApiClient, InnerApiError
from dify_agent.compositor import (
    FEW_MEMBERS,
    EmptyRuntimeState,
    LayerConfig,
    LayerDeps,
    PlainLayer,
)
from dify_agent.plugin_daemon_transport import PROTOCOL_ERROR_TYPE

from .dify_plugin._prepared_tool import ShownResults, build_tool
from .dify_plugin._secrets import ConfigSecrets
from .dify_plugin.configs import MOST_TOOLS, DifyPluginToolParameter, no_parameters
from .execution_context import DifyExecutionContextLayer


__all__ = ["DifyCoreToolsLayer", "DifyCoreToolsLayerConfig"]


# What the operation knows of its caller; it refuses anything more.
_CALLER: Final = (
    "tenant_id",
    "user_id",
    "user_from",
    "app_id",
    "invoke_from",
    "conversation_id",
    "workflow_id",
    "workflow_run_id",
    "node_id",
    "node_execution_id",
    "agent_id",
    "agent_config_version_id",
)


class DifyCoreToolConfig(LayerConfig):
    """One prepared tool for the agent.

    Attributes:
        provider_type: The kind of the provider.
        provider_id: The provider.
        tool_name: The tool's name in Dify.
        credential_id: The credentials in Dify that it is invoked with; the default ones if left out.
        name: The name that the model sees, if it is a different one.
        description: The tool's description for the model; the name if left out.
        runtime_parameters: Values for the parameters that the model does not fill in.
        parameters: The declarations in effect, which tell secrets from other values.
        parameters_json_schema: The schema that the model sees, taken as it is.
    """

    provider_type: Literal["plugin", "builtin", "api", "workflow", "mcp"]
    provider_id: str
    tool_name: str
    credential_id: str | None = None
    name: str | None = None
    description: str | None = None
    runtime_parameters: Annotated[dict[str, JsonValue], FEW_MEMBERS] = Field(
        default_factory=dict[str, JsonValue], repr=False
    )
    parameters: list[DifyPluginToolParameter] = Field(
        default_factory=list[DifyPluginToolParameter], fail_fast=True
    )
    parameters_json_schema: dict[str, JsonValue] = Field(default_factory=no_parameters)


class DifyCoreToolsLayerConfig(LayerConfig):
    """The core tools of one layer; there may be none.

    Attributes:
        tools: The tools, in the order in which the model sees them; at most 1,024.
    """

    tools: list[DifyCoreToolConfig] = Field(
        default_factory=list[DifyCoreToolConfig], max_length=MOST_TOOLS
    )


class DifyCoreToolsDeps(LayerDeps):
    """The dependencies of the tools.

    Attributes:
        execution_context: The layer with the caller and Dify's inner API.
    """

    execution_context: DifyExecutionContextLayer


@dataclass(slots=True, eq=False)
class DifyCoreToolsLayer(
    PlainLayer[DifyCoreToolsDeps, DifyCoreToolsLayerConfig, EmptyRuntimeState]
):
    """The prepared core tools of a run.

    Attributes:
        config: The tools, in the order in which the model sees them.
    """

    type_id: ClassVar[str] = "dify.core.tools"

    config: DifyCoreToolsLayerConfig

    async def get_tools(self, *, http_client: httpx.AsyncClient) -> list[Tool[object]]:
        """Return the tools, whose results share one budget for the model.

        Args:
            http_client: The caller's client; it must be open, and remains the caller's.

        Raises:
            AgentRunValidationError: If the server does not know Dify's inner API, or the context does not say who calls.
            RuntimeError: If the HTTP client is closed.
        """
        if not self.config.tools:
            return []
        context = self.deps.execution_context
        client = context.create_inner_api_client(http_client=http_client)
        known = context.build_caller()
        caller = {name: known[name] for name in _CALLER}
        budget = ResultBudget()

        def build() -> list[Tool[object]]:
            return [
                _build_tool(config, client=client, caller=caller, budget=budget)
                for config in self.config.tools
            ]

        return await asyncio.to_thread(build)  # as for the tools of plugins


class _Reply(BaseModel):
    observation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _CoreTool:
    """A tool that is ready to be invoked and returns text for the model."""

    config: DifyCoreToolConfig
    client: InnerApiClient
    caller: Mapping[str, str | None]
    shown: ShownResults

    @property
    def name(self) -> str:
        """The tool's name for the model."""
        return self.config.name or self.config.tool_name

    async def invoke(self, arguments: Mapping[str, Any]) -> ToolReturn[str]:
        """Invoke the tool and return the text for the model; raise only a failure that ends the run."""
        tool = self.config.model_dump(
            mode="json",
            include={
                "provider_type",
                "provider_id",
                "tool_name",
                "credential_id",
                "runtime_parameters",
            },
        )
        payload = {"caller": self.caller, "tool": {**tool, "tool_parameters": dict(arguments)}}
        try:
            reply = _read_reply(await self.client.post("agent/tools/invoke", payload))
        except InnerApiError as error:
            return self.shown.build_failure(
                _error_text(error, tool_name=self.name),
                error.error_type,
                error.message,
                error.status_code,
                is_transient=error.is_transient,
            )
        # Arguments that cannot be written as JSON: the model may try others.
        except ValueError as error:
            text = parameters_error_text(str(error))
            return self.shown.build_failure(text, "invalid_arguments", str(error))
        return ToolReturn(self.shown.fit(reply.observation))


def _build_tool(
    config: DifyCoreToolConfig,
    *,
    client: InnerApiClient,
    caller: Mapping[str, str | None],
    budget: ResultBudget,
) -> Tool[object]:
    # A copy, so that a later change of the configuration does not change the tool.
    config = config.model_copy(deep=True)
    shown = ShownResults(budget=budget, secrets=ConfigSecrets([config.model_dump()]))
    tool = _CoreTool(config=config, client=client, caller=caller, shown=shown)
    return build_tool(
        tool.invoke,
        name=tool.name,
        description=config.description,
        schema=config.parameters_json_schema,
    )


def _read_reply(reply: object) -> _Reply:
    try:
        return _Reply.model_validate(reply)
    except ValidationError:
        # Its text would quote the reply, and as a ValueError it would blame the model's arguments.
        raise InnerApiError(
            "Dify's API answered without the result of a tool.", error_type=PROTOCOL_ERROR_TYPE
        ) from None


def _error_text(error: InnerApiError, *, tool_name: str) -> str:
    """Return the sentence about a failed invocation for the model."""
    match error.error_type:
        case "agent_tool_credential_invalid":
            return CHECK_CREDENTIALS
        case "agent_tool_declaration_not_found":
            return unknown_tool_text(tool_name)
        case "tool_parameters_invalid":
            return parameters_error_text(error.message)
        case _:
            return invoke_error_text(error.message)
