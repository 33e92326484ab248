"""The tools that Dify itself invokes."""

import json

import httpx
import pytest
from pydantic_ai import Agent, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from counting import counted_steps
from dify_agent.compositor import NoLayerDeps
from dify_agent.exceptions import AgentRunValidationError
from dify_agent.layers.core_tools import (
    DifyCoreToolsLayer,
    DifyCoreToolsLayerConfig,
)
from dify_agent.layers.execution_context import (
    DifyExecutionContextLayer,
    DifyExecutionContextLayerConfig,
)


CALLER = {
    "tenant_id": "tenant-1",
    "user_id": "user-1",
    "user_from": "account",
    "app_id": "app-1",
    "invoke_from": "debugger",
}
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SECRET = "s3cret-hidden-value"
WEATHER = {
    "provider_type": "api",
    "provider_id": "provider-1",
    "tool_name": "weather",
    "runtime_parameters": {"token": SECRET},
    "parameters": [{"name": "token", "type": "secret-input", "form": "form"}],
    "parameters_json_schema": SCHEMA,
}


def layer_of(*tools, caller=CALLER):
    context = DifyExecutionContextLayer.from_config_with_settings(
        DifyExecutionContextLayerConfig.model_validate({"agent_mode": "single_step", **caller}),
        daemon_url="http://daemon",
        daemon_api_key="",
        inner_api_url="http://api",
        inner_api_key="key",
    )
    context.bind(deps=NoLayerDeps())
    config = DifyCoreToolsLayerConfig.model_validate({"tools": tools})
    layer = DifyCoreToolsLayer.from_config(config)
    layer.bind(deps=layer.deps_type(execution_context=context))
    return layer


async def call(tool, arguments, answer):
    """Run an agent whose model makes one call; return the call's result, the model's offer, and what the API was asked."""
    asked, offered = [], []

    def serve(request):
        asked.append(json.loads(request.content))
        return answer

    def model(messages, info):
        offered[:] = info.function_tools
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart(info.function_tools[0].name, arguments)])
        return ModelResponse(parts=[TextPart("done")])

    async with httpx.AsyncClient(transport=httpx.MockTransport(serve)) as http_client:
        tools = await layer_of(tool).get_tools(http_client=http_client)
        result = await Agent(FunctionModel(model), tools=tools).run("go")
    messages = [each for each in result.all_messages() if isinstance(each, ModelRequest)]
    [returned] = [p for each in messages for p in each.parts if isinstance(p, ToolReturnPart)]
    return returned, offered, asked


def said(text):
    return httpx.Response(200, json={"observation": text, "messages": [], "metadata": {}})


async def test_dify_is_told_who_calls_what_with_which_arguments():
    tool = WEATHER | {"credential_id": "credential-1"}
    returned, _, asked = await call(tool, {"query": "Rome"}, said("Sunny."))

    assert returned.content == "Sunny."
    optional = ["conversation_id", "workflow_id", "workflow_run_id", "node_id"]
    optional += ["node_execution_id", "agent_id", "agent_config_version_id"]
    assert asked == [
        {
            "caller": CALLER | dict.fromkeys(optional),
            "tool": {
                "provider_type": "api",
                "provider_id": "provider-1",
                "tool_name": "weather",
                "credential_id": "credential-1",
                "runtime_parameters": {"token": SECRET},
                "tool_parameters": {"query": "Rome"},
            },
        }
    ]


async def test_a_tool_is_offered_as_it_was_prepared():
    tool = WEATHER | {"name": "forecast", "description": "Tell the weather."}
    _, [offered], _ = await call(tool, {}, said("Sunny."))

    assert (offered.name, offered.description) == ("forecast", "Tell the weather.")
    assert offered.parameters_json_schema == SCHEMA


async def test_a_tool_that_is_not_described_takes_nothing_and_is_described_by_its_name():
    tool = {"provider_type": "workflow", "provider_id": "p", "tool_name": "flow"}
    _, [offered], _ = await call(tool, {}, said("Done."))

    assert offered.description == "flow"
    assert offered.parameters_json_schema["properties"] == {}


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        (422, "agent_tool_credential_invalid", "Please check your tool provider credentials"),
        (404, "agent_tool_declaration_not_found", "there is not a tool named weather"),
        (
            422,
            "tool_parameters_invalid",
            "tool parameters validation error: no city, please check your tool parameters",
        ),
        (422, "agent_tool_invoke_failed", "tool invoke error: no city"),
        (404, "app_not_found", "tool invoke error: no city"),
    ],
)
async def test_a_failure_becomes_a_sentence_and_is_told_apart_from_a_result(status, code, text):
    body = {"code": code, "message": "no city", "status": status}
    returned, _, _ = await call(WEATHER, {}, httpx.Response(status, json=body))

    assert returned.content == text
    failure = {"error_type": code, "message": "no city", "status_code": status}
    assert returned.metadata == {"dify_tool_failure": failure}


async def test_a_failure_that_may_pass_says_so():
    returned, _, _ = await call(WEATHER, {}, httpx.Response(503, text="away"))

    assert returned.content == "tool invoke error: away"
    assert returned.metadata["dify_tool_failure"]["is_transient"]


async def test_neither_a_result_nor_a_failure_shows_a_secret():
    returned, _, _ = await call(WEATHER, {}, said(f"with {SECRET}"))
    assert returned.content == "with [redacted]"

    body = {"code": "agent_tool_invoke_failed", "message": f"bad token {SECRET}"}
    returned, _, _ = await call(WEATHER, {}, httpx.Response(422, json=body))
    assert SECRET not in f"{returned.content}{returned.metadata}"


async def test_a_reply_without_a_result_is_a_failure():
    returned, _, _ = await call(WEATHER, {}, httpx.Response(200, json=["odd"]))
    assert returned.content == (
        "tool invoke error: Dify's API answered without the result of a tool."
    )


async def test_arguments_that_cannot_be_sent_may_be_mended():
    returned, _, asked = await call(WEATHER, {"query": float("nan")}, said("Sunny."))

    assert returned.content.startswith("tool parameters validation error: ")
    assert asked == []


async def test_long_results_are_cut():
    returned, _, _ = await call(WEATHER, {}, said("x" * 2_000_000))
    assert len(returned.content) < 1_000_000


async def test_a_layer_without_tools_needs_nothing():
    layer = layer_of(caller={"tenant_id": "t", "invoke_from": "debugger"})
    async with httpx.AsyncClient() as http_client:
        assert await layer.get_tools(http_client=http_client) == []


async def test_tools_with_very_many_parameters_are_made_beside_the_event_loop():
    parameters = [{"name": f"p{n}", "type": "string", "form": "llm"} for n in range(400)]
    layer = layer_of({**WEATHER, "parameters": parameters})
    async with httpx.AsyncClient() as http_client:
        with counted_steps() as steps:
            assert await layer.get_tools(http_client=http_client)
    assert steps.own < steps.others / 10


async def test_a_tool_needs_a_caller():
    layer = layer_of(WEATHER, caller={"tenant_id": "t", "invoke_from": "debugger"})
    async with httpx.AsyncClient() as http_client:
        with pytest.raises(AgentRunValidationError, match="user_id, user_from, app_id"):
            await layer.get_tools(http_client=http_client)


async def test_a_later_change_of_the_configuration_changes_no_tool():
    layer = layer_of(WEATHER)
    asked = []

    def serve(request):
        asked.append(json.loads(request.content))
        return said("Sunny.")

    def model(messages, info):
        assert info.function_tools[0].parameters_json_schema == SCHEMA
        part = ToolCallPart("weather", {}) if len(messages) == 1 else TextPart("done")
        return ModelResponse(parts=[part])

    async with httpx.AsyncClient(transport=httpx.MockTransport(serve)) as http_client:
        tools = await layer.get_tools(http_client=http_client)
        layer.config.tools[0].parameters_json_schema["properties"].clear()
        layer.config.tools[0].runtime_parameters.clear()
        await Agent(FunctionModel(model), tools=tools).run("go")

    assert asked[0]["tool"]["runtime_parameters"] == {"token": SECRET}
