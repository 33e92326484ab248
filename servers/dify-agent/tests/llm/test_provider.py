import asyncio
import json

import httpx
from pydantic_ai import Agent
from pydantic_ai.messages import TextPart

from dify_agent.adapters.llm import DifyPluginDaemonLLMClient, DifyPluginDaemonProvider


ADDRESS = {
    "tenant_id": "tenant-1",
    "plugin_id": "langgenius/openai",
    "plugin_daemon_url": "http://daemon:5002/",
    "plugin_daemon_api_key": "daemon-key-0123456789",
}


async def test_a_call_goes_to_the_llm_dispatch(daemon):
    daemon.reply(daemon.chunk("Hi"))

    await daemon.ask(model=daemon.model(daemon.provider(user_id="user-1")))

    (request,) = daemon.requests
    assert request.method == "POST"
    assert str(request.url) == "http://daemon:5002/plugin/tenant-1/dispatch/llm/invoke"
    assert request.headers["X-Api-Key"] == "daemon-key-0123456789"
    assert request.headers["X-Plugin-ID"] == "langgenius/openai"
    assert request.headers["Content-Type"] == "application/json"
    assert json.loads(request.content) == {
        "user_id": "user-1",
        "data": {
            "provider": "openai",
            "model_type": "llm",
            "model": "gpt-5",
            "credentials": {"api_key": "sk-model-key-0123456789"},
            "prompt_messages": [{"role": "user", "content": "hi"}],
            "model_parameters": {},
            "tools": None,
            "stop": None,
            "stream": False,
        },
    }


async def test_without_a_user_none_is_named(daemon):
    daemon.reply(daemon.chunk("Hi"))

    await daemon.ask()

    assert "user_id" not in daemon.bodies[0]


async def test_the_client_can_be_used_alone(daemon):
    daemon.reply(daemon.chunk("Hi"), daemon.chunk(" there"))
    client = daemon.provider().client
    assert isinstance(client, DifyPluginDaemonLLMClient)

    chunks = client.invoke(
        provider="openai",
        model="gpt-5",
        credentials={},
        prompt_messages=[],
        model_parameters={},
        tools=None,
        stop=None,
        stream=True,
    )

    assert [chunk.delta.message.content async for chunk in chunks] == ["Hi", " there"]


async def test_a_provider_is_named_after_its_plugin(daemon):
    provider = daemon.provider()

    assert provider.name == "DifyPlugin/langgenius/openai"
    assert provider.base_url == "http://daemon:5002"
    assert daemon.model(provider).system == provider.name
    assert daemon.model(provider).model_id == "DifyPlugin/langgenius/openai:gpt-5"


async def test_nothing_shows_a_credential(daemon):
    provider = daemon.provider()
    model = daemon.model(provider)

    shown = " ".join(map(repr, [provider, provider.client, model, Agent(model)]))

    assert "0123456789" not in shown


async def test_a_client_that_was_given_stays_open(daemon):
    http_client = httpx.AsyncClient(transport=httpx.MockTransport(daemon.handle))

    async with daemon.provider(http_client=http_client):
        pass

    assert not http_client.is_closed


async def test_a_client_of_its_own_is_closed_at_the_end():
    provider = DifyPluginDaemonProvider(**ADDRESS)

    async with provider:
        http_client = provider.client.http_client
        assert not http_client.is_closed

    assert http_client.is_closed
    assert http_client.timeout == httpx.Timeout(600)
    assert not http_client.trust_env


async def test_an_agent_closes_the_client_that_its_provider_made(daemon):
    provider = DifyPluginDaemonProvider(**ADDRESS)

    async with Agent(daemon.model(provider)):
        http_client = provider.client.http_client

    assert http_client.is_closed


def test_a_client_of_its_own_is_new_in_another_event_loop():
    provider = DifyPluginDaemonProvider(**ADDRESS)

    async def client_of_a_run() -> httpx.AsyncClient:
        async with provider:
            return provider.client.http_client

    first, second = asyncio.run(client_of_a_run()), asyncio.run(client_of_a_run())

    assert first is not second


async def test_models_are_equal_if_all_that_makes_them_is(daemon):
    provider = daemon.provider()

    assert daemon.model(provider) == daemon.model(provider)
    assert daemon.model(provider) != daemon.model(provider, credentials={"api_key": "other"})


async def test_the_credentials_are_the_models_own_copy(daemon):
    credentials = {"api_key": "one"}
    model = daemon.model(credentials=credentials)
    credentials["api_key"] = "two"

    daemon.reply(daemon.chunk("Hi"))
    answer = await daemon.ask(model=model)

    assert daemon.sent["credentials"] == {"api_key": "one"}
    assert answer.parts == [TextPart("Hi")]
