"""A run whose first rounds are answered from its log."""

import asyncio

import pytest

from dify_plugin_host import (
    AgentRequest,
    BackwardsError,
    BackwardsRequest,
    PluginHost,
    RecordedAnswers,
)
from run_log import RunLog


CALLS = [
    {"call_id": "c1", "name": "clock", "arguments": '{"timezone": "Asia/Tokyo"}'},
    {"call_id": "c2", "name": "fail_on_demand", "arguments": "{}"},
]


@pytest.fixture
def path(tmp_path):
    """The log of a run of two rounds, the first of which calls tools."""
    log = RunLog(tmp_path / "runs")
    with log.begin({"query": "call calculator {}", "instruction": "", "model": "echo-1"}) as run:
        run.request(1, [{"role": "user", "content": "call calculator {}"}], {})
        run.delta(1, "As it was then. ")
        usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7, "total_price": "0.5"}
        run.answer(1, calls=CALLS, usage=usage, finish_reason="tool_calls", opaque_body={"x": 1})
        for call in CALLS:
            run.call(call["call_id"], call["name"], call["arguments"])
        run.bound("c1", {"timezone": "Asia/Tokyo", "key": "secret"}, ["key"])
        run.bound("c2", {}, [])
        run.result(
            "c1",
            "done",
            [
                {"type": "text", "text": "noon of then"},
                {"type": "image", "data": b"png", "format": "jpeg"},
                {"type": "file", "name": "a"},
            ],
        )
        run.result("c2", "failed", "it failed", cause=ValueError("then"))
        run.result("c3", "refused", "never called")
        run.call("c4", "call_tool", "{}")
        run.bound("c4", {}, [], tool="clock")
        run.call("c5", "x" * 5000, "{}")
        run.result("c5", "done", "answered by the run itself")
        run.result("c4", "done", "a text")
        run.request(2, [], {})
        run.answer(2, error="cut")
        run.request(3, [], {})
        run.delta(3, "The end of then.")
        run.answer(3)
        run.end("answered")
    return run.path


def texts(messages):
    return [one["message"]["text"] for one in messages if one["type"] == "text"]


async def test_what_was_answered_is_answered_again_and_then_the_model_is_asked(path, plugins):
    recorded = RecordedAnswers(path, rounds=1)
    folders = (plugins / "echo_model", plugins / "small_agent")
    async with PluginHost(*folders, answers=recorded.find) as host:
        strategy = host.strategies[0].name
        request = AgentRequest(query="hello", strategy=strategy, model="echo-1")
        messages = [one async for one in host.run(request)]
    assert asked(recorded, "llm") is None
    assert texts(messages)[0] == "As it was then. "
    assert "noon of then" in str(messages)
    assert "then" in str(messages)
    assert "The end of then." not in str(messages)


def asked(recorded, kind, **request):
    """Return the answer to a call back, or None if there is none."""
    answer = recorded.find(BackwardsRequest(type=kind, caller="agent_strategy", request=request))

    async def collect():
        return [item async for item in answer]

    return answer and asyncio.run(collect())


def test_each_answer_is_given_once(path):
    recorded = RecordedAnswers(path, rounds=3)
    first = asked(recorded, "llm", model="m")
    assert [one["delta"]["message"]["content"] for one in first] == ["As it was then. ", ""]
    assert {one["model"] for one in first} == {"m"}
    assert first[-1]["delta"]["usage"]["prompt_tokens"] == 3
    assert first[-1]["delta"]["message"]["opaque_body"] == {"x": 1}
    assert asked(recorded, "llm")[0]["delta"]["message"]["content"] == "The end of then."
    assert asked(recorded, "llm") is None
    in_tokyo = {"tool": "clock", "tool_parameters": {"timezone": "Asia/Tokyo"}}
    told = asked(recorded, "tool", **in_tokyo)
    assert [(one["type"], one["message"]) for one in told] == [
        ("text", {"text": "noon of then"}),
        ("blob", {"blob": "cG5n"}),
        ("text", {"text": '{"type": "file", "name": "a"}'}),
    ]
    assert asked(recorded, "tool", **in_tokyo) is None
    assert asked(recorded, "tool", tool="calculator", tool_parameters={}) is None
    [told] = asked(recorded, "tool", tool="clock", tool_parameters={})
    assert told["message"] == {"text": "a text"}
    with pytest.raises(BackwardsError, match="then"):
        asked(recorded, "tool", tool="fail_on_demand", tool_parameters={})
