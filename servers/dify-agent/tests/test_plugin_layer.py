import httpx
import pytest

from dify_agent.compositor import NoLayerDeps
from dify_agent.layers.dify_plugin import DifyPluginLayerConfig, DifyPluginLLMLayerConfig
from dify_agent.layers.dify_plugin.llm_layer import DifyPluginLLMDeps, DifyPluginLLMLayer
from dify_agent.layers.dify_plugin.plugin_layer import DifyPluginLayer


def a_plugin_layer() -> DifyPluginLayer:
    layer = DifyPluginLayer.from_config_with_settings(
        DifyPluginLayerConfig(tenant_id="tenant-1", user_id="user-1"),
        daemon_url="http://daemon:5002/",
        daemon_api_key="daemon-secret",
    )
    layer.bind(deps=NoLayerDeps())
    return layer


def an_llm_layer(**config: object) -> DifyPluginLLMLayer:
    layer = DifyPluginLLMLayer.from_config(
        DifyPluginLLMLayerConfig.model_validate(
            {"plugin_id": "langgenius/openai", "model_provider": "openai", "model": "gpt-4o-mini"}
            | config
        )
    )
    layer.bind(deps=DifyPluginLLMDeps(plugin=a_plugin_layer()))
    return layer


async def test_the_public_configuration_alone_makes_no_plugin_layer():
    with pytest.raises(TypeError) as caught:
        DifyPluginLayer.from_config(DifyPluginLayerConfig(tenant_id="t"))
    assert str(caught.value) == (
        "DifyPluginLayer requires server-side daemon settings and must use a provider factory."
    )


async def test_the_daemon_key_is_not_shown():
    assert "daemon-secret" not in repr(a_plugin_layer())


async def test_a_provider_has_the_plugins_identity_and_the_daemons_address():
    async with httpx.AsyncClient() as http_client:
        provider = a_plugin_layer().create_daemon_provider(
            plugin_id="langgenius/openai", http_client=http_client
        )
    assert provider.name == "DifyPlugin/langgenius/openai"
    assert provider.base_url == "http://daemon:5002"
    assert "daemon-secret" not in repr(provider)


async def test_a_tool_client_has_the_shared_context_and_the_tools_plugin():
    async with httpx.AsyncClient() as http_client:
        client = a_plugin_layer().create_tool_client(
            plugin_id="langgenius/search", http_client=http_client
        )
        assert client.http_client is http_client
    assert (client.tenant_id, client.user_id) == ("tenant-1", "user-1")
    assert client.plugin_id == "langgenius/search"
    assert client.plugin_daemon_api_key == "daemon-secret"
    assert "daemon-secret" not in repr(client)


@pytest.mark.parametrize("method", ["create_daemon_provider", "create_tool_client"])
async def test_a_closed_http_client_is_refused(method):
    async with httpx.AsyncClient() as http_client:
        pass
    with pytest.raises(RuntimeError) as caught:
        getattr(a_plugin_layer(), method)(plugin_id="p", http_client=http_client)
    assert str(caught.value) == f"DifyPluginLayer.{method}() requires an open shared HTTP client."


async def test_a_model_that_is_done_leaves_the_shared_http_client_open():
    async with httpx.AsyncClient() as http_client:
        provider = a_plugin_layer().create_daemon_provider(plugin_id="p", http_client=http_client)
        async with provider:
            pass
        assert not http_client.is_closed


async def test_the_layer_keeps_no_http_client():
    layer = a_plugin_layer()
    async with httpx.AsyncClient() as http_client:
        one = layer.create_tool_client(plugin_id="p", http_client=http_client)
        other = layer.create_tool_client(plugin_id="p", http_client=http_client)
    assert one is not other
    assert http_client not in {getattr(layer, name) for name in ("daemon_url", "daemon_api_key")}
    assert layer.runtime_state.model_dump() == {}


async def test_a_model_is_that_of_the_configuration_with_a_plugin_of_its_own():
    layer = an_llm_layer(model_settings={"temperature": 0.25}, credentials={"api_key": "sk-1"})
    async with httpx.AsyncClient() as http_client:
        model = layer.get_model(http_client=http_client)
    assert model.model_name == "gpt-4o-mini"
    assert model.system == "DifyPlugin/langgenius/openai"
    assert model.settings == {"temperature": 0.25}


async def test_a_model_needs_an_open_http_client():
    async with httpx.AsyncClient() as http_client:
        pass
    with pytest.raises(RuntimeError, match="requires an open shared HTTP client"):
        an_llm_layer().get_model(http_client=http_client)
