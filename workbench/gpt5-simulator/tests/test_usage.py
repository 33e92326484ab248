import pytest

from gpt5_simulator import FunctionCall, Reasoning, ResponsesSimulator, ScriptedModel, Text


LONG = "word " * 2000


def usage_of(response):
    return response.json()["usage"]


def cached(response):
    return usage_of(response)["input_tokens_details"]["cached_tokens"]


def test_usage_adds_up(ask):
    turn = [Reasoning(tokens=100), Text(text="x" * 40)]
    with ResponsesSimulator(model=ScriptedModel([turn])) as simulator:
        usage = usage_of(ask(simulator, input="y" * 400))
    assert usage["output_tokens_details"] == {"reasoning_tokens": 100}
    assert usage["output_tokens"] == 111
    assert usage["input_tokens"] > 100
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


def test_stronger_efforts_cost_more_reasoning(server, ask):
    costs = [
        usage_of(ask(server, model="gpt-5.6", reasoning={"effort": effort}))[
            "output_tokens_details"
        ]["reasoning_tokens"]
        for effort in ("none", "low", "medium", "high", "xhigh", "max")
    ]
    assert costs[0] == 0
    assert costs == sorted(set(costs))


def test_an_extended_prompt_is_cached_up_to_where_it_was_extended(ask):
    first = [{"role": "user", "content": LONG}]
    second = [*first, {"role": "assistant", "content": "Yes"}, {"role": "user", "content": LONG}]
    with ResponsesSimulator() as simulator:
        cold = ask(simulator, input=first)
        warm = ask(simulator, input=second)
    length = usage_of(cold)["input_tokens"]
    assert cached(cold) == 0
    assert cached(warm) % 128 == 0
    assert length - 128 <= cached(warm) <= length
    assert usage_of(warm)["input_tokens"] > 2 * length - 128


@pytest.mark.parametrize(
    "change",
    [
        {"instructions": "Other"},
        {"tools": [{"type": "custom", "name": "note"}]},
        {"model": "gpt-5.2"},
        {"prompt_cache_key": "other"},
        {"input": "!" + LONG},
    ],
)
def test_a_changed_beginning_is_not_cached(ask, change):
    with ResponsesSimulator() as simulator:
        ask(simulator, input=LONG)
        assert cached(ask(simulator, {"input": LONG} | change)) == 0
        assert cached(ask(simulator, input=LONG)) > 1024


def test_keys_do_not_share_a_cache(ask):
    with ResponsesSimulator() as simulator:
        ask(simulator, input=LONG, key="one")
        assert cached(ask(simulator, input=LONG, key="two")) == 0


def test_short_prompts_are_not_cached(ask):
    with ResponsesSimulator() as simulator:
        ask(simulator, input="x" * 3600)
        assert cached(ask(simulator, input="x" * 3600)) == 0


def test_a_budget_spent_on_reasoning_leaves_no_text(ask, events_of):
    body = {"max_output_tokens": 50, "reasoning": {"effort": "high", "summary": "auto"}}
    with ResponsesSimulator() as simulator:
        events = events_of(ask(simulator, body, stream=True))
    final = events[-1]["response"]
    assert events[-1]["type"] == "response.incomplete"
    assert final["status"] == "incomplete"
    assert final["incomplete_details"] == {"reason": "max_output_tokens"}
    assert final["completed_at"] is None
    assert [item["type"] for item in final["output"]] == ["reasoning"]
    assert final["output"][0]["summary"] == []
    assert final["usage"]["output_tokens"] == 50
    assert final["usage"]["output_tokens_details"]["reasoning_tokens"] == 50


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (Text(text="abcdefghij" * 20), lambda item: item["content"][0]["text"]),
        (
            FunctionCall(name="f", arguments={"x": "abcdefghij" * 20}),
            lambda item: item["arguments"],
        ),
    ],
)
def test_a_budget_cuts_what_is_being_said_but_closes_it(ask, events_of, item, text):
    with ResponsesSimulator(model=ScriptedModel([[item, Text(text="never")]])) as simulator:
        events = events_of(ask(simulator, max_output_tokens=16, stream=True))
    done = events[-2]["item"]
    assert events[-2]["type"] == "response.output_item.done"
    assert done["status"] == "incomplete"
    assert len(text(done)) == 60
    assert len(events[-1]["response"]["output"]) == 1
    assert events[-1]["response"]["usage"]["output_tokens"] == 16


def test_the_cache_forgets_the_oldest_prompts_first(ask):
    with ResponsesSimulator(model=ScriptedModel([[]], repeat=True)) as simulator:
        ask(simulator, input=LONG, store=False)
        ask(simulator, input="x" * 512 * 16500, store=False)
        assert cached(ask(simulator, input=LONG)) == 0
