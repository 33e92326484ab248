"""Agents over the real daemon keep their reasoning from round to round, whatever Dify hands on."""

from itertools import pairwise

import pytest

from dify import KEY, run_agent, text_of
from gpt5_simulator import FunctionCall, Reasoning, ResponsesSimulator, ScriptedModel, Text


@pytest.fixture(autouse=True)
def tool(inner_api):
    inner_api.tool = lambda parameters: f"This is page {parameters['page']}."


@pytest.fixture
def simulator():
    rounds = [
        [
            Reasoning(summary=(f"Now page {page}.",)),
            FunctionCall(name="look_up", arguments={"page": page}),
        ]
        for page in (1, 2, 3)
    ]
    model = ScriptedModel([*rounds, [Text(text="Three pages.")]])
    with ResponsesSimulator(model=model, api_keys=[KEY]) as simulator:
        yield simulator


def inputs(simulator):
    return [request.body["input"] for request in simulator.requests]


@pytest.mark.parametrize("keeps_opaque_body", [True, False])
@pytest.mark.parametrize("strategy", ["gpt5_function_calling", "gpt5_react"])
def test_every_request_extends_the_one_before_and_holds_all_reasoning(
    client, simulator, between, strategy, keeps_opaque_body
):
    between(client, simulator.base_url, keeps_opaque_body=keeps_opaque_body)
    messages = run_agent(client, simulator.base_url, strategy=strategy)

    assert text_of(messages).endswith("Three pages.")
    rounds = inputs(simulator)
    assert [sum(item.get("type") == "reasoning" for item in items) for items in rounds] == [
        *range(4)
    ]
    assert all(later[: len(items)] == items for items, later in pairwise(rounds))
    outputs = [item["output"] for item in rounds[-1] if item.get("type") == "function_call_output"]
    assert outputs == [f"This is page {page}." for page in (1, 2, 3)]
