"""A run that outgrows its window, with the packages' own client, and a server that checks every request as the real one does."""

import pytest

from agent_driver import drive
from agent_loop import AgentRun, CompactedWindow, Finished, Message, RunCompacted, Usage, Window
from gpt5_responses import ModelConfig, Request, ResponsesClient
from gpt5_simulator import FunctionCall, Reasoning, ResponsesSimulator, ScriptedModel, Text
from runs import KEY


QUESTION = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which?"})


def look(number: int) -> str:
    """Look."""
    return f"{number} " * 1_500


class Looking:
    """A model that looks a number of times, answers, and sums up whenever it is asked to."""

    def __init__(self, count):
        hm = Reasoning(summary=("Hm.",), text=("Once more.",))  # aloud, as other servers' do
        looks = [[hm, FunctionCall(name="look", arguments={"number": n})] for n in range(count)]
        self._turns = ScriptedModel([*looks, [Text(text="It is 7.")]])
        self._summary = ScriptedModel([[Text(text="It may be 7.")]], repeat=True)

    def respond(self, request):
        is_asked = "will be replaced by what you write now" in str(request.items[-1])
        return (self._summary if is_asked else self._turns).respond(request)


class Compacting:
    """A model whose API makes conversations shorter, as `gpt5_responses` offers it."""

    def __init__(self, client):
        self._client = client

    def __call__(self, call):
        return self._client.answer(call)

    def compact(self, call):
        window = self._client.compact(Request(messages=call.messages[:-1]))
        carried = Message(role="assistant", opaque_body={"responses_output": list(window.items)})
        return CompactedWindow(messages=(carried,), usage=Usage.read(window.usage))


@pytest.mark.parametrize("kind", ["api", "summary"])
def test_a_long_run_goes_on_with_the_real_client(kind):
    with ResponsesSimulator(model=Looking(12), api_keys=[KEY]) as simulator:
        config = ModelConfig(model_id="gpt-5.5", api_key=KEY, base_url=simulator.base_url)
        client = ResponsesClient(config)
        run = AgentRun(QUESTION, maximum_iterations=30, window=Window(tokens=12_500))
        model = Compacting(client) if kind == "api" else client.answer
        events = list(drive(run, model, [look]))
    compacted = [event for event in events if isinstance(event, RunCompacted)]
    assert [(event.kind, event.error) for event in compacted] == [(kind, None)]
    assert [event.reason for event in events if isinstance(event, Finished)] == ["answered"]
    last = simulator.requests[-1].body["input"]
    assert last[0]["role"] == "developer"
    if kind == "api":
        assert [item["type"] for item in last[1:3]] == ["message", "compaction"]
    else:
        assert "Which?" in str(last[1]["content"])
        assert "It may be 7." in str(last[2]["content"])
    called = [item["call_id"] for item in last if item.get("type") == "function_call"]
    assert called
    assert called == [
        item["call_id"] for item in last if item.get("type") == "function_call_output"
    ]
    thoughts = [item for item in last if item.get("type") == "reasoning"]
    assert all(item["encrypted_content"] and item["content"] for item in thoughts)
    assert thoughts
    assert "made_by" not in str(last)
