"""The execution context of Dify, and the client of Dify's inner API that it makes."""

import asyncio
import json

import httpx
import pytest

from dify_agent.compositor import NoLayerDeps
from dify_agent.exceptions import AgentRunValidationError, CompositionError, DifyAgentError
from dify_agent.layers.execution_context import (
    DifyExecutionContextLayer,
    DifyExecutionContextLayerConfig,
)
from dify_agent.plugin_daemon_transport import SilenceLimits
from dify_agent.protocol import RunComposition
from dify_agent.runtime.layer_providers import create_default_layer_providers
from dify_agent.runtime.runner import validate_composition


KEY = "inner-api-secret"
CALLER = {
    "tenant_id": "tenant-1",
    "user_id": "user-1",
    "user_from": "account",
    "app_id": "app-1",
    "agent_mode": "workflow_run",
    "invoke_from": "debugger",
}


def context(config=CALLER, **settings):
    layer = DifyExecutionContextLayer.from_config_with_settings(
        DifyExecutionContextLayerConfig.model_validate(config),
        **{
            "daemon_url": "http://daemon",
            "daemon_api_key": "daemon-secret",
            "inner_api_url": "http://api:5001/",
            "inner_api_key": KEY,
        }
        | settings,
    )
    layer.bind(deps=NoLayerDeps())
    return layer


async def post(answer, payload=None, **settings):
    """Call an operation of an API that answers with a response or by raising an error."""

    async def serve(request):
        if isinstance(answer, Exception):
            raise answer
        return await answer(request) if callable(answer) else answer

    async with httpx.AsyncClient(transport=httpx.MockTransport(serve)) as http_client:
        client = context(**settings).create_inner_api_client(http_client=http_client)
        return await client.post("agent/tools/invoke", payload or {"n": 1})


async def failure(answer, **settings):
    with pytest.raises(DifyAgentError) as caught:
        await post(answer, **settings)
    assert KEY not in str(caught.value)
    return caught.value


def errors(config):
    layer = {"name": "execution_context", "type": "dify.execution_context", "config": config}
    composition = RunComposition.model_validate({"layers": [layer]})
    try:
        validate_composition(composition, create_default_layer_providers())
    except AgentRunValidationError as error:
        return str(error)
    return ""


def test_it_takes_everything_that_dify_says_of_a_run():
    optional = ["workflow_id", "workflow_run_id", "node_id", "node_execution_id", "trace_id"]
    optional += ["conversation_id", "agent_id", "agent_config_version_id"]
    config = CALLER | dict.fromkeys(optional, "x") | {"agent_config_version_kind": "snapshot"}

    assert errors(config) == ""
    assert context(config).build_caller() == config


@pytest.mark.parametrize("field", ["tenant_id", "agent_mode", "invoke_from"])
def test_it_needs_a_tenant_and_why_it_runs(field):
    assert field in errors({name: value for name, value in CALLER.items() if name != field})


def test_it_takes_words_of_a_later_dify_but_no_empty_ones():
    assert errors(CALLER | {"agent_mode": "later", "invoke_from": "later"}) == ""
    for field, value in [("agent_mode", ""), ("invoke_from", ""), ("user_from", "other")]:
        assert field in errors(CALLER | {field: value})


def test_plugin_layers_take_it_for_the_plugin_layer():
    llm = {"plugin_id": "acme/llm", "model_provider": "acme", "model": "m"}
    layers = [
        {"name": "context", "type": "dify.execution_context", "config": CALLER},
        {"name": "llm", "type": "dify.plugin.llm", "deps": {"plugin": "context"}, "config": llm},
    ]
    composition = RunComposition.model_validate({"layers": layers})

    validate_composition(composition, create_default_layer_providers())


async def test_it_makes_clients_of_the_daemon_for_its_tenant_and_user():
    async with httpx.AsyncClient() as http_client:
        client = context().create_tool_client(plugin_id="p", http_client=http_client)

    assert (client.tenant_id, client.user_id) == ("tenant-1", "user-1")
    assert client.plugin_daemon_url == "http://daemon"


def test_only_the_server_says_where_the_api_is():
    [provider] = (
        provider
        for provider in create_default_layer_providers(
            inner_api_url="http://api", inner_api_key=KEY, silence=SilenceLimits(tool_seconds=5)
        )
        if provider.layer_type is DifyExecutionContextLayer
    )
    layer = provider.create(CALLER)

    assert (layer.inner_api_url, layer.inner_api_key) == ("http://api", KEY)
    assert (layer.silence.tool_seconds, layer.config.app_id) == (5, "app-1")
    assert KEY not in repr(layer)
    with pytest.raises(CompositionError, match="inner_api_url"):
        provider.create(CALLER | {"inner_api_url": "http://elsewhere"})


def test_the_public_configuration_alone_makes_no_layer():
    with pytest.raises(TypeError, match="DifyExecutionContextLayer requires server-side"):
        DifyExecutionContextLayer.from_config(context().config)


async def test_without_an_address_the_option_is_named():
    error = await failure(httpx.Response(200), inner_api_url=None)

    assert isinstance(error, AgentRunValidationError)
    assert str(error) == (
        "This run needs Dify's inner API, whose address the server does not know: set --inner-api-url"
        " (DIFY_AGENT_INNER_API_URL)."
    )


async def test_a_closed_http_client_is_refused():
    async with httpx.AsyncClient() as http_client:
        pass
    with pytest.raises(RuntimeError, match="create_inner_api_client"):
        context().create_inner_api_client(http_client=http_client)


@pytest.mark.parametrize("field", ["user_id", "user_from", "app_id"])
def test_the_api_is_not_called_for_nobody(field):
    config = {name: value for name, value in CALLER.items() if name != field}
    with pytest.raises(AgentRunValidationError, match=f"must have {field} where"):
        context(config).build_caller()


async def test_a_call_goes_to_the_inner_api_with_its_key():
    requests = []

    async def serve(request):
        requests.append(request)
        return httpx.Response(200, json={"results": [1]})

    assert await post(serve, {"n": 1}) == {"results": [1]}
    [request] = requests
    assert str(request.url) == "http://api:5001/inner/api/agent/tools/invoke"
    assert request.headers["X-Inner-Api-Key"] == KEY
    assert request.headers["Content-Type"] == "application/json"
    assert json.loads(request.content) == {"n": 1}


@pytest.mark.parametrize(
    ("status", "code", "is_transient"),
    [
        (400, "invalid_request", False),
        (404, "app_not_found", False),
        (422, "agent_tool_invoke_failed", False),
        (429, "knowledge_rate_limited", True),
        (500, "knowledge_retrieve_failed", True),
        (502, "external_knowledge_failed", True),
        # The tool raised, and would raise again.
        (500, "agent_tool_invoke_unexpected_error", False),
    ],
)
async def test_an_error_has_dify_s_word_for_it_and_may_pass_or_not(status, code, is_transient):
    body = {"code": code, "message": f"not with {KEY}", "status": status}
    error = await failure(httpx.Response(status, json=body))

    assert (error.status_code, error.error_type, error.is_transient) == (
        status,
        code,
        is_transient,
    )
    assert error.message.startswith("not with ")


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (httpx.Response(404, text="<h1>Not found</h1>"), "<h1>Not found</h1>"),
        (httpx.Response(503), "Dify's API stream request failed."),
        (httpx.Response(400, json={"code": 7, "message": "seven"}), "seven"),
        (httpx.Response(400, json=["odd"]), '["odd"]'),
    ],
)
async def test_an_error_in_another_form_keeps_its_text(response, message):
    error = await failure(response)
    assert (error.message, error.error_type) == (message, None)


async def test_an_api_that_cannot_be_reached_may_be_another_time():
    error = await failure(httpx.ConnectError("refused"))

    assert str(error) == "Dify's API could not be reached: refused"
    assert (error.error_type, error.status_code) == ("InnerApiUnreachableError", None)
    assert error.is_transient
    assert str(await failure(httpx.ReadError(""))).endswith("reached: ReadError")


async def test_a_silence_is_told_and_not_worth_another_try():
    async def wait(_request):
        await asyncio.Event().wait()

    error = await failure(wait, silence=SilenceLimits(tool_seconds=0.01))

    assert str(error) == "Dify's API has sent nothing for 0.01 seconds: it may still be at work."
    assert not error.is_transient


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (httpx.Response(200, text="<html>"), "answered with something other than JSON"),
        (httpx.Response(200, content=b"\xff"), "answered with something other than JSON"),
        (httpx.Response(200, content=bytes(16 * 1024 * 1024 + 1)), "reply is too large"),
        (
            httpx.Response(200, content=b"x", headers={"Content-Encoding": "br"}),
            "an invalid stream item",
        ),
    ],
)
async def test_a_reply_that_cannot_be_read_is_refused(response, message):
    error = await failure(response)
    assert message in str(error)
    assert (error.error_type, error.is_transient) == ("PluginDaemonProtocolError", False)


async def test_a_key_that_cannot_stand_in_a_header_is_named_and_not_shown():
    error = await failure(httpx.Response(200), inner_api_key="a\nb")
    assert str(error) == "the inner API's key: expected one line of text without spaces around it"
