import pytest

from dify_agent.layers.dify_plugin import DifyPluginLayerConfig
from dify_agent.layers.dify_plugin.plugin_layer import DifyPluginLayer
from dify_agent.runtime.layer_providers import create_default_layer_providers


def test_a_server_offers_six_kinds_of_layers():
    """Source: docs/contracts/dify-agent.md, C37."""
    providers = create_default_layer_providers()
    assert [provider.type_id for provider in providers] == [
        "plain.prompt",
        "pydantic_ai.history",
        "dify.output",
        "dify.plugin",
        "dify.plugin.llm",
        "dify.plugin.tools",
    ]


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
