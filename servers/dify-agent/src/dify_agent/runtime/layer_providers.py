"""The kinds of layers that a server offers.

Source: docs/contracts/dify-agent.md, C37 and C38.
"""

from functools import partial
from typing import Any

from dify_agent.compositor import LayerProvider
from dify_agent.layers.ask_human import AskHumanLayer
from dify_agent.layers.core_tools import DifyCoreToolsLayer
from dify_agent.layers.dify_plugin.llm_layer import DifyPluginLLMLayer
from dify_agent.layers.dify_plugin.plugin_layer import DifyPluginLayer
from dify_agent.layers.dify_plugin.tools_layer import DifyPluginToolsLayer
from dify_agent.layers.execution_context import DifyExecutionContextLayer
from dify_agent.layers.external_memory import ExternalMemoryLayer
from dify_agent.layers.gateway_llm import DifyGatewayLLMLayer
from dify_agent.layers.history import HistoryLayer
from dify_agent.layers.knowledge import DifyKnowledgeLayer
from dify_agent.layers.not_offered import NOT_OFFERED_LAYERS
from dify_agent.layers.output import OutputLayer
from dify_agent.layers.prompt import PromptLayer
from dify_agent.layers.user_prompt import UserPromptLayer
from dify_agent.plugin_daemon_transport import SilenceLimits


__all__ = ["create_default_layer_providers"]


def create_default_layer_providers(
    *,
    plugin_daemon_url: str = "http://localhost:5002",
    plugin_daemon_api_key: str = "",
    inner_api_url: str | None = None,
    inner_api_key: str = "",
    silence: SilenceLimits | None = None,
) -> tuple[LayerProvider[Any], ...]:
    """Return the providers of all layers.

    Those of prompts, history, output and questions to a person, of the plugin, model and tools, and the layers that
    only Dify has.

    Args:
        plugin_daemon_url: The daemon's address, which only layers made by this server get to know.
        plugin_daemon_api_key: The daemon's key; likewise.
        inner_api_url: The address of Dify's API; without it runs that need its inner part fail.
        inner_api_key: The key of its inner part.
        silence: How long a reply may be silent; the defaults of `SilenceLimits` if left out.
    """
    daemon: dict[str, Any] = {
        "daemon_url": plugin_daemon_url,
        "daemon_api_key": plugin_daemon_api_key,
        "silence": silence,
    }
    create_plugin_layer = partial(DifyPluginLayer.from_config_with_settings, **daemon)
    create_context_layer = partial(
        DifyExecutionContextLayer.from_config_with_settings,
        **daemon,
        inner_api_url=inner_api_url,
        inner_api_key=inner_api_key,
    )
    return (
        LayerProvider.from_layer_type(PromptLayer),
        LayerProvider.from_layer_type(UserPromptLayer),
        LayerProvider.from_layer_type(HistoryLayer),
        LayerProvider.from_layer_type(OutputLayer),
        LayerProvider.from_layer_type(AskHumanLayer),
        LayerProvider.from_factory(DifyPluginLayer, create_plugin_layer),
        LayerProvider.from_factory(DifyExecutionContextLayer, create_context_layer),
        LayerProvider.from_layer_type(DifyPluginLLMLayer),
        LayerProvider.from_layer_type(DifyGatewayLLMLayer),
        LayerProvider.from_layer_type(DifyPluginToolsLayer),
        LayerProvider.from_layer_type(DifyCoreToolsLayer),
        LayerProvider.from_layer_type(DifyKnowledgeLayer),
        LayerProvider.from_layer_type(ExternalMemoryLayer),
        *(LayerProvider.from_layer_type(kind) for kind in NOT_OFFERED_LAYERS),
    )
