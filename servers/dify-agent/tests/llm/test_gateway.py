"""A plugin's model through Dify's API."""

import asyncio
import json
from uuid import NAMESPACE_URL, uuid5

import httpx
import pytest
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, ModelTimeoutError
from pydantic_ai.messages import BinaryContent, ModelRequest, ModelResponse, TextPart
from pydantic_ai.models import ModelRequestParameters

from dify_agent.compositor import NoLayerDeps, RunStart
from dify_agent.exceptions import AgentRunValidationError, LayerLifecycleError
from dify_agent.layers.execution_context import (
    DifyExecutionContextLayer,
    DifyExecutionContextLayerConfig,
)
from dify_agent.layers.gateway_llm import (
    DifyGatewayLLMLayer,
    DifyGatewayLLMLayerConfig,
)
from dify_agent.plugin_daemon_transport import SilenceLimits


CONTEXT = {
    "tenant_id": "tenant-1",
    "user_id": "user-1",
    "user_from": "account",
    "app_id": "app-1",
    "agent_mode": "workflow_run",
    "invoke_from": "debugger",
}
LLM = {
    "plugin_id": "langgenius/openai",
    "model_provider": "openai",
    "model": "gpt-5",
    "credentials": {"api_key": "sk-model-key-0123456789"},
    "context_window_tokens": 1000,
}


def layer_of(config=LLM, context=CONTEXT, **settings):
    known = DifyExecutionContextLayer.from_config_with_settings(
        DifyExecutionContextLayerConfig.model_validate(context),
        **{
            "daemon_url": "http://daemon",
            "daemon_api_key": "",
            "inner_api_url": "http://api/",
            "inner_api_key": "key",
        }
        | settings,
    )
    known.bind(deps=NoLayerDeps())
    layer = DifyGatewayLLMLayer.from_config(DifyGatewayLLMLayerConfig.model_validate(config))
    layer.bind(deps=layer.deps_type(execution_context=known))
    return layer


async def ask(daemon, *messages, layer=None, run_id="run-1"):
    """Ask the model of a run; the API answers as the test's daemon."""
    layer = layer or layer_of()
    async with httpx.AsyncClient(transport=httpx.MockTransport(daemon.handle)) as http_client:
        await layer.on_start(RunStart(run_id=run_id, http_client=http_client))
        model = layer.get_model(http_client=http_client)
        history = list(messages) or [ModelRequest.user_text_prompt("hi")]
        return await model.request(history, model.settings, ModelRequestParameters())


def answered(run_id):
    return ModelResponse([TextPart("so")], run_id=run_id)


async def test_a_call_goes_to_the_api_in_the_name_of_the_run(daemon):
    daemon.reply(daemon.chunk("Hi", finish_reason="stop"))

    answer = await ask(
        daemon,
        layer=layer_of(LLM | {"model_settings": {"temperature": 0.5, "stop_sequences": ["x"]}}),
    )

    [request] = daemon.requests
    assert str(request.url) == "http://api/inner/api/agent/llm/invoke"
    assert request.headers["X-Inner-Api-Key"] == "key"
    optional = ["workflow_id", "workflow_run_id", "node_id", "node_execution_id", "trace_id"]
    optional += ["conversation_id", "agent_id", "agent_config_version_id"]
    optional += ["agent_config_version_kind"]
    assert json.loads(request.content) == {
        "caller": CONTEXT
        | dict.fromkeys(optional)
        | {
            "invocation_id": str(uuid5(NAMESPACE_URL, "dify-agent:run-1:llm:1")),
            "agent_run_id": "run-1",
            "call_index": 1,
        },
        "target": {
            "provider": "langgenius/openai/openai",
            "model": "gpt-5",
            "prompt_messages": [{"role": "user", "content": "hi"}],
            "model_parameters": {"temperature": 0.5},
            "tools": None,
            "stop": ["x"],
            "stream": False,
        },
    }
    assert answer.parts == [TextPart("Hi")]
    assert answer.provider_name == "DifyPlugin/langgenius/openai"


async def test_a_provider_with_its_plugin_s_name_is_named_as_it_is(daemon):
    daemon.reply(daemon.chunk("Hi"))
    await ask(daemon, layer=layer_of(LLM | {"model_provider": "other/plugin/provider"}))
    assert daemon.bodies[0]["target"]["provider"] == "other/plugin/provider"


@pytest.mark.parametrize(
    ("earlier", "number"),
    [
        ([], 1),
        (["run-1"], 2),
        (["run-1", "run-1"], 3),
        (["run-0", "run-1"], 2),
        ([None], 1),
        # After a wait a run has a number behind its id.
        (["run-1", "run-1/1"], 3),
        (["run-10"], 1),
    ],
)
async def test_a_request_is_numbered_by_the_answers_of_its_run(daemon, earlier, number):
    daemon.reply(daemon.chunk("Hi"))
    history = [
        each
        for run_id in earlier
        for each in (ModelRequest.user_text_prompt("and"), answered(run_id))
    ]

    await ask(daemon, *history, ModelRequest.user_text_prompt("so"))

    caller = daemon.bodies[0]["caller"]
    name = f"dify-agent:run-1:llm:{number}"
    assert (caller["call_index"], caller["invocation_id"]) == (
        number,
        str(uuid5(NAMESPACE_URL, name)),
    )


async def test_an_answer_goes_back_whichever_way_it_came(daemon):
    daemon.reply(daemon.chunk("Hi", opaque_body={"reasoning": "r"}))
    answer = await daemon.ask()
    daemon.reply(daemon.chunk("Again"))

    await ask(daemon, answer, ModelRequest.user_text_prompt("so"))

    assert daemon.bodies[-1]["target"]["prompt_messages"][0]["opaque_body"] == {"reasoning": "r"}


async def test_files_are_sent_without_asking_what_the_model_reads(daemon):
    daemon.reply(daemon.chunk("A cat."))
    image = BinaryContent(data=b"\x89PNG", media_type="image/png")

    await ask(daemon, ModelRequest.user_text_prompt(["What?", image]))

    assert daemon.schema_requests == []
    assert daemon.bodies[0]["target"]["prompt_messages"][0]["content"][1]["type"] == "image"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (httpx.Response(400, json={"code": "invalid_model_request", "message": "no"}), 400),
        (httpx.Response(404, json={"code": "app_not_found", "message": "no"}), 404),
        (httpx.Response(429, json={"code": "agent_llm_quota_exceeded", "message": "no"}), 429),
    ],
)
async def test_what_the_api_refuses_has_its_word_and_status(daemon, answer, status):
    daemon.answers.append(answer)

    with pytest.raises(ModelHTTPError) as caught:
        await ask(daemon)

    assert caught.value.status_code == status
    assert caught.value.body == {"error_type": answer.json()["code"], "message": "no"}


@pytest.mark.parametrize(
    ("error_type", "status"),
    [
        ("AgentLLMQuotaExceededError", 429),
        ("QuotaExceededError", 429),
        ("InvokeRateLimitError", 429),
    ],
)
async def test_an_error_inside_the_answer_has_the_status_of_its_type(daemon, error_type, status):
    daemon.reply(daemon.error(error_type, "no more"))

    with pytest.raises(ModelHTTPError) as caught:
        await ask(daemon)

    assert caught.value.status_code == status


async def test_an_answer_without_a_chunk_is_the_api_s_fault(daemon):
    daemon.reply()
    with pytest.raises(ModelAPIError, match="Dify's API ended its reply without an LLM chunk"):
        await ask(daemon)


async def test_a_silence_is_the_api_s(daemon):
    async def wait(_request):
        await asyncio.Event().wait()

    daemon.handle = wait
    with pytest.raises(ModelTimeoutError, match=r"Dify's API has sent nothing for 0\.01 seconds"):
        await ask(daemon, layer=layer_of(silence=SilenceLimits(model_seconds=0.01)))


async def test_a_model_is_there_once_a_run_started():
    async with httpx.AsyncClient() as http_client:
        with pytest.raises(LayerLifecycleError):
            layer_of().get_model(http_client=http_client)


async def test_a_model_needs_a_caller_and_an_api(daemon):
    with pytest.raises(AgentRunValidationError, match="--inner-api-url"):
        await ask(daemon, layer=layer_of(inner_api_url=None))
    nobody = {name: value for name, value in CONTEXT.items() if name != "user_id"}
    with pytest.raises(AgentRunValidationError, match="user_id"):
        await ask(daemon, layer=layer_of(context=nobody))


async def test_its_provider_is_at_the_api():
    layer = layer_of()
    async with httpx.AsyncClient() as http_client:
        await layer.on_start(RunStart(run_id="run-1", http_client=http_client))
        model = layer.get_model(http_client=http_client)

    assert model.provider.base_url == "http://api"
    assert (model.model_name, model.settings) == ("gpt-5", None)
