"""The layer with a model that Dify's API calls, with credentials that stay in Dify.

Dify 1.17 asks for a plugin's model without its credentials; whoever translates such a request names this layer.

Source: docs/contracts/dify-agent.md, C70 and C71.
"""

from dataclasses import dataclass, field
from typing import ClassVar, override

import httpx
from pydantic import Field

from dify_agent.adapters.llm import DifyLLMAdapterModel
from dify_agent.adapters.llm._gateway import DifyGatewayLLMClient
from dify_agent.adapters.llm._provider import DifyPluginProvider
from dify_agent.compositor import EmptyRuntimeState, LayerDeps, PlainLayer, RunStart
from dify_agent.exceptions import LayerLifecycleError

from .dify_plugin.configs import DifyPluginLLMLayerConfig
from .execution_context import DifyExecutionContextLayer


__all__ = ["DifyGatewayLLMLayer", "DifyGatewayLLMLayerConfig"]


class DifyGatewayLLMLayerConfig(DifyPluginLLMLayerConfig):
    """The choice of a model that Dify's API calls; `credentials` are taken and not used.

    Attributes:
        context_window_tokens: The most tokens of a request, which is not read.
    """

    context_window_tokens: int | None = Field(default=None, gt=0)


class DifyGatewayLLMDeps(LayerDeps):
    """The dependencies of the model.

    Attributes:
        execution_context: The layer with the caller and Dify's inner API.
    """

    execution_context: DifyExecutionContextLayer


@dataclass(slots=True, eq=False)
class DifyGatewayLLMLayer(
    PlainLayer[DifyGatewayLLMDeps, DifyGatewayLLMLayerConfig, EmptyRuntimeState]
):
    """The choice of a model that Dify's API calls.

    Attributes:
        config: The plugin, the provider in it, the model and its settings.
    """

    type_id: ClassVar[str] = "dify.gateway.llm"

    config: DifyGatewayLLMLayerConfig
    _run_id: str | None = field(default=None, init=False, repr=False)

    @override
    async def on_start(self, start: RunStart) -> None:
        """Note the run, which is sent to Dify's API with each request."""
        self._run_id = start.run_id

    def get_model(self, *, http_client: httpx.AsyncClient) -> DifyLLMAdapterModel:
        """Return the model.

        Args:
            http_client: The caller's client; it must be open, and remains the caller's.

        Raises:
            AgentRunValidationError: If the server does not know Dify's inner API, or the context does not say who calls.
            LayerLifecycleError: If the layer was not started.
            RuntimeError: If the HTTP client is closed.
        """
        if self._run_id is None:
            raise LayerLifecycleError(
                "A model that Dify's API calls is available only after a run has started."
            )
        context = self.deps.execution_context
        client = DifyGatewayLLMClient(
            inner_api=context.create_inner_api_client(http_client=http_client),
            plugin_id=self.config.plugin_id,
            caller=context.build_caller(),
            run_id=self._run_id,
        )
        return DifyLLMAdapterModel(
            self.config.model,
            DifyPluginProvider(client),
            model_provider=self.config.model_provider,
            credentials={},
            model_settings=self.config.model_settings,
        )
