"""Tests of agent-strategies/cot_agent of langgenius/dify-official-plugins at 7af22831, a plugin of two agent strategies."""

import json

import pytest

from dify_plugin_host.testing import PluginInvokeError, ScriptedModel, ToolCall


def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@pytest.fixture
def run(dify_plugin):
    """Run a strategy with a model that gives these answers; return the messages and the model."""

    def call(*script, strategy="function_calling", **parameters):
        model = ScriptedModel(script)
        given = {
            "query": "What is 1 + 2?",
            "instruction": "Be brief.",
            "tools": [add],
            **parameters,
        }
        return dify_plugin.strategy(strategy).invoke(model=model, **given), model

    return call


def test_the_model_gets_the_result_of_the_tool_that_it_called(run):
    messages, model = run(ToolCall("add", {"a": 1, "b": 2}), "It is 3.")
    assert messages.text.strip() == "It is 3."
    asked = [call.request["tool_parameters"] for call in messages.calls_back if call.type == "tool"]
    assert asked == [{"a": 1, "b": 2}]
    assert model.requests[1]["prompt_messages"][-1]["content"] == "3.0"
    assert not model.unused


def test_a_run_ends_after_as_many_rounds_as_it_may_have(run):
    calls = [ToolCall("add", {"a": n, "b": n}) for n in range(3)]
    messages, model = run(*calls, maximum_iterations=2)
    assert [log["label"] for log in messages.logs if log["label"].startswith("ROUND")] == [
        "ROUND 1",
        "ROUND 2",
    ]
    assert len(model.unused) == 1


def test_the_tokens_of_all_rounds_are_counted(run):
    messages, _ = run(ToolCall("add", {"a": 1, "b": 2}), "It is 3.")
    assert messages.json[-1]["execution_metadata"]["total_tokens"] == 30


def test_a_tool_that_fails_is_told_to_the_model(run):
    def broken() -> float:
        """Fail."""
        raise ValueError("out of ink")

    _, model = run(ToolCall("broken"), "I could not do it.", tools=[broken])
    assert "out of ink" in model.requests[1]["prompt_messages"][-1]["content"]


def test_a_model_that_fails_ends_the_run(run):
    with pytest.raises(PluginInvokeError, match="slow down"):
        run(ConnectionError("slow down"))


def test_react_reads_the_tool_call_out_of_the_text(run):
    action = {"action": "add", "action_input": {"a": 1, "b": 2}}
    answer = {"action": "Final Answer", "action_input": "It is 3."}
    messages, model = run(
        f"Thought: I add.\nAction: {json.dumps(action)}",
        f"Action: {json.dumps(answer)}",
        strategy="ReAct",
    )
    assert messages.text == "It is 3."
    assert "3.0" in str(model.requests[1]["prompt_messages"])
