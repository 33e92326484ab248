"""The layer with the plugin tools of a run: prepared configurations in, Pydantic AI tools out.

Nothing about a tool is fetched here: the author of the request prepared its declarations and schema. A model's
arguments replace configured values of the same name, even hidden ones. That is the contract's precedence, so do not
rely on a hidden parameter for anything that a model must not decide.

Source: docs/contracts/dify-agent.md, C20 to C25, and C32 to C34 for the model's view of replies and failures.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import httpx
from pydantic_ai import Tool, ToolReturn

from agent_tooling import (
    CHECK_CREDENTIALS,
    TOOL_LAYER_OBSERVATIONS,
    ResultBudget,
    ToolParameter,
    invoke_error_text,
    missing_hidden_parameters,
    observation_text,
    parameters_error_text,
    prepare_arguments,
    unknown_tool_text,
)
from dify_agent.compositor import EmptyRuntimeState, LayerDeps, PlainLayer
from dify_agent.exceptions import AgentRunValidationError
from dify_agent.layers.not_offered import NotOfferedLayer

from ._prepared_tool import ShownResults, build_tool
from ._secrets import ConfigSecrets
from ._tool_files import readable_files
from .configs import (
    DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID,
    DifyPluginToolConfig,
    DifyPluginToolParameter,
    DifyPluginToolParameterType,
    DifyPluginToolsLayerConfig,
)
from .plugin_layer import DifyPluginLayer
from .tool_client import DifyPluginDaemonToolClient, DifyPluginToolClientError


__all__ = ["DifyPluginToolsDeps", "DifyPluginToolsLayer"]


_BAD_REQUEST: Final = 400
_CREDENTIAL_ERRORS: Final = ("Credential", "Authorization", "Unauthorized")
_NOT_FOUND_ERRORS: Final = ("ToolNotFound", "ProviderNotFound")
_PARAMETER_ERRORS: Final = ("BadRequest", "Validate", "Validation")
_SELECTIONS: Final = frozenset(
    {DifyPluginToolParameterType.SELECT, DifyPluginToolParameterType.DYNAMIC_SELECT}
)


class DifyPluginToolsDeps(LayerDeps):
    """The dependencies of the tools.

    Attributes:
        plugin: The layer with the caller and the daemon.
        shell: The layer of a shell, which Dify names and nothing here needs.
    """

    plugin: DifyPluginLayer
    shell: NotOfferedLayer | None = None


@dataclass(slots=True, eq=False)
class DifyPluginToolsLayer(
    PlainLayer[DifyPluginToolsDeps, DifyPluginToolsLayerConfig, EmptyRuntimeState]
):
    """The prepared plugin tools of a run.

    Attributes:
        config: The tools, in the order in which the model sees them.
    """

    type_id: ClassVar[str] = DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID

    config: DifyPluginToolsLayerConfig

    async def get_tools(self, *, http_client: httpx.AsyncClient) -> list[Tool[object]]:
        """Return the tools.

        The results of the tools that one call returns share one budget for the model.

        Args:
            http_client: The caller's client; it must be open, and remains the caller's.

        Raises:
            AgentRunValidationError: If a required value that the model cannot supply is missing.
            RuntimeError: If the HTTP client is closed.
        """
        clients = {
            plugin_id: self.deps.plugin.create_tool_client(
                plugin_id=plugin_id, http_client=http_client
            )
            for plugin_id in {tool.plugin_id for tool in self.config.tools}
        }
        budget = ResultBudget()

        def build() -> list[Tool[object]]:
            return [
                _build_pydantic_ai_tool(tool, client=clients[tool.plugin_id], budget=budget)
                for tool in self.config.tools
            ]

        # Together they may have very many parameters.
        return await asyncio.to_thread(build)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedTool:
    """A tool that is ready to be invoked and returns text for the model."""

    config: DifyPluginToolConfig
    parameters: Sequence[ToolParameter]
    client: DifyPluginDaemonToolClient
    shown: ShownResults

    @property
    def name(self) -> str:
        """The tool's name for the model."""
        return self.config.name or self.config.tool_name

    async def invoke(self, arguments: Mapping[str, Any]) -> ToolReturn[str]:
        """Invoke the tool and return the text for the model; raise only a failure that ends the run."""
        try:
            prepared = prepare_arguments(self.parameters, self.config.runtime_parameters, arguments)
            messages = await self.client.invoke(
                provider=self.config.provider,
                tool_name=self.config.tool_name,
                credential_type=self.config.credential_type,
                credentials=self.config.credentials,
                tool_parameters=prepared,
            )
        except DifyPluginToolClientError as error:
            text = _error_text(error, tool_name=self.name)
            return self.shown.build_failure(
                text, error.error_type, error.message, error.status_code
            )
        # Arguments that cannot be cast or written as JSON: the model may try others.
        except ValueError as error:
            text = parameters_error_text(str(error))
            return self.shown.build_failure(text, "invalid_arguments", str(error))
        files, left_out = readable_files(messages)
        text = "\n".join([observation_text(messages, policy=TOOL_LAYER_OBSERVATIONS), *left_out])
        # As a user message after the results: not every plugin reads files in a tool's message.
        shown = [f"Files from the tool {self.name}:", *files] if files else None
        return ToolReturn(self.shown.fit(text), content=shown)


def _build_pydantic_ai_tool(
    config: DifyPluginToolConfig, *, client: DifyPluginDaemonToolClient, budget: ResultBudget
) -> Tool[object]:
    """Build the tool of a configuration, with the configured schema as it is."""
    _validate_required_hidden_parameters(config)
    tool = _PreparedTool(
        config=config,
        # Copies, so that a later change of the configuration does not change the tool.
        parameters=[
            ToolParameter.from_raw(
                each.model_copy(update={"multiple": _takes_several(each, config)}, deep=True)
            )
            for each in config.parameters
        ],
        client=client,
        shown=ShownResults(budget=budget, secrets=ConfigSecrets([config.model_dump()])),
    )
    return build_tool(
        tool.invoke,
        name=tool.name,
        description=config.description,
        schema=config.parameters_json_schema,
        strict=config.strict,
    )


def _takes_several(parameter: DifyPluginToolParameter, config: DifyPluginToolConfig) -> bool:
    """Return whether a selection takes a list. Dify's API leaves `multiple` out, and so it shows in the schema, the default or the value alone."""
    if parameter.multiple or parameter.type not in _SELECTIONS:
        return parameter.multiple
    properties = config.parameters_json_schema.get("properties")
    shown = properties.get(parameter.name) if isinstance(properties, dict) else None
    given = config.runtime_parameters.get(parameter.name)
    return (
        (isinstance(shown, dict) and shown.get("type") == "array")
        or isinstance(parameter.default, list)
        or isinstance(given, list)
    )


def _validate_required_hidden_parameters(config: DifyPluginToolConfig) -> None:
    missing = missing_hidden_parameters(config.parameters, config.runtime_parameters)
    if missing:
        raise AgentRunValidationError(
            f"Tool '{config.tool_name}' requires non-LLM runtime_parameters for: {', '.join(missing)}."
        )


def _error_text(error: DifyPluginToolClientError, *, tool_name: str) -> str:
    """Return the sentence about a failed invocation for the model.

    Words in the error's type decide about the kind of failure, in this order: credentials, tool or provider not found,
    parameters (or HTTP status 400), anything else.

    Args:
        error: The error of the daemon or the plugin.
        tool_name: The tool's name for the model.
    """
    error_type = error.error_type or ""
    if _names_any(error_type, _CREDENTIAL_ERRORS):
        return CHECK_CREDENTIALS
    if _names_any(error_type, _NOT_FOUND_ERRORS):
        return unknown_tool_text(tool_name)
    if error.status_code == _BAD_REQUEST or _names_any(error_type, _PARAMETER_ERRORS):
        return parameters_error_text(error.message)
    return invoke_error_text(error.message)


def _names_any(error_type: str, words: Iterable[str]) -> bool:
    return any(word in error_type for word in words)
