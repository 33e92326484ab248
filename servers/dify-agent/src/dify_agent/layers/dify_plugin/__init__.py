"""The values and type ids by which a client asks for Dify's plugins in a run; loads nothing that only a server needs."""

from .configs import (
    DIFY_PLUGIN_LAYER_TYPE_ID,
    DIFY_PLUGIN_LLM_LAYER_TYPE_ID,
    DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID,
    DifyPluginCredentialValue,
    DifyPluginLayerConfig,
    DifyPluginLLMLayerConfig,
    DifyPluginToolConfig,
    DifyPluginToolCredentialType,
    DifyPluginToolOption,
    DifyPluginToolParameter,
    DifyPluginToolParameterForm,
    DifyPluginToolParameterType,
    DifyPluginToolsLayerConfig,
    DifyPluginToolValue,
)


__all__ = [  # noqa: RUF022 - the order is part of the contract (C15)
    "DIFY_PLUGIN_LAYER_TYPE_ID",
    "DIFY_PLUGIN_LLM_LAYER_TYPE_ID",
    "DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID",
    "DifyPluginCredentialValue",
    "DifyPluginLLMLayerConfig",
    "DifyPluginLayerConfig",
    "DifyPluginToolCredentialType",
    "DifyPluginToolConfig",
    "DifyPluginToolOption",
    "DifyPluginToolParameter",
    "DifyPluginToolParameterForm",
    "DifyPluginToolParameterType",
    "DifyPluginToolsLayerConfig",
    "DifyPluginToolValue",
]
