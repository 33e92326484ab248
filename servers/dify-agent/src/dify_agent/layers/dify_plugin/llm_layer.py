"""The layer with the model of a run.

Source: docs/contracts/dify-agent.md, C19.
"""

from dataclasses import dataclass
from typing import ClassVar

import httpx

from dify_agent.adapters.llm import DifyLLMAdapterModel
from dify_agent.compositor import EmptyRuntimeState, LayerDeps, PlainLayer

from .configs import DIFY_PLUGIN_LLM_LAYER_TYPE_ID, DifyPluginLLMLayerConfig
from .plugin_layer import DifyPluginLayer


__all__ = ["DifyPluginLLMDeps", "DifyPluginLLMLayer"]


class DifyPluginLLMDeps(LayerDeps):
    """The dependencies of the model.

    Attributes:
        plugin: The layer with the caller and the daemon.
    """

    plugin: DifyPluginLayer


@dataclass(slots=True, eq=False)
class DifyPluginLLMLayer(
    PlainLayer[DifyPluginLLMDeps, DifyPluginLLMLayerConfig, EmptyRuntimeState]
):
    """The choice of a model that a plugin serves.

    Attributes:
        config: The plugin, the provider in it, the model, its credentials and settings.
    """

    type_id: ClassVar[str] = DIFY_PLUGIN_LLM_LAYER_TYPE_ID

    config: DifyPluginLLMLayerConfig

    def get_model(self, *, http_client: httpx.AsyncClient) -> DifyLLMAdapterModel:
        """Return the model.

        Args:
            http_client: The caller's client; it must be open, and remains the caller's.

        Raises:
            RuntimeError: If the HTTP client is closed.
        """
        provider = self.deps.plugin.create_daemon_provider(
            plugin_id=self.config.plugin_id, http_client=http_client
        )
        return DifyLLMAdapterModel(
            self.config.model,
            provider,
            model_provider=self.config.model_provider,
            credentials=dict(self.config.credentials),
            model_settings=self.config.model_settings,
        )
