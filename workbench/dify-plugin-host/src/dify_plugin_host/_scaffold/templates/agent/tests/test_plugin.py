"""The plugin, called as Dify calls it, with a model whose answers are written here."""

import pytest

from dify_plugin_host.testing import DifyPlugin, PluginInvokeError, ScriptedModel, ToolCall


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fail() -> str:
    """Fail, as tools do."""
    raise RuntimeError("out of order")


def test_a_tool_is_called_and_its_result_is_answered_with(dify_plugin: DifyPlugin) -> None:
    model = ScriptedModel([ToolCall("add", {"a": 2, "b": 3}), "It is 5."])
    messages = dify_plugin.strategy("tool_calling").invoke(
        query="What is 2 + 3?", instruction="Be brief.", model=model, tools=[add]
    )
    assert messages.text == "It is 5."
    assert [call.type for call in messages.calls_back] == ["llm", "tool", "llm"]
    *_, result = model.requests[-1]["prompt_messages"]
    assert (result["role"], result["content"]) == ("tool", "5")
    assert [log["data"] for log in messages.logs] == [
        {"arguments": '{"a": 2, "b": 3}', "result": "5"}
    ]
    assert messages.json[-1]["execution_metadata"]["total_tokens"] == 30


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (ToolCall("fail"), "out of order"),
        (ToolCall("gone"), "there is no such tool"),
        (ToolCall("add", "{"), "The call failed: "),
    ],
)
def test_a_failing_call_does_not_end_the_run(
    dify_plugin: DifyPlugin, call: ToolCall, told: str
) -> None:
    model = ScriptedModel([call, "I could not."])
    messages = dify_plugin.strategy("tool_calling").invoke(
        query="Try it.", model=model, tools=[add, fail]
    )
    assert messages.text == "I could not."
    assert told in model.requests[-1]["prompt_messages"][-1]["content"]
    assert [log["status"] for log in messages.logs] == ["error"]


def test_the_last_round_has_no_tools(dify_plugin: DifyPlugin) -> None:
    model = ScriptedModel([ToolCall("add", {"a": 2, "b": 3}), "Enough."])
    dify_plugin.strategy("tool_calling").invoke(
        query="Go on.", model=model, tools=[add], maximum_rounds=2
    )
    assert [bool(request["tools"]) for request in model.requests] == [True, False]


def test_a_model_that_fails_ends_the_run(dify_plugin: DifyPlugin) -> None:
    model = ScriptedModel([RuntimeError("no such model")])
    with pytest.raises(PluginInvokeError, match="no such model"):
        dify_plugin.strategy("tool_calling").invoke(query="Hello?", model=model, tools=[add])
