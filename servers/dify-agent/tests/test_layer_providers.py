import httpx
import pytest

from dify_agent.layers.dify_plugin import DifyPluginLayerConfig
from dify_agent.layers.dify_plugin.plugin_layer import DifyPluginLayer
from dify_agent.plugin_daemon_transport import SilenceLimits
from dify_agent.runtime.layer_providers import create_default_layer_providers


def test_a_server_offers_these_kinds_of_layers():
    """Source: docs/contracts/dify-agent.md, C37."""
    providers = create_default_layer_providers()
    assert [provider.type_id for provider in providers] == [
        "plain.prompt",
        "dify.user_prompt",
        "pydantic_ai.history",
        "dify.output",
        "dify.ask_human",
        "dify.plugin",
        "dify.execution_context",
        "dify.plugin.llm",
        "dify.gateway.llm",
        "dify.plugin.tools",
        "dify.core.tools",
        "dify.knowledge_base",
        "dify.external_memory",
        "dify.runtime",
        "dify.shell",
        "dify.config",
        "dify.drive",
    ]


def plugin_layer(**settings):
    [provider] = (
        provider
        for provider in create_default_layer_providers(**settings)
        if provider.layer_type is DifyPluginLayer
    )
    return provider.create(DifyPluginLayerConfig(tenant_id="t"))


async def test_the_server_says_how_long_replies_may_be_silent():
    assert plugin_layer().silence == SilenceLimits(
        model_seconds=600, keep_alive_seconds=60, tool_seconds=600
    )
    layer = plugin_layer(silence=SilenceLimits(tool_seconds=5))
    async with httpx.AsyncClient() as http_client:
        tools = layer.create_tool_client(plugin_id="p", http_client=http_client)
        models = layer.create_daemon_provider(plugin_id="p", http_client=http_client)
    assert tools.silence.tool_seconds == models.client.silence.tool_seconds == 5


@pytest.mark.parametrize(
    ("settings", "url", "key"),
    [
        ({}, "http://localhost:5002", ""),
        (
            {"plugin_daemon_url": "http://daemon", "plugin_daemon_api_key": "k"},
            "http://daemon",
            "k",
        ),
    ],
)
def test_only_the_server_says_where_the_daemon_is(settings, url, key):
    provider = next(
        provider
        for provider in create_default_layer_providers(**settings)
        if provider.layer_type is DifyPluginLayer
    )
    layer = provider.create(DifyPluginLayerConfig(tenant_id="t"))
    assert (layer.daemon_url, layer.daemon_api_key) == (url, key)
    assert provider.create({"tenant_id": "t"}) is not layer
