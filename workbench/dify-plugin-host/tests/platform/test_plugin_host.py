import asyncio
import itertools
import json
from dataclasses import replace

import pytest

from dify_plugin_host import (
    AgentRequest,
    BackwardsError,
    HostSettings,
    LLMRequest,
    ModelRequest,
    PlatformRules,
    PluginExitedError,
    PluginFolderError,
    PluginHost,
    PluginHostError,
    PluginInvokeError,
    PluginStartError,
    StreamRejectedError,
    UnknownNameError,
)


QUESTION = """call clock {"timezone": "Asia/Tokyo"}
call calculator {"expression": "17 * 23"}
call fail_on_demand {"message": "out of ink"}"""

USER = {"role": "user", "content": "hello"}


class Running:
    """A host whose plugins run, on the loop that the tests of this module share."""

    def __init__(self, host, runner):
        self.host = host
        self.do = runner.run
        self.do(host.start())


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def start(runner):
    """Start hosts; end them when the module's tests are done."""
    started = []

    def start_one(host):
        started.append(Running(host, runner))
        return started[-1]

    yield start_one
    for running in started:
        runner.run(running.host.stop())


@pytest.fixture(scope="module")
def host(shared_plugins, start):
    """Start a host of both plugins of these tests; the same settings get the same one."""
    folders = [shared_plugins / name for name in ("echo_model", "small_agent")]
    hosts = {}

    def get(**options):
        key = repr(options)
        if key not in hosts:
            hosts[key] = start(PluginHost(*folders, **options))
        return hosts[key]

    return get


def loose(**switches):
    return HostSettings(rules=PlatformRules(**switches))


def run(running, query, **fields):
    """Run the strategy `steps` and return its messages."""
    request = AgentRequest(query=query, strategy="steps", model="echo-2")
    return running.do(collect(running.host.run(replace(request, **fields))))


async def collect(items):
    return [item async for item in items]


def ask(running, **fields):
    """Call the model and return the chunks of its answer."""
    request = LLMRequest(model="echo-2", messages=[USER])
    return running.do(collect(running.host.invoke_llm(replace(request, **fields))))


def texts(messages):
    return [message["message"]["text"] for message in messages if message["type"] == "text"]


def seen_by_model(running, **fields):
    """Return the request as the model plugin got it."""
    message = fields.pop("message", {})
    chunks = ask(running, messages=[{"role": "user", "content": "request", **message}], **fields)
    return json.loads(chunks[0]["delta"]["message"]["content"])


def raw(running, kind, payload):
    """Have the strategy make one backwards call and return (event, message, data) of the replies."""
    (text,) = texts(run(running, f"raw {kind} {json.dumps(payload)}"))
    return [(reply["event"], reply["message"], reply["data"]) for reply in json.loads(text)]


def raw_llm(running, messages, **fields):
    named = {"provider": "echo", "model": "echo-2", "mode": "chat"}
    payload = {**named, "prompt_messages": messages, **fields}
    return raw(running, "llm", payload)


def test_a_run_goes_from_the_question_over_tools_to_the_answer(host):
    messages = run(host(), QUESTION)
    assert texts(messages)[0] == "<think>\nwhich tool?\n</think>"
    answer = "".join(texts(messages)[1:])
    assert "(UTC+0900) in Asia/Tokyo" in answer
    assert "17 * 23 = 391" in answer
    assert "tool invoke error: out of ink" in answer
    metadata = messages[-1]["message"]["json_object"]["execution_metadata"]
    assert metadata["total_tokens"] == 30


def test_a_strategy_gets_the_parameters_that_difys_agent_node_sends(host):
    history = [{"role": "user", "content": "earlier"}]
    fields = {
        "instruction": "Be brief.",
        "completion_params": {"reasoning_effort": "low"},
        "history": history,
        "parameters": {"context": [1, 2.5]},
    }
    (text,) = texts(run(host(), "params", **fields))
    params = json.loads(text)
    assert params["query"] == "params"
    assert params["instruction"] == "Be brief."
    assert params["context"] == [1, 2.5]
    assert params["maximum_iterations"] == 3
    assert [tool["identity"]["name"] for tool in params["tools"]] == [
        "clock",
        "calculator",
        "fail_on_demand",
    ]
    model = params["model"]
    assert model["provider"] == "tests/echo_model/echo"
    assert (model["model"], model["model_type"], model["mode"]) == ("echo-2", "llm", "chat")
    assert model["completion_params"] == {"reasoning_effort": "low"}
    assert model["history_prompt_messages"] == history
    assert model["entity"]["model_properties"]["context_size"] == 1000


@pytest.mark.parametrize(
    ("switch", "features"),
    [
        (True, ["tool-call", "stream-tool-call"]),
        (False, ["tool-call", "stream-tool-call", "structured-output"]),
    ],
)
def test_features_that_the_agent_node_does_not_know_are_hidden(host, switch, features):
    (text,) = texts(run(host(settings=loose(filter_features=switch)), "params"))
    assert json.loads(text)["model"]["entity"]["features"] == features


@pytest.mark.parametrize(
    ("fields", "error", "problem"),
    [
        ({"strategy": "none"}, UnknownNameError, "no strategy 'none'; expected one of: steps, q"),
        (
            {"model": "none"},
            UnknownNameError,
            "no model 'none'; expected one of: echo-2, echo-1, echo-3",
        ),
        ({"provider": "none"}, UnknownNameError, "expected one of: tests/echo_model/echo"),
        (
            {"parameters": {"speed": 1}},
            UnknownNameError,
            "no parameter of strategy 'steps' named 'speed'; expected one of: model, tools",
        ),
        (
            {"completion_params": {"speed": 1}},
            UnknownNameError,
            "no parameter of model 'echo-2' named 'speed'; expected one of: reasoning_effort",
        ),
        (
            {"completion_params": {"reasoning_effort": "huge"}},
            UnknownNameError,
            "there is no reasoning_effort 'huge'; expected one of: low, high",
        ),
        (
            {"parameters": {"instruction": None}},
            PluginHostError,
            "tool parameter instruction not found in tool config",
        ),
    ],
)
def test_a_request_with_an_unknown_name_is_refused(host, fields, error, problem):
    with pytest.raises(error, match=problem):
        run(host(), "hello", **fields)


def test_an_unknown_name_is_reported_with_the_known_ones(host):
    with pytest.raises(UnknownNameError) as caught:
        run(host(), "hello", strategy="none")
    error = caught.value
    assert (error.kind, error.name, error.known) == ("strategy", "none", ("steps", "quiet"))


def test_a_type_of_models_or_a_provider_that_nobody_knows_is_refused(host):
    running = host()
    images = ModelRequest(model="echo-2", model_type="text2img", fields={})
    with pytest.raises(
        UnknownNameError, match="no type of models 'text2img'; expected one of: llm"
    ):
        running.host.invoke_model(images)
    with pytest.raises(UnknownNameError, match="no provider of tools or models 'ecko'"):
        running.do(running.host.validate_credentials({}, provider="ecko"))


def test_a_host_says_what_its_plugins_declare(host):
    both = host().host
    (provider,) = both.model_providers
    assert provider.name == "echo"
    assert provider.models == ("echo-2", "echo-1", "echo-3")  # the position file's, then the rest
    assert provider.credential_defaults == {"request_timeout_seconds": "300"}
    assert [strategy.name for strategy in both.strategies] == ["steps", "quiet"]
    assert list(both.strategies[0].parameters)[:2] == ["model", "tools"]


@pytest.mark.parametrize("provider", [None, "echo", "tests/echo_model/echo"])
def test_a_model_is_called_with_the_hosts_credentials_over_the_schemas_defaults(host, provider):
    request = seen_by_model(host(credentials={"openai_api_key": "k"}), provider=provider)
    assert request["provider"] == "echo"
    assert request["credentials"] == {"request_timeout_seconds": "300", "openai_api_key": "k"}
    assert (request["type"], request["action"]) == ("model", "invoke_llm")
    assert (request["model_type"], request["stream"]) == ("llm", True)
    assert (request["tools"], request["stop"]) == ([], [])


def test_a_model_for_which_nobody_configured_anything_gets_no_credentials(host):
    assert seen_by_model(host())["credentials"] == {}


def test_a_request_reaches_the_model_as_the_daemon_hands_it_on(host):
    tool = {"name": "t", "description": "T.", "parameters": {"type": "object", "minimum": 1.0}}
    request = seen_by_model(
        host(),
        message={"opaque_body": {"n": 1.5}, "private": 1},
        parameters={"temperature": 1.0, "seed": 2**53 + 1, "flags": [True, 0.5]},
        tools=[tool],
        stop=["END"],
        stream=False,
    )
    assert request["prompt_messages"] == [
        {
            "role": "user",
            "content": "request",
            "name": "",
            "tool_calls": None,
            "tool_call_id": "",
            "opaque_body": {"n": 1.5},
        }
    ]
    assert request["model_parameters"] == {
        "flags": [True, 0.5],
        "seed": 2**53,
        "temperature": 1,
    }
    assert type(request["model_parameters"]["temperature"]) is int
    assert request["tools"][0]["parameters"] == {"minimum": 1, "type": "object"}
    assert request["stop"] == ["END"]
    assert request["stream"] is False


def test_a_host_without_platform_rules_changes_nothing_on_the_way(host):
    free = loose(chunk_rules=False, float_numbers=False)
    message = {"private": 1, "opaque_body": {"n": 1.0}}
    request = seen_by_model(host(settings=free), message=message, parameters={"n": 2**53 + 1})
    (sent,) = request["prompt_messages"]
    assert sent == {"role": "user", "content": "request", **message}
    assert request["model_parameters"] == {"n": 2**53 + 1}


def test_chunks_keep_what_the_daemon_knows_and_lose_the_rest(host):
    _, last = ask(host(), messages=[{"role": "user", "content": "call clock {}"}])
    assert list(last) == ["model", "system_fingerprint", "delta", "prompt_messages"]
    message = last["delta"]["message"]
    assert message["opaque_body"] == {"responses_output": [{"n": 1.0}]}
    assert message["tool_calls"][0]["function"] == {"name": "clock", "arguments": "{}"}
    assert last["delta"]["usage"]["prompt_price"] == "0.00001"


def test_chunks_stay_as_they_are_on_a_host_without_platform_rules(host):
    (chunk,) = ask(host(settings=loose(chunk_rules=False)))
    assert chunk["private"] == "dropped"


def test_an_older_core_that_loses_opaque_body_can_be_emulated(host):
    older = loose(drop_opaque_body=True)
    _, last = ask(host(settings=older), messages=[{"role": "user", "content": "call clock {}"}])
    assert last["delta"]["message"]["opaque_body"] is None
    parts = [{"type": "text", "data": "request", "opaque_body": {"n": 1}}]
    message = {"content": parts, "opaque_body": {"n": 1}}
    (sent,) = seen_by_model(host(settings=older), message=message)["prompt_messages"]
    assert sent["opaque_body"] is None
    assert sent["content"][0]["opaque_body"] is None
    assert parts[0]["opaque_body"] == {"n": 1}  # the caller's own stays as it was


@pytest.fixture(scope="module")
def chunk_model(make_shared_plugin, start):
    """Start a host with a model that answers with the chunk of the request's parameters."""
    folder = make_shared_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, request["data"]["model_parameters"])
            wire.end(request)
        """,
        plugins={"models": ["provider.yaml"]},
    )
    (folder / "provider.yaml").write_text("provider: chunks")
    return start(PluginHost(folder))


USAGE = {
    "prompt_tokens": 1,
    "prompt_unit_price": "0",
    "prompt_price_unit": "0",
    "prompt_price": "0.0000000",
    "completion_tokens": 1,
    "completion_unit_price": "0",
    "completion_price_unit": "0",
    "completion_price": 0,
    "total_tokens": 2,
    "total_price": "0",
    "currency": "USD",
    "latency": 1,
}


def chunk_with(**changes):
    message = {"role": "assistant", "content": "hi", **changes.pop("message", {})}
    delta = {"index": 0, "message": message, "usage": None, **changes.pop("delta", {})}
    return {"model": "m", "delta": delta, **changes}


@pytest.mark.parametrize(
    ("chunk", "problem"),
    [
        (chunk_with(message={"content": None}), "unmarshal json failed: content field is required"),
        (
            chunk_with(message={"content": {"a": 1}}),
            "content must be a string or an array of prompt message content",
        ),
        (
            chunk_with(message={"content": [{"type": "smell"}]}),
            "'LLMResultChunk.Delta.Message.Content'",
        ),
        (chunk_with(message={"role": "developer"}), "'LLMResultChunk.Delta.Message.Role'"),
        (chunk_with(message={"tool_calls": [{"function": {"arguments": {}}}]}), "arguments"),
        (chunk_with(delta={"index": None}), "'Index' failed on the 'required' tag"),
        (chunk_with(delta={"usage": {"prompt_tokens": 1}}), "Delta.Usage.CompletionTokens"),
        (chunk_with(delta={"usage": {**USAGE, "latency": None}}), "Delta.Usage.Latency"),
        (chunk_with(model=""), "'Model' failed on the 'required' tag"),
        ({"model": "m"}, "'LLMResultChunk.Delta.Message.Role'"),
    ],
)
def test_chunks_that_the_daemon_cannot_decode_end_the_answer(chunk_model, chunk, problem):
    with pytest.raises(StreamRejectedError) as caught:
        ask(chunk_model, parameters=chunk)
    assert caught.value.error_type == "unmarshal_error"
    assert problem in caught.value.message


def test_null_texts_become_empty_and_null_lists_stay_as_in_go(chunk_model):
    fields = {"name": None, "tool_calls": None, "tool_call_id": None}
    part = {"type": "text", "data": "hi", "opaque_body": {"n": 1}}
    message = {**fields, "content": [part]}
    (chunk,) = ask(chunk_model, parameters=chunk_with(message=message, delta={"usage": USAGE}))
    sent = chunk["delta"]["message"]
    assert (sent["name"], sent["tool_calls"], sent["tool_call_id"]) == ("", None, "")
    assert sent["content"][0]["data"] == "hi"
    assert sent["content"][0]["url"] == ""
    assert sent["content"][0]["opaque_body"] == {"n": 1}
    assert chunk["delta"]["usage"]["prompt_price"] == "0"


def test_a_message_with_null_content_ends_what_the_model_is_told(chunk_model):
    messages = [USER, {"role": "assistant", "content": None}, USER]
    with pytest.raises(StreamRejectedError, match=r"'LLMResultChunk.Model'"):
        ask(chunk_model, messages=messages, parameters=chunk_with())


def test_a_request_that_the_daemon_refuses_never_reaches_the_model(host):
    with pytest.raises(BackwardsError, match=r"invoke llm model failed: Key: .*'Name' failed"):
        ask(host(), tools=[{"description": "a tool without a name"}])


def test_a_strategy_is_told_why_a_model_call_failed_and_so_is_the_host(host):
    errors = []
    with pytest.raises(PluginInvokeError, match="read llm model failed: slow down"):
        run(host(on_model_error=errors.append), "fail InvokeRateLimitError slow down")
    assert [error.error_type for error in errors] == ["InvokeRateLimitError"]


def test_a_strategy_hears_of_chunks_that_the_platform_refuses(host):
    with pytest.raises(PluginInvokeError, match="failed: unmarshal json failed: content field"):
        run(host(), "null")


def test_a_model_error_needs_nobody_who_listens(host):
    with pytest.raises(PluginInvokeError, match="read llm model failed: slow down"):
        run(host(), "fail InvokeRateLimitError slow down")


def test_a_strategy_hears_of_an_unknown_provider(host):
    error, end = raw_llm(host(), [USER], provider="other")
    assert error[1].startswith("invoke llm model failed: there is no model provider 'other'")
    assert end == ("end", "", None)


@pytest.mark.parametrize(
    ("opaque_body", "kind"),
    [({"a": 1}, "map"), ("text", "string"), (1.5, "float64"), (True, "bool")],
)
def test_opaque_body_on_a_message_is_refused_on_the_way_back(host, opaque_body, kind):
    messages = [USER, {"role": "assistant", "content": "", "opaque_body": opaque_body}]
    error, end = raw_llm(host(), messages)
    assert error[0] == "error"
    assert error[1] == (
        "unmarshal backwards invoke request failed: error decoding map: 1 error(s) decoding:\n\n"
        "* 'prompt_messages[1].opaque_body': "
        f"source data must be an array or slice, got {kind}"
    )
    assert end == ("end", "", None)


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ({"a": 1}, "map[string]interface {}', value: 'map[a:1]"),
        ([1], "[]interface {}', value: '[1]"),
    ],
)
def test_a_list_of_other_things_than_bytes_as_opaque_body_is_refused_too(host, item, kind):
    messages = [{"role": "assistant", "content": "", "opaque_body": [1, item]}]
    error, _ = raw_llm(host(), messages)
    expected = f"opaque_body[1]' expected type 'uint8', got unconvertible type '{kind}'"
    assert error[1].endswith(f"* 'prompt_messages[0].{expected}")


def test_bytes_that_are_no_json_as_opaque_body_are_refused(host):
    messages = [{"role": "assistant", "content": "", "opaque_body": [1, 2, 255]}]
    error, _ = raw_llm(host(), messages)
    assert error[1] == (
        "invoke llm model failed: json: error calling MarshalJSON for type json.RawMessage: "
        r"invalid character '\x01' looking for beginning of value"
    )


@pytest.mark.parametrize("opaque_body", [None, [], list(b'{"a": 1}')])
def test_null_and_bytes_as_opaque_body_pass_on_the_way_back(host, opaque_body):
    messages = [{"role": "assistant", "content": "", "opaque_body": opaque_body}, USER]
    assert [event for event, _, _ in raw_llm(host(), messages)] == ["response", "end"]


def test_opaque_body_on_a_message_passes_where_the_rule_is_off(host):
    messages = [{"role": "assistant", "content": "", "opaque_body": {"a": 1}}, USER]
    free = host(settings=loose(call_rules=False))
    assert [event for event, _, _ in raw_llm(free, messages)] == ["response", "end"]


def test_opaque_body_on_a_part_of_the_content_survives_the_way_back(host):
    part = {"type": "text", "data": "request", "opaque_body": {"z": 1.0, "a": [2]}}
    response, _ = raw_llm(host(), [{"role": "user", "content": [part]}])
    request = json.loads(response[2]["delta"]["message"]["content"])
    survived = request["prompt_messages"][0]["content"][0]["opaque_body"]
    assert survived == {"a": [2], "z": 1}
    assert list(survived) == ["a", "z"]


@pytest.mark.parametrize(("always", "expected"), [(True, True), (False, False)])
def test_dify_streams_whatever_a_strategy_asks_for(host, always, expected):
    settings = loose(always_stream=always, float_numbers=False)
    messages = [{"role": "user", "content": "request"}]
    response, _ = raw_llm(host(settings=settings), messages, stream=False)
    assert json.loads(response[2]["delta"]["message"]["content"])["stream"] is expected


@pytest.mark.parametrize(
    ("on", "reply"),
    [
        (True, ["error", "you can not invoke dify from model"]),
        (False, ["error", "permission denied, you need to enable llm access in plugin manifest"]),
    ],
)
def test_a_model_plugin_may_not_call_back(host, on, reply):
    settings = loose(model_callbacks=on)
    (chunk,) = ask(host(settings=settings), messages=[{"role": "user", "content": "callback"}])
    replies = json.loads(chunk["delta"]["message"]["content"])
    assert [replies[0]["event"], replies[0]["message"]] == reply
    assert replies[1]["event"] == "end"


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("storage", "storage"),
        ("app", "app"),
        ("fetch_app", "app"),
        ("node_question_classifier", "node"),
        ("text_embedding", "text-embedding"),
        ("multimodal_rerank", "rerank"),
    ],
)
def test_what_the_manifest_does_not_ask_for_is_refused(host, kind, what):
    error, end = raw(host(), kind, {})
    expected = f"permission denied, you need to enable {what} access in plugin manifest"
    assert error == ("error", expected, None)
    assert end == ("end", "", None)


@pytest.mark.parametrize("permissions", [True, False])
def test_an_unknown_kind_of_call_is_refused(host, permissions):
    replies = raw(host(settings=loose(permissions=permissions)), "magic", {})
    assert replies[0] == ("error", "unsupported invoke type: magic", None)


def test_a_call_back_that_nobody_checked_is_refused_on_its_way_to_the_model(host):
    (_, problem, _), _ = raw_llm(host(settings=loose(call_rules=False)), [], model="")
    assert problem.startswith("invoke llm model failed: Key: ")
    assert problem.endswith("Field validation for 'Model' failed on the 'required' tag")


def test_what_the_host_does_not_answer_is_refused_in_plain_words(host):
    asked = {"system_summary": {"text": "a"}, "fetch_app": {"app_id": "a"}}
    told = {"system_summary": "invoke summary", "fetch_app": "fetch app"}
    paths = {"system_summary": "invoke/summary", "fetch_app": "fetch/app/info"}
    for kind, payload in asked.items():
        rules = loose(permissions=False)
        error, end = raw(host(settings=rules), kind, payload)
        assert error[1] == f"{told[kind]} failed: request failed: not served here: {paths[kind]}"
        assert end == ("end", "", None)


def test_permissions_are_not_asked_for_where_the_rule_is_off(host):
    (reply, _) = raw(
        host(settings=loose(permissions=False)), "storage", {"opt": "exist", "key": "k"}
    )
    assert reply == ("response", "struct", {"data": False, "exist_num": 0})


async def test_storage_keeps_values_within_its_size(plugins):
    manifest = plugins / "small_agent" / "manifest.yaml"
    granted = "permission:\n    storage: { enabled: true, size: 16 }\n"
    manifest.write_text(manifest.read_text().replace("permission:\n", granted))
    store = PluginHost(plugins / "echo_model", plugins / "small_agent")

    async def one(payload):
        request = AgentRequest(query=f"raw storage {payload}", strategy="steps", model="echo-2")
        (text,) = texts([message async for message in store.run(request)])
        reply = json.loads(text)[0]
        return reply["data"] or reply["message"]

    payloads = [
        {"opt": "get", "key": "k"},
        {"opt": "set", "key": "k", "value": "00ff"},
        {"opt": "get", "key": "k"},
        {"opt": "exist", "key": "k"},
        {"opt": "set", "key": "k", "value": "no hex"},
        {"opt": "set", "key": "j", "value": "00" * 15},
        {"opt": "del", "key": "k"},
        {"opt": "exist", "key": "k"},
        {"opt": "burn", "key": "k"},
        {"opt": "set", "key": "k", "value": "00f"},
        {"opt": "set", "key": "../k", "value": "00"},
        {"opt": "set", "key": "k" * 257, "value": "00"},
        {"opt": "del", "key": "n"},
    ]
    folder = "in-memory-storage/local/tests/small_agent"
    async with store:
        answers = iter([await one(json.dumps(payload)) for payload in payloads])
    missing, stored, loaded, there, no_hex, too_much, deleted, gone, unknown = itertools.islice(
        answers, 9
    )
    assert missing == "load data failed, please check if the key is correct or you have not set it"
    assert stored == {"data": "ok"}
    assert loaded == {"data": "00ff"}
    assert there == {"data": True, "exist_num": 1}
    assert no_hex.startswith("decode data failed")
    assert too_much.startswith("save data failed")
    assert deleted == {"data": "ok", "deleted_num": 1}
    assert gone == {"data": False, "exist_num": 0}
    assert "'Opt' failed on the 'storage_opt' tag" in unknown
    assert list(answers) == [
        "decode data failed: encoding/hex: odd length hex string",
        "save data failed: invalid key: path traversal attempt detected",
        "save data failed: key length must be less than 256 characters",
        f"delete data failed: stat {folder}/n: no such file or directory",
    ]


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ({"provider": "host", "tool": "none"}, "there is not a tool named none of provider host"),
        ({"provider": "far", "tool": "clock"}, "there is not a tool named clock of provider far"),
        (
            {"provider": "host", "tool": "fail_on_demand", "tool_parameters": {"message": "no"}},
            "tool invoke error: no",
        ),
    ],
)
def test_a_tool_that_fails_is_reported_as_dify_does_it(host, payload, problem):
    error, end = raw(host(), "tool", {"tool_type": "builtin", **payload})
    assert error == ("error", problem, None)
    assert end == ("end", "", None)


def test_a_message_of_an_unknown_type_ends_a_run(host):
    with pytest.raises(
        StreamRejectedError, match="failed on the 'is_valid_tool_response_chunk_type' tag"
    ):
        run(host(), "odd")


def give(*variables):
    """Return the query with which the strategy sends variables, each as its name, its value and whether it is streamed."""
    names = ("variable_name", "variable_value", "stream")
    given = [dict(zip(names, one, strict=True)) for one in variables]
    messages = [{"type": "variable", "message": one, "meta": None} for one in given]
    return f"give {json.dumps(messages)}"


@pytest.mark.parametrize(
    ("variable", "problem"),
    [
        (("text", "a", False), "variable 'text': expected another name than text, json, files"),
        (("json", [], False), "variable 'json': expected another name"),
        (("files", None, False), "variable 'files': expected another name"),
        (("count", 1, True), "variable 'count': expected text, since it is streamed, got int"),
    ],
)
def test_a_variable_that_dify_refuses_ends_a_run(host, variable, problem):
    with pytest.raises(StreamRejectedError, match=problem):
        run(host(), give(variable))
    allowed = run(host(settings=loose(variable_rules=False)), give(variable))
    assert allowed[0]["message"]["variable_name"] == variable[0]


def test_a_strategy_that_replaces_the_counted_usage_is_told_so_once_a_run(host):
    notices = []
    running = host(on_notice=notices.append)
    usage = ("usage", {"total_tokens": 1}, False)
    messages = run(running, give(usage, usage, ("other", 1, False)))
    assert [one["message"]["variable_name"] for one in messages] == ["usage", "usage", "other"]
    (notice,) = [notice for notice in notices if notice.kind == "advice"]
    assert (notice.level, notice.plugin) == ("WARNING", "small_agent")
    assert "the variable 'usage' replaces the node's output" in notice.text


def test_messages_pass_unchecked_on_a_host_without_platform_rules(host):
    messages = run(host(settings=loose(chunk_rules=False, float_numbers=False)), "odd")
    assert messages == [{"type": "hologram", "message": {}, "meta": None}]


async def test_a_host_of_which_one_plugin_does_not_start_is_taken_down(make_plugin, plugins):
    folder = make_plugin("sys.exit('no licence')")
    half = PluginHost(plugins / "echo_model", folder)

    with pytest.raises(PluginStartError, match="no licence"):
        async with half:
            pass
    calls = half.plugins[0].invoke("model", "invoke_llm", {})
    with pytest.raises(PluginExitedError):
        await anext(calls)


async def test_a_host_whose_start_is_cancelled_is_taken_down(make_plugin):
    folder = make_plugin("wire.send('log', {'level': 'INFO', 'message': '1'})\ntime.sleep(600)")

    running = asyncio.Event()
    slow = PluginHost(folder, on_notice=lambda _: running.set())
    task = asyncio.create_task(slow.start())
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(PluginExitedError, match="was stopped"):
        await anext(slow.plugins[0].invoke("model", "x", {}))


@pytest.mark.parametrize(
    ("provider", "problem"),
    [
        ("{}", "a model provider's 'provider': expected a name"),
        (
            "{provider: p, models: {llm: {predefined: [m.yaml], position: none.yaml}}}",
            r"expected a file 'none.yaml'",
        ),
    ],
)
def test_a_broken_model_declaration_is_refused(make_plugin, provider, problem):
    folder = make_plugin("", plugins={"models": ["provider.yaml"]})
    (folder / "provider.yaml").write_text(provider)
    with pytest.raises(PluginFolderError, match=problem):
        PluginHost(folder)


def test_a_broken_strategy_declaration_is_refused(make_plugin):
    folder = make_plugin("", plugins={"agent_strategies": ["provider.yaml"]})
    (folder / "provider.yaml").write_text("{identity: {name: p}, strategies: [s.yaml]}")
    (folder / "s.yaml").write_text("{}")
    with pytest.raises(PluginFolderError, match=r"'identity.name' in 's.yaml': expected a name"):
        PluginHost(folder)


def test_a_host_without_models_says_so(make_plugin, start):
    with pytest.raises(UnknownNameError, match="there is no model provider '-'"):
        ask(start(PluginHost(make_plugin("wire.ready()\nfor request in wire.requests(): pass"))))
