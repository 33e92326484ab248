"""`dify-host serve`: a run that waits for approval lies in the host's storage until the next turn, by conversation and user."""

import json

import httpx
import pytest

from conftest import NO_CERTIFICATES
from dify_plugin_host import builtin_tools
from gpt5_simulator import ResponsesSimulator
from runs import KEY, TENANT


PROVIDER = "openai_gpt5_responses"
QUESTION = "What is 17 * 23?"
[CALCULATOR] = [tool for tool in builtin_tools() if tool.name == "calculator"]


@pytest.fixture(scope="module")
def served(daemon):
    with ResponsesSimulator(api_keys=[KEY]) as simulator:
        given = {"openai_api_key": KEY, "openai_api_base": simulator.base_url}
        yield {**daemon, "context": {"credentials": {"provider_credentials": {PROVIDER: given}}}}


def dispatch(served, plugin, action, data, **body):
    answer = httpx.post(
        f"{served['base_url']}/plugin/{TENANT}/dispatch/{action}",
        headers={"x-api-key": served["api_key"], "x-plugin-id": f"gpt5-agent/{plugin}"},
        json={"data": data, "context": served["context"], **body},
        timeout=300,
        trust_env=False,
        verify=NO_CERTIFICATES,
    )
    frames = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data:")]
    assert {frame["code"] for frame in frames} == {0}, frames
    return [frame["data"] for frame in frames]


def turn(served, query, history=(), *, conversation, user="u"):
    """Return what the user reads of a turn, and how often the tool was called."""
    named = {"provider": PROVIDER, "model": "gpt-5.2", "model_type": "llm"}
    [schema] = dispatch(served, PROVIDER, "model/schema", {**named, "credentials": {}}, user_id="u")
    model = {**named, "mode": "chat", "completion_params": {}, "entity": schema["model_schema"]}
    parameters = {
        "model": {**model, "history_prompt_messages": list(history)},
        "tools": [CALCULATOR.to_entity()],
        "query": query,
        "instruction": "Be brief.",
        "maximum_iterations": 5,
        "approval_rules": '{"calculator": "always"}',
    }
    data = {"agent_strategy_provider": "gpt5_agent", "agent_strategy": "gpt5_function_calling"}
    messages = dispatch(
        served,
        "gpt5_agent_strategies",
        "agent_strategy/invoke",
        {**data, "agent_strategy_params": parameters},
        user_id=user,
        conversation_id=conversation,
        app_id="app",
    )
    text = "".join(m["message"]["text"] for m in messages if m["type"] == "text")
    labels = [m["message"]["label"] for m in messages if m["type"] == "log"]
    return text, "CALL calculator" in labels


def test_a_question_is_answered_in_its_conversation_by_its_user_alone(served):
    question, called = turn(served, QUESTION, conversation="c")
    assert "- calculator: " in question
    assert not called
    history = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": question},
    ]
    for elsewhere in ({"conversation": "d"}, {"conversation": "c", "user": "v"}):
        assert not turn(served, "yes", history, **elsewhere)[1]

    answer, called = turn(served, "yes", history, conversation="c")
    assert "391" in answer
    assert called
    assert not turn(served, "yes", history, conversation="c")[1]
