import base64
import json
from dataclasses import dataclass, field
from urllib.parse import quote

import httpx
import pytest
from pydantic_ai import Agent, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from counting import counted_steps
from dify_agent.exceptions import AgentRunValidationError
from dify_agent.layers.dify_plugin import (
    DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID,
    DifyPluginLayerConfig,
    DifyPluginToolConfig,
    DifyPluginToolsLayerConfig,
)
from dify_agent.layers.dify_plugin.plugin_layer import DifyPluginLayer
from dify_agent.layers.dify_plugin.tools_layer import DifyPluginToolsDeps, DifyPluginToolsLayer


SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "What to look for"}},
    "required": ["query"],
}


@dataclass
class Run:
    """What came of an agent run: what its model read and was offered, and what the daemon was asked."""

    observations: list = field(default_factory=list)
    definitions: list = field(default_factory=list)
    requests: list = field(default_factory=list)

    @property
    def payloads(self):
        return [json.loads(request.content) for request in self.requests]

    @property
    def sent(self):
        return self.payloads[0]["data"]["tool_parameters"]


def tool(**fields):
    return DifyPluginToolConfig.model_validate(
        {
            "plugin_id": "langgenius/search",
            "provider": "search",
            "tool_name": "web_search",
            "credential_type": "api-key",
            "parameters_json_schema": SCHEMA,
        }
        | fields
    )


def parameter(name, kind="string", form="llm", **fields):
    return {"name": name, "type": kind, "form": form, **fields}


def layer_of(*tools):
    plugin = DifyPluginLayer.from_config_with_settings(
        DifyPluginLayerConfig(tenant_id="tenant-1", user_id="user-1"),
        daemon_url="http://daemon/",
        daemon_api_key="daemon-secret",
    )
    layer = DifyPluginToolsLayer.from_config(DifyPluginToolsLayerConfig(tools=list(tools)))
    layer.bind(deps=DifyPluginToolsDeps(plugin=plugin))
    return layer


def frames(*items):
    envelopes = [json.dumps({"code": 0, "message": "success", "data": item}) for item in items]
    return httpx.Response(200, text="".join(f"data: {envelope}\n\n" for envelope in envelopes))


def text(value):
    return {"type": "text", "message": {"text": value}}


def failed(error_type, message, **fields):
    payload = json.dumps({"error_type": error_type, "message": message})
    return httpx.Response(200, json={"code": -500, "message": payload, "data": None, **fields})


async def run(config, *calls, answer=None):
    """Run an agent whose model makes the calls, one a turn, and then says that it is done."""
    outcome = Run()
    tools = config if isinstance(config, list) else [config]

    def serve(request):
        outcome.requests.append(request)
        return frames(text("found")) if answer is None else answer(request)

    def model(messages, info):
        outcome.definitions = info.function_tools
        turn = sum(isinstance(message, ModelResponse) for message in messages)
        if turn < len(calls):
            name, arguments = calls[turn]
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        return ModelResponse(parts=[TextPart("done")])

    async with httpx.AsyncClient(transport=httpx.MockTransport(serve)) as http_client:
        agent = Agent(
            FunctionModel(model),
            tools=await layer_of(*tools).get_tools(http_client=http_client),
        )
        messages = (await agent.run("go")).all_messages()
    requests = [each for each in messages if isinstance(each, ModelRequest)]
    parts = [part for request in requests for part in request.parts]
    outcome.observations = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    return outcome


async def call(config, arguments=None, *, answer=None):
    return await run(config, (config.name or config.tool_name, arguments or {}), answer=answer)


async def observe(answer, config=None, arguments=None):
    return (await call(config or tool(), arguments, answer=lambda _: answer)).observations[0]


def test_the_layer_has_the_type_id_of_its_configuration():
    assert DifyPluginToolsLayer.type_id == DIFY_PLUGIN_TOOLS_LAYER_TYPE_ID


async def test_tools_with_very_many_parameters_are_made_beside_the_event_loop():
    parameters = [parameter(f"p{n}") for n in range(400)]
    layer = layer_of(tool(parameters=parameters))
    async with httpx.AsyncClient() as http_client:
        with counted_steps() as steps:
            assert await layer.get_tools(http_client=http_client)
    assert steps.own < steps.others / 10


async def test_a_layer_without_tools_has_none():
    assert await layer_of().get_tools(http_client=httpx.AsyncClient()) == []


async def test_a_tool_is_offered_under_its_own_name_with_the_prepared_schema():
    [offered] = (await run(tool(strict=True))).definitions

    assert offered.name == "web_search"
    assert offered.description == "web_search"
    assert offered.parameters_json_schema == SCHEMA
    assert offered.strict is True


async def test_a_tool_is_offered_under_the_name_and_description_that_it_is_given():
    [offered] = (await run(tool(name="search", description="Search the web."))).definitions

    assert offered.name == "search"
    assert offered.description == "Search the web."
    assert offered.strict is None


async def test_a_tool_without_another_description_is_described_by_its_name():
    [offered] = (await run(tool(name="search"))).definitions

    assert offered.description == "search"


async def test_the_schema_is_not_rebuilt_from_the_declarations():
    schema = {"type": "object", "properties": {"anything": {}}, "additionalProperties": False}
    [offered] = (
        await run(tool(parameters=[parameter("query")], parameters_json_schema=schema))
    ).definitions

    assert offered.parameters_json_schema == schema


async def test_a_later_change_of_the_configuration_changes_no_tool():
    config = tool(parameters=[parameter("n", "number", default=[1])])
    layer = layer_of(config)
    requests = []

    def serve(request):
        requests.append(json.loads(request.content))
        return frames()

    def model(messages, info):
        assert info.function_tools[0].parameters_json_schema == SCHEMA
        is_first = len(messages) == 1
        return ModelResponse(
            parts=[ToolCallPart("web_search", {}) if is_first else TextPart("done")]
        )

    async with httpx.AsyncClient(transport=httpx.MockTransport(serve)) as http_client:
        [made] = await layer.get_tools(http_client=http_client)
        [held] = layer.config.tools
        held.parameters[0].default.append(2)
        held.parameters_json_schema["properties"].clear()
        agent = Agent(FunctionModel(model), tools=[made])
        await agent.run("go")

    assert requests[0]["data"]["tool_parameters"] == {"n": [1]}


async def test_tools_stand_in_the_order_of_the_configuration():
    tools = [tool(tool_name=name, plugin_id=f"p/{name}") for name in ("c", "a", "b")]

    made = await layer_of(*tools).get_tools(http_client=httpx.AsyncClient())

    assert [each.name for each in made] == ["c", "a", "b"]


async def test_each_tool_is_invoked_in_its_own_plugin():
    outcome = await run(
        [
            tool(tool_name="a", plugin_id="x/a", provider="pa", credential_type="oauth2"),
            tool(tool_name="b", name="bb", plugin_id="x/b", provider="pb", credentials={"k": 1}),
        ],
        ("a", {"query": "first"}),
        ("bb", {"query": "second"}),
    )

    assert [request.headers["X-Plugin-ID"] for request in outcome.requests] == ["x/a", "x/b"]
    assert [request.url.path for request in outcome.requests] == [
        "/plugin/tenant-1/dispatch/tool/invoke"
    ] * 2
    assert outcome.payloads == [
        {
            "data": {
                "provider": "pa",
                "tool": "a",
                "credentials": {},
                "credential_type": "oauth2",
                "tool_parameters": {"query": "first"},
            },
            "user_id": "user-1",
        },
        {
            "data": {
                "provider": "pb",
                "tool": "b",
                "credentials": {"k": 1},
                "credential_type": "api-key",
                "tool_parameters": {"query": "second"},
            },
            "user_id": "user-1",
        },
    ]


async def test_a_closed_client_is_refused():
    client = httpx.AsyncClient()
    await client.aclose()

    with pytest.raises(RuntimeError, match="requires an open shared HTTP client"):
        await layer_of(tool()).get_tools(http_client=client)


async def test_required_hidden_values_that_nobody_gave_are_refused_before_any_request():
    config = tool(
        name="search",
        parameters=[
            parameter("version", form="form", required=True),
            parameter("auth", form="schema", required=True),
            parameter("photo", "file", form="form", required=True),
            parameter("given", form="form", required=True),
            parameter("nulled", form="form", required=True),
            parameter("empty", form="form", required=True, default=""),
            parameter("zero", "number", form="form", required=True, default=0),
            parameter("off", "boolean", form="form", required=True, default=False),
            parameter("optional", form="form"),
            parameter("query", required=True),
        ],
        runtime_parameters={"given": "x", "nulled": None},
    )

    with pytest.raises(AgentRunValidationError) as raised:
        await layer_of(config).get_tools(http_client=httpx.AsyncClient())

    assert isinstance(raised.value, ValueError)
    assert str(raised.value) == (
        "Tool 'web_search' requires non-LLM runtime_parameters for: auth, photo, version."
    )


async def test_the_reply_becomes_text():
    reply = frames(
        text("found "),
        {"type": "json", "message": {"json_object": {"count": 1}}},
        {"type": "link", "message": {"text": "https://a.test"}},
    )

    assert await observe(reply) == (
        'found result link: https://a.test. please tell user to check it.{"count": 1}'
    )


async def test_an_empty_reply_is_an_empty_text():
    assert await observe(frames()) == ""


@pytest.mark.parametrize("name", ["ctx", "self", "_ctx", "run", "arguments", "not an identifier"])
async def test_a_parameter_may_have_any_name(name):
    assert (await call(tool(parameters=[parameter(name)]), {name: "v"})).sent == {name: "v"}


@pytest.mark.parametrize(
    ("error_type", "observation"),
    [
        ("PluginDaemonUnauthorizedError", "Please check your tool provider credentials"),
        ("InvokeAuthorizationError", "Please check your tool provider credentials"),
        ("CredentialsValidateFailedError", "Please check your tool provider credentials"),
        ("ToolProviderCredentialValidationError", "Please check your tool provider credentials"),
        ("ToolNotFoundError", "there is not a tool named search"),
        ("ToolProviderNotFoundError", "there is not a tool named search"),
        ("PluginDaemonBadRequestError", "tool parameters validation error: no, please check your tool parameters"),
        ("ValidateError", "tool parameters validation error: no, please check your tool parameters"),
        ("ToolParameterValidationError", "tool parameters validation error: no, please check your tool parameters"),
        ("PluginNotFoundError", "tool invoke error: no"),
        ("ValueError", "tool invoke error: no"),
        ("badrequest", "tool invoke error: no"),
        ("", "tool invoke error: no"),
    ],
)  # fmt: skip
async def test_an_error_of_the_daemon_is_told_by_its_type(error_type, observation):
    assert await observe(failed(error_type, "no"), tool(name="search")) == observation


async def test_a_nested_plugin_error_is_told_by_its_innermost_type():
    inner = json.dumps({"error_type": "ToolNotFoundError", "message": "gone"})

    assert (
        await observe(failed("PluginInvokeError", inner)) == "there is not a tool named web_search"
    )


@pytest.mark.parametrize(
    ("status", "body", "observation"),
    [
        (400, "bad", "tool parameters validation error: bad, please check your tool parameters"),
        (401, "no entry", "tool invoke error: no entry"),
        (500, "", "tool invoke error: Plugin daemon stream request failed."),
        (400, '{"error_type":"PluginDaemonUnauthorizedError","message":"m"}', "Please check your tool provider credentials"),
    ],
)  # fmt: skip
async def test_an_error_status_is_told_as_well(status, body, observation):
    assert await observe(httpx.Response(status, text=body)) == observation


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"data: {broken\n", "Plugin daemon returned an invalid stream item."),
        (b'data: {"code":0,"data":"\xff"}\n', "Plugin daemon returned an invalid stream item."),
        (b'data: {"code":0,"data":{"type":"text","message":{"no":1}}}\n', "Plugin daemon returned an invalid stream item."),
        (b'data: {"code":0,"data":null}\n', "Plugin daemon returned an empty stream item."),
        (b'data: {"code":-1,"message":""}\n', "Plugin daemon returned an error stream item."),
    ],
)  # fmt: skip
async def test_a_malformed_reply_is_never_blamed_on_the_parameters(reply, said):
    assert await observe(httpx.Response(200, content=reply)) == f"tool invoke error: {said}"


async def test_an_unfinished_file_is_the_daemons_error():
    piece = {"id": "b1", "sequence": 0, "total_length": 9, "blob": "aGk=", "end": False}

    assert await observe(frames({"type": "blob_chunk", "message": piece})) == (
        "tool invoke error: the stream ended before these blobs did: b1"
    )


@pytest.mark.parametrize(
    "error", [httpx.ConnectError("down"), RuntimeError("bug"), TypeError("bug"), KeyError("bug")]
)
async def test_an_unexpected_error_ends_the_run(error):
    def answer(_):
        raise error

    with pytest.raises(type(error)):
        await call(tool(), answer=answer)


async def test_a_value_that_no_json_can_carry_is_blamed_on_the_parameters():
    [observation] = (
        await call(tool(parameters=[parameter("n", "number")]), {"n": "1.5e999"})
    ).observations

    assert observation.startswith("tool parameters validation error: ")


@pytest.mark.untraced
async def test_a_large_file_never_stands_in_the_conversation():
    data = bytes(range(256)) * 4 * 1024 * 30
    blob = {"type": "blob", "message": {"blob": base64.b64encode(data).decode()}}

    observation = await observe(
        frames(text("a file: "), blob | {"meta": {"mime_type": "image/png"}})
    )

    told, reason = observation.splitlines()
    assert told == f"a file: file created: image/png, {len(data)} bytes."
    assert reason.startswith("[image omitted: ")


async def test_chunks_are_put_together_before_they_are_told():
    pieces = [
        {"id": "b1", "sequence": 0, "total_length": 11, "blob": "aGVsbG8g", "end": False},
        {"id": "b1", "sequence": 1, "total_length": 11, "blob": "d29ybGQ=", "end": True},
    ]

    assert await observe(frames(*[{"type": "blob_chunk", "message": each} for each in pieces])) == (
        "hello world"
    )


@pytest.mark.parametrize(
    "reply", [text("x" * 1_000_000), {"type": "json", "message": ["y" * 1_000_000]}]
)
async def test_a_long_result_keeps_its_beginning_and_its_end(reply):
    observation = await observe(frames(reply))

    assert len(observation) < 201_000
    assert "characters left out here" in observation


async def test_the_results_of_all_tools_of_a_run_share_one_bound():
    tools = [tool(), tool(tool_name="other")]
    calls = [("web_search", {}), ("other", {})] * 4
    outcome = await run(tools, *calls, answer=lambda _: frames(text("x" * 200_000)))

    assert [len(observation) for observation in outcome.observations[:5]] == [200_000] * 5
    assert all(len(observation) < 1_100 for observation in outcome.observations[5:])


SECRETS = tool(
    credentials={"api_key": "tool-secret", "region": "eu-central-1"},
    runtime_parameters={"pin": "hidden-secret"},
    parameters=[
        parameter("pin", "secret-input", form="form"),
        parameter("preset", "secret-input", form="form", default="default-secret"),
        parameter("n", "number"),
    ],
)


@pytest.mark.parametrize("secret", ["tool-secret", "hidden-secret", "default-secret"])
async def test_a_result_shows_no_secret_of_its_tool(secret):
    observation = await observe(frames(text(f"{secret} in eu-central-1")), SECRETS)

    assert observation == "[redacted] in eu-central-1"


@pytest.mark.parametrize("secret", ["tool-secret", "hidden-secret", "daemon-secret"])
async def test_an_error_shows_no_secret(secret):
    observation = await observe(failed("ValueError", f"with {secret}"), SECRETS)

    assert observation == "tool invoke error: with [redacted]"


HIDDEN = tool(
    runtime_parameters={
        "pin": "1234",
        "site": "internal.example.org/wiki",
        "unit": "celsius",
        "account": 1234567890,
        "header": {"names": ["x-internal-name"]},
        "icon": {"mime_type": "image/png", "verbose": True},
        "prompt": "word " * 5_000,
    },
    parameters=[
        parameter("pin", "secret-input", form="form"),
        parameter("site", form="form"),
        parameter("icon", "file", form="form"),
    ],
)


@pytest.mark.untraced
@pytest.mark.parametrize(
    "secret", ["1234", "internal.example.org/wiki", "1234567890", "x-internal-name"]
)
async def test_an_error_shows_no_value_of_a_hidden_parameter(secret):
    quoted = quote(secret, safe="")
    observation = await observe(
        failed("ValueError", f"with <{secret}> or <{quoted}> in celsius, image/png"), HIDDEN
    )

    assert observation == (
        "tool invoke error: with <[redacted]> or <[redacted]> in celsius, image/png"
    )


async def test_a_result_may_show_what_is_hidden_but_no_secret():
    observation = await observe(frames(text("internal.example.org/wiki of tool-secret")), HIDDEN)

    assert observation == "internal.example.org/wiki of tool-secret"


async def test_a_refused_value_shows_no_secret():
    observation = await observe(frames(), SECRETS, {"n": "tool-secret"})

    assert observation == (
        "tool parameters validation error: invalid literal for int() with base 10: '[redacted]',"
        " please check your tool parameters"
    )


async def test_a_tool_and_its_layer_show_no_secret():
    layer = layer_of(SECRETS)
    [made] = await layer.get_tools(http_client=httpx.AsyncClient())

    for secret in ("tool-secret", "hidden-secret", "daemon-secret"):
        assert secret not in repr(layer)
        assert secret not in repr(made)
