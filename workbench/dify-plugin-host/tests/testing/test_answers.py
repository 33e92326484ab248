"""What a plugin answers, as tests look at it."""

import base64
import json
import threading

import pytest

from dify_plugin_host import (
    CredentialsMissingError,
    FileInputError,
    HostSettings,
    PluginHostError,
    PollingLimits,
    StreamRejectedError,
    UnknownNameError,
)
from dify_plugin_host.testing import (
    DifyPlugin,
    LocalFile,
    PluginInvokeError,
    ScriptedModel,
    ToolCall,
)


KEY = "let-me-in, please"


@pytest.fixture
def say(desk):
    """Have a tool send messages, each as its type and content; return them as a test gets them."""

    def call(*messages):
        given = [{"type": kind, "message": content, "meta": None} for kind, content in messages]
        return desk.tool("say").invoke(messages=json.dumps(given))

    return call


def variable(name, value, *, stream=False):
    return ("variable", {"variable_name": name, "variable_value": value, "stream": stream})


def log(name, status, **more):
    return ("log", {"id": name, "label": name, "status": status, "data": {}, **more})


def test_texts_are_joined(say):
    messages = say(("text", {"text": "one "}), ("link", {"text": "x"}), ("text", {"text": "two"}))
    assert messages.text == "one two"
    assert messages.links == ["x"]
    assert [message["type"] for message in messages] == ["text", "link", "text"]


def test_json_and_variables_keep_their_values_and_streamed_variables_are_joined(say):
    count, first, second = variable("n", 1), *(variable("s", one, stream=True) for one in "ab")
    messages = say(("json", {"json_object": {"a": [1]}}), count, first, second, variable("n", 2))
    assert messages.json == [{"a": [1]}]
    assert messages.variables == {"n": 2, "s": "ab"}


def test_a_variable_named_as_an_output_of_difys_own_is_refused(say):
    with pytest.raises(StreamRejectedError, match="variable 'files': expected another name"):
        say(variable("files", []))
    assert say(variable("usage", 1)).variables == {"usage": 1}


def test_files_have_their_bytes(say):
    blob = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    [file] = say(("blob", {"blob": blob})).files
    assert (file.content, file.mime_type) == (b"\x89PNG\r\n\x1a\n", "image/png")


def test_of_each_log_the_last_state_counts(say):
    messages = say(log("a", "start"), log("b", "start"), log("a", "error", error="out of ink"))
    assert [(one["label"], one["status"]) for one in messages.logs] == [
        ("a", "error"),
        ("b", "start"),
    ]
    assert messages.logs[0]["error"] == "out of ink"


def test_messages_are_equal_to_a_list_of_the_same(say):
    messages = say(("text", {"text": "one"}))
    assert messages == [{"type": "text", "message": {"text": "one"}, "meta": None}]
    assert messages == messages[:]
    assert messages != []
    assert messages != "one"


def test_messages_show_what_they_hold_and_cut_what_is_long(say):
    shown = repr(say(("text", {"text": "x" * 2000}), variable("n", 1), log("a", "start")))
    assert shown.startswith("<Messages of 3 text='xxx")
    assert "x… (1002 more characters) variables={'n': 1} logs=['a: start']>" in shown


def test_a_tool_gets_files_and_values_of_its_types_and_the_credentials(desk):
    picture = LocalFile(name="a.png", content=b"PNG", mime_type="image/png")
    [data] = desk.tool("repeat").invoke(count="2", pictures=[picture, picture]).json
    [first, second] = data["tool_parameters"]["pictures"]
    assert (first["filename"], second["mime_type"]) == ("a.png", "image/png")
    assert data["tool_parameters"]["count"] == 2
    assert data["credentials"] == {"key": KEY}


def test_a_call_may_have_credentials_of_its_own(desk):
    [data] = desk.tool("repeat", credentials={}, provider="desk").invoke().json
    assert data["credentials"] == {}


@pytest.mark.parametrize("name", ["repeet", "repeat"])
def test_a_wrong_name_is_refused_with_the_known_ones(desk, name):
    with pytest.raises(UnknownNameError, match=r"there is no .* expected one of: "):
        desk.tool(name).invoke(txt="a")


def test_what_came_before_an_error_is_told_with_it(desk):
    with pytest.raises(PluginHostError) as caught:
        desk.tool("die").invoke()
    assert caught.value.__notes__ == ["before it came <Messages of 1 text='so far'>"]
    assert desk.tool("say").invoke(messages="[]") == []  # it is started again


def test_the_log_has_what_the_plugin_wrote_since_the_test_began_without_credentials(desk):
    desk.begin_test()
    with pytest.raises(PluginHostError, match="out of ink"):
        desk.tool("die").invoke()
    assert "out of ink" in desk.log
    assert "INFO: the key is [redacted]" in desk.redact(desk.log)
    desk.begin_test()
    assert desk.log == ""


def test_credentials_are_checked_by_the_plugin(desk):
    desk.validate()
    desk.validate({"key": KEY}, provider="desk")
    with pytest.raises(PluginInvokeError, match="wrong key: hunter22"):
        desk.validate(key="hunter22")
    assert desk.redact("hunter22") == "[redacted]"
    shortened = "'the key is hunte...er22' == 'no'"
    assert desk.redact(shortened) == "'the key is [redacted]...[redacted]' == 'no'"


def test_credentials_come_from_the_environment_and_are_hidden_from_the_plugin(
    desk_folder, monkeypatch
):
    monkeypatch.setenv("DESK_KEY", KEY)
    with DifyPlugin(desk_folder) as plugin:
        plugin.validate()
        assert "DESK_KEY" not in plugin.host.plugins[0]._environment


def test_credentials_that_are_missing_are_named_before_anything_is_called(desk_folder):
    plugin = DifyPlugin(desk_folder)
    with pytest.raises(
        CredentialsMissingError, match="expected DESK_KEY in the environment, or the"
    ):
        plugin.tool("say")


def test_credentials_that_no_provider_declares_are_refused(desk_folder):
    with pytest.raises(UnknownNameError, match="no credential 'kee'; expected one of: key"):
        DifyPlugin(desk_folder, credentials={"kee": KEY})


def test_a_plugin_that_does_not_start_leaves_nothing_behind(make_plugin):
    plugin, before = DifyPlugin(make_plugin("sys.exit('out of ink')")), threading.active_count()
    with pytest.raises(PluginHostError, match="out of ink"), plugin:
        pass
    assert threading.active_count() == before


def test_a_plugin_that_does_not_run_cannot_be_called(desk_folder):
    plugin = DifyPlugin(desk_folder, credentials={"key": KEY})
    with pytest.raises(
        RuntimeError, match="the plugin does not run; expected it in a `with` block"
    ):
        plugin.tool("say").invoke(messages="[]")


def test_any_call_of_the_protocol_can_be_made(desk):
    [data] = desk.call("endpoint", "invoke_endpoint", {"settings": {}})
    assert (data["type"], data["action"], data["settings"]) == ("endpoint", "invoke_endpoint", {})


def test_a_model_answers_with_text_usage_and_the_reason_of_its_end(echo_plugin):
    answer = echo_plugin.model("echo-1").invoke("hello", temperature=0.5)
    assert (answer.text, answer.finish_reason) == ("hello", "stop")
    assert answer.usage["total_tokens"] == 15
    assert repr(answer) == "<ModelAnswer of 1 text='hello' finish_reason='stop'>"
    assert echo_plugin.model("echo-1").invoke("null-free").tool_calls == []


def test_a_model_gets_instruction_files_tools_and_parameters(echo_plugin):
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""

    other = {"name": "other", "description": "", "parameters": {}}
    picture = LocalFile(name="a.png", content=b"PNG", mime_type="image/png")
    model = echo_plugin.model("echo-3", provider="echo")
    answer = model.invoke(
        "request",
        system="Be brief.",
        files=[picture],
        tools=[add, other],
        stop=["x"],
        temperature=1,
    )
    sent = json.loads(answer.text)
    assert [message["role"] for message in sent["prompt_messages"]] == ["system", "user"]
    assert sent["prompt_messages"][1]["content"][0]["filename"] == "a.png"
    assert sent["tools"][0]["description"] == "Add two numbers."
    assert sent["tools"][0]["parameters"]["required"] == ["a"]
    assert (sent["tools"][1]["name"], sent["stop"]) == ("other", ["x"])
    assert sent["model_parameters"] == {"temperature": 1}


def test_a_conversation_is_given_as_messages(echo_plugin):
    turns = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    answer = echo_plugin.model("echo-1").invoke([*turns, {"role": "user", "content": "three"}])
    assert answer.text == "three"


def test_the_calls_of_a_model_are_merged_and_broken_arguments_stay_a_text(echo_plugin):
    answer = echo_plugin.model("echo-1").invoke('call add {"a": 1}\ncall add {"a\ncall add [1]')
    assert answer.tool_calls == [
        ToolCall("add", {"a": 1}),
        ToolCall("add", '{"a'),
        ToolCall("add", "[1]"),
    ]
    assert answer.tool_calls[0].id == "call_1"


def test_a_model_may_answer_with_files(echo_plugin):
    part = {
        "type": "image",
        "format": "png",
        "mime_type": "image/png",
        "base64_data": "UE5H",
        "url": "",
    }
    [file] = echo_plugin.model("echo-1").invoke(f"paint {json.dumps([part])}").files
    assert file.content == b"PNG"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"temprature": 1}, "no parameter of model 'echo-1' named 'temprature'"),
        ({"files": [LocalFile(name="a.png", content=b"PNG")]}, "has no feature 'vision'"),
    ],
)
def test_what_a_model_has_not_is_refused_by_name(echo_plugin, arguments, problem):
    with pytest.raises((UnknownNameError, FileInputError), match=problem):
        echo_plugin.model("echo-1").invoke("hello", **arguments)


def test_an_error_of_a_model_has_its_type(echo_plugin):
    with pytest.raises(PluginInvokeError, match="slow down") as caught:
        echo_plugin.model("echo-1").invoke("fail InvokeRateLimitError slow down")
    assert caught.value.error_type == "InvokeRateLimitError"


def test_a_model_of_any_type_is_called_with_the_fields_of_the_protocol(make_plugin):
    usage = {"tokens": 1, "total_tokens": 1, "currency": "USD", "latency": 0.0}
    usage |= dict.fromkeys(("unit_price", "price_unit", "total_price"), "0")
    folder = make_plugin(
        f"""
        wire.ready()
        for request in wire.requests():
            vectors = [[float(len(text))] for text in request["data"]["texts"]]
            wire.stream(request, {{"model": "m", "embeddings": vectors, "usage": {usage!r}}})
            wire.end(request)
        """,
        plugins={"models": ["models.yaml"]},
    )
    declared = {"model": "m", "model_type": "text-embedding"}
    (folder / "m.yaml").write_text(json.dumps(declared))
    provider = {"provider": "p", "supported_model_types": ["text-embedding"]}
    models = {"text_embedding": {"predefined": ["m.yaml"]}}
    (folder / "models.yaml").write_text(json.dumps({**provider, "models": models}))
    with DifyPlugin(folder) as plugin:
        [answer] = plugin.model("m").call(texts=["a", "bcd"])
    assert answer["embeddings"] == [[1.0], [3.0]]


def test_a_model_that_is_polled_is_polled(make_plugin):
    folder = make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            answers = {
                "get_ai_model_schemas": {"model_schema": {"model": "m", "features": ["polling"]}},
                "start_polling": {"status": "running", "plugin_state": {"n": 1}},
                "check_polling": {
                    "status": "succeeded",
                    "result": {"model": "m", "prompt_messages": [], "message": {"role": "assistant", "content": "late"}, "usage": None},
                },
            }
            wire.stream(request, answers[request["data"]["action"]])
            wire.end(request)
        """,
        plugins={"models": ["models.yaml"]},
    )
    (folder / "models.yaml").write_text(
        json.dumps({"provider": "p", "supported_model_types": ["llm"]})
    )
    soon = HostSettings(polling=PollingLimits(min_interval_seconds=0.01))
    with DifyPlugin(folder, settings=soon) as plugin:
        assert plugin.model("m").invoke("hello").text == "late"


def test_a_scripted_model_can_be_a_parameter_of_a_tool(desk):
    model = ScriptedModel(["Hello there."], name="mine")
    messages = desk.tool("ask").invoke(model=model)
    assert [call.type for call in messages.calls_back] == ["llm"]
    assert [reply["data"]["model"] for reply in json.loads(messages.text)[:-1]] == ["mine"] * 3
