"""The other side of a plugin's calls back, as tests write it."""

import json

import pytest

from dify_plugin_host import PluginExitedError, ToolFileError
from dify_plugin_host.testing import PluginInvokeError, ScriptedModel, ScriptError, ToolCall


def add(a: float, b: float) -> float:
    return a + b


def draw() -> bytes:
    """Draw a picture."""
    return b"\x89PNG\r\n\x1a\n"


def fail() -> str:
    raise ValueError("out of ink")


@pytest.fixture
def run(agent):
    """Run the strategy with a scripted model; return the messages and the model."""

    def call(*script, query="hello", tools=(add,), **parameters):
        model = ScriptedModel(script)
        strategy = agent.strategy("steps")
        messages = strategy.invoke(
            query=query, model=model, tools=list(tools), instruction="Be brief.", **parameters
        )
        return messages, model

    return call


@pytest.fixture
def back(desk):
    """Have a tool make a call back; return the replies, the records of it, and what else there is."""

    def call(kind, request, **options):
        given = {"kind": kind, "request": json.dumps(request)}
        messages = desk.tool("back", **options).invoke(**given)
        [record] = messages.calls_back
        return json.loads(messages.text), record

    return call


@pytest.fixture
def call_tool(agent):
    """Have a strategy call the tool `repeat`, which tells what it gets; return the record."""

    def call(parameters):
        payload = {"tool_type": "builtin", "provider": "desk", "tool": "repeat"}
        query = f"raw tool {json.dumps({**payload, 'tool_parameters': parameters})}"
        messages = agent.strategy("steps").invoke(
            query=query, model=ScriptedModel([]), tools=[add], instruction="Be brief."
        )
        [record] = messages.calls_back
        return record

    return call


def test_a_model_gives_the_answers_of_its_script_and_functions_are_its_tools(run):
    messages, model = run([ToolCall("add", {"a": 1, "b": 2}), "Let me see. "], "It is 3.")
    assert messages.text == "Let me see. It is 3."
    assert [call.type for call in messages.calls_back] == ["llm", "tool", "llm"]
    tool = messages.calls_back[1]
    assert tool.request["tool_parameters"] == {"a": 1, "b": 2}
    assert tool.answers[0]["message"] == {"text": "3.0"}
    assert [request["prompt_messages"][-1]["content"] for request in model.requests] == [
        "hello",
        "3.0",
    ]
    assert model.unused == ()


def test_texts_are_streamed_word_by_word_and_the_last_piece_counts_tokens(run):
    messages, _ = run("It is 3.\n")
    chunks = messages.calls_back[0].answers
    assert [chunk["delta"]["message"]["content"] for chunk in chunks] == ["It ", "is ", "3.\n", ""]
    assert chunks[-1]["delta"]["usage"]["total_tokens"] == 15
    assert [chunk["delta"]["finish_reason"] for chunk in chunks] == [None, None, None, "stop"]


def test_a_strategy_is_told_what_dify_would_tell_it_of_the_model(agent):
    model = ScriptedModel(
        (), features=["vision"], completion_params={"n": 1}, history=[{"role": "user"}]
    )
    told = agent.strategy("steps").invoke(
        query="params", model=model, tools=[add], instruction="Be brief."
    )
    chosen = json.loads(told.text)["model"]
    assert chosen["completion_params"] == {"n": 1}
    assert chosen["history_prompt_messages"] == [{"role": "user"}]
    assert chosen["entity"]["features"] == ["vision"]
    assert json.loads(told.text)["tools"][0]["description"]["llm"] == "add"


def test_a_file_of_a_tool_comes_as_a_link_as_from_dify(run):
    messages, _ = run(ToolCall("draw"), "There.", tools=[draw])
    [linked] = messages.calls_back[1].answers
    assert linked["type"] == "image_link"
    assert linked["message"]["text"].startswith("http://127.0.0.1:")


def test_a_call_that_fails_tells_the_plugin_and_the_record(run):
    messages, _ = run(ToolCall("fail"), "Too bad.", tools=[fail])
    assert messages.calls_back[1].error == "tool invoke error: out of ink"
    assert messages.logs[2]["error"] == "tool invoke error: out of ink"


def test_arguments_are_sent_as_they_are_if_they_are_a_text(run):
    with pytest.raises(PluginExitedError, match="JSONDecodeError"):
        run(ToolCall("add", "{broken", id="own"))


def test_a_model_can_fail_as_dify_reports_it(run):
    with pytest.raises(PluginInvokeError, match="read llm model failed: slow down"):
        run(ConnectionError("slow down"))


def test_a_model_that_is_asked_too_often_fails_the_test_and_tells_with_what(run):
    expected = (
        r"'scripted' was asked 2 times, but its script has 1 answers; its last request: .*\"3.0\""
    )
    with pytest.raises(ScriptError, match=expected):
        run(ToolCall("add", {"a": 1, "b": 2}))


def test_a_script_that_was_too_short_fails_the_test_even_if_the_plugin_lives_with_it(desk):
    with pytest.raises(ScriptError, match="'scripted' was asked 1 times"):
        desk.tool("ask").invoke(model=ScriptedModel([]))


def test_what_nobody_asked_for_is_unused(run):
    _, model = run("One.", "Two.")
    assert model.unused == ("Two.",)


def test_two_models_need_two_names(agent):
    two = {"model": ScriptedModel(["a"]), "context": [ScriptedModel(["b"])]}
    with pytest.raises(
        ValueError, match="two models are named 'scripted'; expected another name=…"
    ):
        agent.strategy("steps").invoke(query="hello", tools=[add], instruction="Be brief.", **two)


def test_a_function_without_type_hints_cannot_be_a_tool(run):
    def untyped(a):
        return a

    with pytest.raises(
        ToolFileError, match="function 'untyped', parameter 'a': expected a type hint"
    ):
        run("Hello.", tools=[untyped])


def test_a_function_answers_what_no_model_and_no_tool_answers(back):
    asked = []

    def answer(kind, request):
        asked.append((kind, request["text"]))
        return {"summary": "short"}

    request = {"text": "long", "instruction": ""}
    replies, record = back("system_summary", request, answers=answer)
    assert replies[0]["data"] == {"summary": "short"}
    assert (record.type, record.answers, record.error) == (
        "system_summary",
        [{"summary": "short"}],
        None,
    )
    assert asked == [("system_summary", "long")]


def test_a_function_may_answer_in_pieces_or_leave_it_to_dify(back):
    llm = {
        "provider": "p",
        "model": "m",
        "mode": "chat",
        "prompt_messages": [{"role": "user", "content": "hello"}],
    }
    replies, _ = back("llm", llm, answers=lambda *_: [{"n": 1}, {"n": 2}])
    assert [reply["data"] for reply in replies[:-1]] == [{"n": 1}, {"n": 2}]
    _, record = back("llm", llm, answers=lambda *_: None)
    assert (
        record.error == "invoke llm model failed: there is no model provider 'p'; none is declared"
    )


def test_a_scripted_model_answers_for_a_model_that_the_plugin_chooses_itself(back):
    llm = {
        "provider": "p",
        "model": "gpt-5",
        "mode": "chat",
        "prompt_messages": [{"role": "user", "content": "hello"}],
    }
    replies, _ = back("llm", llm, answers=ScriptedModel(["Hi."], name="gpt-5"))
    assert replies[0]["data"]["delta"]["message"]["content"] == "Hi."
    tool = {"tool_type": "builtin", "provider": "host", "tool": "add", "tool_parameters": {}}
    _, record = back("tool", tool, answers=ScriptedModel(["Hi."]))
    assert record.error.startswith("permission denied")


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ({"text": 5, "count": "2", "loud": "off"}, {"text": "5", "count": 2, "loud": True}),
        ({"text": None, "count": "", "loud": 0}, {"text": "", "count": None, "loud": False}),
        ({"size": "large", "other": [1]}, {"size": "large", "other": [1]}),
    ],
)
def test_a_tool_of_a_plugin_gets_values_of_its_types_and_each_setting(call_tool, given, got):
    [answer] = call_tool(given).answers
    assert answer["message"]["json_object"]["tool_parameters"] == {"size": "small", **got}


def test_a_tool_of_a_plugin_gets_null_for_arguments_that_are_null(call_tool):
    [answer] = call_tool(None).answers
    assert answer["message"]["json_object"]["tool_parameters"] is None


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"count": "many"}, "'count': invalid literal for int() with base 10: 'many'"),
        ({"size": "huge"}, "'size': tool parameter size value huge not in options ['small', 'large']"),
    ],
)  # fmt: skip
def test_a_tool_of_a_plugin_is_not_called_with_what_dify_refuses(call_tool, given, problem):
    assert call_tool(given).error == f"invoke tool failed: parameter {problem}"


def test_what_a_plugin_stores_can_be_seen_and_set_and_is_gone_in_the_next_test(desk, back):
    desk.begin_test()
    back("storage", {"opt": "set", "key": "a", "value": b"one".hex()})
    assert desk.storage == {"a": b"one"}
    desk.storage["a"] = b"two"
    replies, _ = back("storage", {"opt": "get", "key": "a"})
    assert replies[0]["data"] == {"data": b"two".hex()}
    desk.begin_test()
    assert desk.storage == {}
