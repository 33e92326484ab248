"""What a run may use, set in the agent node."""

from decimal import Decimal

import pytest

from scripted_dify import call, chunk, text_message, tool, usage


CLOCK = tool("clock")
UNPRICED = {"entity": {"pricing": None}}
PRICED = {"entity": {"pricing": {"input": "1.25", "output": "10", "unit": "0.000001"}}}
NOTICE = "Four fifths of this run's budget"


def ask(agent, rounds=2, price="0.0002", **parameters):
    """Have the model ask for one call in each round, 15 tokens and 0.0002 each time, then answer."""
    spent = usage(price=price)
    agent.dify.model = [
        [chunk(calls=[call("clock", id_=f"c{n}")], usage=spent)] for n in range(rounds)
    ]
    agent.dify.model.append([chunk("It is late.", usage=spent)])
    agent.dify.tools["clock"] = [text_message("21:04")]
    return agent.run(tools=[CLOCK], maximum_iterations=10, **parameters)


def use(name, used, maximum):
    return {"name": name, "used": used, "maximum": maximum}


@pytest.mark.parametrize(
    ("parameters", "used"),
    [
        ({"max_total_tokens": 30}, use("max_total_tokens", 45, 30)),
        ({"max_total_tokens": " 30.0 "}, use("max_total_tokens", 45, 30)),
        ({"max_cost": 0.0003}, use("max_cost", "0.0006", "0.0003")),
        ({"max_cost": "0.0004", "model": PRICED}, use("max_cost", "0.0006", "0.0004")),
        ({"max_tool_calls": 1.5}, use("max_tool_calls", 2, 2)),
    ],
)
def test_a_budget_that_is_used_up_leads_to_one_last_call_that_answers(agent, parameters, used):
    transcript = ask(agent, 2, **parameters)
    assert transcript.error is None
    assert transcript.text.endswith("It is late.")
    assert transcript.metadata["stop_reason"] == "budget"
    assert transcript.metadata["budgets"] == [used]
    assert transcript.logs["ROUND 3"]["data"]["output"]["budgets"] == [used]
    assert agent.dify.model_requests[-1]["tools"] == agent.dify.model_requests[0]["tools"] or (
        "model" in parameters  # that takes no tool choice
    )


def test_the_model_is_told_once_when_the_end_is_near(agent):
    ask(agent, 4, max_total_tokens=50, max_tool_calls=4)
    said = [[m["content"] for m in r["prompt_messages"]] for r in agent.dify.model_requests]
    assert [sum(NOTICE in text for text in texts) for texts in said] == [0, 0, 0, 1, 1]
    assert NOTICE in said[3][-1]
    assert said[4][: len(said[3])] == said[3]


def test_seconds_are_a_budget_too(agent):
    transcript = ask(agent, 1, max_seconds=0.0001)
    assert transcript.metadata["stop_reason"] == "budget"
    assert agent.dify.tool_requests == []


@pytest.mark.parametrize("value", [None, "", " ", 0, "0", 0.0], ids=repr)
def test_nothing_and_nought_are_no_limit(agent, value):
    names = ("max_total_tokens", "max_cost", "max_seconds", "max_tool_calls")
    transcript = ask(agent, raw=dict.fromkeys(names, value), model=UNPRICED)
    assert transcript.metadata["stop_reason"] == "answered"
    assert "budgets" not in transcript.metadata


def test_a_budget_above_its_range_is_the_end_of_that(agent):
    transcript = ask(agent, max_total_tokens=10**12)
    assert transcript.metadata["budgets"] == [use("max_total_tokens", 45, 100_000_000)]
    told = transcript.logs["Budgets above their range"]
    assert told["data"] == {"counts": ["max_total_tokens counts up to 100,000,000"]}


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"raw": {"max_seconds": "soon"}},
            "max_seconds must be a number from 0 to 3,600, not text",
        ),
        ({"max_cost": -1}, "max_cost must be a number from 0 to 10,000, not -1"),
        ({"raw": {"max_cost": "nan"}}, "max_cost must be a number from 0 to 10,000, not text"),
        ({"max_tool_calls": True}, "must be a number from 0 to 10,000, not true or false"),
        ({"raw": {"max_total_tokens": [5]}}, "must be a number from 0 to 100,000,000, not a list"),
        (
            {"max_cost": 1, "model": UNPRICED},
            "max_cost must be empty for a model without prices, not 1",
        ),
    ],
)
def test_a_budget_that_cannot_be_kept_is_refused_before_any_call(agent, parameters, sentence):
    transcript = ask(agent, **parameters)
    assert sentence in transcript.error.message
    assert transcript.metadata["stop_reason"] == "error"
    assert agent.dify.model_requests == []


def test_a_model_that_tells_no_prices_after_all_ends_the_run_before_its_second_call(agent):
    transcript = ask(agent, max_cost=1, price="0")
    assert "max_cost cannot be kept: the model does not tell its prices" in transcript.error.message
    assert len(agent.dify.model_requests) == 1
    assert agent.dify.tool_requests == []


@pytest.mark.parametrize(
    ("figures", "total", "stop_reason"),
    [
        ({"total_tokens": -15}, 30, "budget"),
        ({"total_tokens": -15, "prompt_tokens": -20}, 0, "error"),
        ({"total_price": "-1"}, 45, "answered"),
    ],
)
def test_figures_under_zero_turn_no_budget_off(agent, figures, total, stop_reason):
    spent = usage() | figures
    agent.dify.model = [
        [chunk(calls=[call("clock", id_=f"c{n}")], usage=spent)] for n in range(2)
    ] + [[chunk("It is late.", usage=spent)]]
    agent.dify.tools["clock"] = [text_message("21:04")]
    maximum = 10 if stop_reason == "budget" else 1_000
    transcript = agent.run(tools=[CLOCK], max_total_tokens=maximum)
    assert transcript.metadata["total_tokens"] == total
    assert transcript.metadata["stop_reason"] == stop_reason
    assert Decimal(transcript.metadata["total_price"]) >= 0


def test_without_contents_the_log_has_the_budgets_too(configured_agent):
    transcript = ask(configured_agent, 0, max_total_tokens=30)
    summary = transcript.logs["ROUND 1"]["data"]["output_summary"]
    assert summary["budgets"] == [use("max_total_tokens", 15, 30)]
