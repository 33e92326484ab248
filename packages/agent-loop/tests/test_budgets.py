"""What a run may use."""

from decimal import Decimal

import pytest

from agent_loop import (
    AgentRun,
    Budgets,
    InvalidSettingError,
    Message,
    MessageError,
    ModelDelta,
    ModelDone,
    ModelFailure,
    RoundEnded,
    RunTools,
    ShowText,
    TimePassed,
    TimeShort,
    ToolCallEnded,
    ToolCallFragment,
    ToolResult,
    Usage,
)


QUESTION = (Message(role="user", content="?"),)
REFUSED = "tool invoke error: the budget of the run is used up; this call was not run"
NOTICE = "Four fifths of this run's budget"
BROKEN = ModelFailure(message="the line broke", is_transient=True)


def start(maximum_iterations=10, **budgets):
    run = AgentRun(
        QUESTION,
        tools=("add",),
        maximum_iterations=maximum_iterations,
        emit_intermediate_thoughts=False,
        budgets=Budgets(**budgets),
    )
    run.start()
    return run


def ask(run, *names, tokens=10, price="0.1"):
    """Have the model ask for a call of each name, at a price."""
    calls = tuple(ToolCallFragment(call_id=f"{name}-{id(run)}", name=name) for name in names)
    usage = Usage(total_tokens=tokens, total_price=Decimal(price))
    run.feed(ModelDelta(tool_calls=calls, usage=usage))
    return run.feed(ModelDone())


def give(run, events):
    """Give each call that is to be run its result, and return what follows."""
    [request] = [event for event in events if isinstance(event, RunTools)]
    results = [ToolResult(call_id=call.call_id, content="4") for call in request.calls]
    return [event for result in results for event in run.feed(result)]


def answer(run, text="So."):
    return [*run.feed(ModelDelta(text=text)), *run.feed(ModelDone())]


def notices(request):
    return [m.content for m in request.messages if m.role == "user" and NOTICE in m.content]


@pytest.mark.parametrize(
    ("budgets", "name"),
    [
        ({"max_total_tokens": 10}, "max_total_tokens"),
        ({"max_cost": Decimal("0.1")}, "max_cost"),
        ({"max_total_tokens": 100, "max_cost": Decimal("0.05")}, "max_cost"),
    ],
)
def test_a_budget_that_is_used_up_refuses_calls_and_has_the_model_answer(budgets, name):
    run = start(**budgets)
    events = ask(run, "add", "sub")
    assert [e.result.content for e in events if isinstance(e, ToolCallEnded)] == [REFUSED] * 2
    assert (events[-1].is_closing, events[-1].tool_choice) == (True, "none")
    assert [m.content for m in events[-1].messages if m.role == "tool"] == [REFUSED] * 2
    finished = answer(run)[-1]
    assert (finished.reason, finished.budget, finished.is_answered) == ("budget", name, True)


def test_a_budget_that_the_answer_uses_up_takes_nothing_from_it():
    run = start(max_total_tokens=10)
    run.feed(ModelDelta(text="4", usage=Usage(total_tokens=50)))
    finished = run.feed(ModelDone())[-1]
    assert (finished.reason, finished.budget) == ("answered", "max_total_tokens")


def test_the_calls_of_a_round_are_made_as_far_as_the_budget_goes():
    run = start(max_tool_calls=3)
    request = give(run, ask(run, "a", "b"))[-1]
    assert not request.is_closing
    events = ask(run, "c", "d")
    assert [call.name for call in events[-1].calls] == ["c"]
    request = give(run, events)[-1]
    assert request.is_closing
    assert [m.content for m in request.messages if m.role == "tool"] == ["4", "4", "4", REFUSED]


def test_where_no_tool_may_run_the_first_call_is_the_closing_one():
    run = AgentRun(QUESTION, maximum_iterations=6, budgets=Budgets(max_tool_calls=0))
    assert run.start()[-1].is_closing


def test_time_uses_a_budget_up():
    run = start(max_seconds=10)
    run.feed(TimePassed(seconds=10))
    run.feed(TimePassed(seconds=3))
    assert ask(run, "add")[-1].is_closing
    assert answer(run)[-1].budget == "max_seconds"


def test_a_refused_tool_of_the_closing_call_is_told_with_the_budget():
    run = start(max_total_tokens=10)
    ask(run, "add")
    events = ask(run, "sub")
    assert [e.text for e in events if isinstance(e, ShowText)] == [
        "Budget used up. Cannot call tool 'sub'."
    ]
    assert events[-1].reason == "budget"


def test_the_model_is_told_once_that_an_end_is_near():
    run = start(max_total_tokens=50, max_tool_calls=10)
    requests = [give(run, ask(run, "add"))[-1] for _ in range(3)]
    assert [len(notices(request)) for request in requests] == [0, 0, 0]
    request = give(run, ask(run, "add"))[-1]
    assert notices(request) == [request.messages[-1].content]
    assert "(max_total_tokens)" in request.messages[-1].content
    request = ask(run, "add")[-1]
    assert request.is_closing
    assert len(notices(request)) == 1


@pytest.mark.parametrize("closing", ["time_limit", "maximum_iterations"])
def test_other_reasons_for_the_closing_call_come_first(closing):
    run = start(2 if closing == "maximum_iterations" else 10, max_total_tokens=10)
    run.feed(TimeShort())
    ask(run, "add")
    assert answer(run)[-1].reason == closing


def test_a_closing_call_beyond_the_budget_is_not_made_twice():
    run = start(max_total_tokens=10)
    ask(run, "add")
    assert not run.may_retry
    finished = run.feed(BROKEN)[-1]
    assert (finished.reason, finished.rounds) == ("error", 2)


def test_what_a_broken_call_used_counts():
    run = start(max_total_tokens=10)
    run.feed(ModelDelta(usage=Usage(total_tokens=10)))
    assert run.feed(BROKEN)[-1].is_closing


@pytest.mark.parametrize("price", ["0", "-5", "NaN", "sNaN", "Infinity", "9e999999"])
def test_a_budget_of_money_that_cannot_be_kept_ends_the_run_before_its_second_call(price):
    run = start(max_cost=Decimal(1), max_total_tokens=50)
    finished = ask(run, "add", price=price)[-1]
    sentence = "max_cost cannot be kept: the model does not tell its prices"
    assert (finished.error, finished.is_answered, finished.rounds) == (sentence, False, 1)
    assert finished.usage.total_price == 0
    assert answer(start(max_cost=Decimal(1)))[-1].reason == "answered"


@pytest.mark.parametrize("tokens", [0, -1000, float("nan"), float("-inf"), Decimal("sNaN")])
def test_a_budget_of_tokens_that_cannot_be_kept_ends_the_run_before_its_second_call(tokens):
    finished = ask(start(max_total_tokens=10), "add", tokens=tokens)[-1]
    sentence = "max_total_tokens cannot be kept: the model does not tell its usage"
    assert (finished.error, finished.is_answered, finished.rounds) == (sentence, False, 1)
    assert finished.usage.total_tokens == 0
    assert answer(start(max_total_tokens=10))[-1].reason == "answered"


def test_an_input_that_nobody_has_counted_passes_no_budget_unseen():
    run = start(max_total_tokens=100)
    wanted = ToolCallFragment(call_id="c", name="add")
    run.feed(ModelDelta(tool_calls=(wanted,), usage=Usage(output_tokens=9, total_tokens=9)))

    assert (
        run.feed(ModelDone())[-1].error
        == "max_total_tokens cannot be kept: the model does not tell its usage"
    )


def test_a_total_that_is_less_than_its_parts_saves_nothing():
    run = start(max_total_tokens=100)
    usage = Usage(input_tokens=90, output_tokens=10, total_tokens=1)
    run.feed(ModelDelta(tool_calls=(ToolCallFragment(call_id="c", name="add"),), usage=usage))
    assert run.feed(ModelDone())[-1].is_closing


def test_a_run_without_budgets_goes_on_whatever_its_figures_are():
    run = start()
    events = give(run, ask(run, "add", tokens=-3, price="NaN"))
    assert not events[-1].is_closing
    assert answer(run)[-1].usage == Usage()


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        ({"max_total_tokens": 0}, "max_total_tokens must be at least 1, a whole number, not 0"),
        ({"max_total_tokens": 2.5}, "max_total_tokens must be at least 1, a whole number, not 2.5"),
        ({"max_total_tokens": True}, "max_total_tokens must be at least 1, a whole number"),
        ({"max_cost": Decimal(-1)}, "max_cost must be more than 0, a number, not Decimal('-1')"),
        (
            {"max_cost": Decimal("NaN")},
            "max_cost must be more than 0, a number, not Decimal('NaN')",
        ),
        ({"max_cost": float("nan")}, "max_cost must be more than 0, a number, not nan"),
        ({"max_cost": "1"}, "max_cost must be more than 0, a number, not '1'"),
        ({"max_cost": True}, "max_cost must be more than 0, a number, not True"),
        ({"max_seconds": 0.0}, "max_seconds must be more than 0, a number, not 0.0"),
        ({"max_tool_calls": -1}, "max_tool_calls must be at least 0, a whole number, not -1"),
    ],
)
def test_a_budget_that_no_run_could_keep_is_refused(budgets, message):
    with pytest.raises(InvalidSettingError, match=message.replace("(", r"\(").replace(")", r"\)")):
        Budgets(**budgets)


def test_each_round_tells_how_much_of_each_budget_is_used():
    run = start(max_total_tokens=50, max_tool_calls=2)
    ended = [e for e in give(run, ask(run, "add")) if isinstance(e, RoundEnded)]
    ended += [e for e in give(run, ask(run, "sub")) if isinstance(e, RoundEnded)]
    assert [[(use.name, use.used, use.maximum) for use in e.budgets] for e in ended] == [
        [("max_total_tokens", 10, 50), ("max_tool_calls", 1, 2)],
        [("max_total_tokens", 20, 50), ("max_tool_calls", 2, 2)],
    ]
    finished = answer(run)[-1]
    assert finished.budgets == ended[-1].budgets
    assert answer(start())[-1].budgets == ()


def test_a_closing_call_beyond_the_budget_is_the_last_for_whatever_reason_it_closes():
    run = start(max_total_tokens=10)
    run.feed(TimeShort())
    ask(run, "add")
    assert not run.may_retry
    finished = run.feed(BROKEN)[-1]
    assert (finished.reason, finished.budget) == ("error", "max_total_tokens")


def test_a_wait_before_a_call_that_uses_the_time_up_makes_it_the_closing_one():
    run = start(max_seconds=30)
    run.feed(TimePassed(seconds=10))
    request = run.feed(ModelFailure(message="busy", is_transient=True, wait_seconds=25))[-1]
    assert (request.is_closing, request.wait_seconds) == (True, 25)


def test_a_budget_of_seconds_says_how_much_is_left():
    assert [Budgets(max_seconds=30).seconds_left(now) for now in (0, 20, 40)] == [30, 10, 0]
    assert Budgets().seconds_left(0) is None
    assert start(max_seconds=30).budgets == Budgets(max_seconds=30)


def test_calls_that_the_models_server_makes_count_as_tool_calls():
    run = start(max_tool_calls=3)
    run.feed(ModelDelta(hosted_calls=1))
    request = give(run, ask(run, "add"))[-1]
    assert (request.max_hosted_calls, request.is_closing) == (1, False)
    kinds = ("mcp_list_tools", "mcp_call", "web_search_call")
    run.feed({"hosted_calls": [{"type": kind} for kind in kinds]})
    request = run.feed(BROKEN)[-1]
    assert (request.max_hosted_calls, request.is_closing) == (0, True)
    assert [use.used for use in answer(run)[-1].budgets] == [4]


def test_no_budget_of_tool_calls_leaves_the_server_any_number():
    run = AgentRun(QUESTION, maximum_iterations=2)
    assert run.start()[-1].max_hosted_calls is None
    with pytest.raises(MessageError, match="hosted_calls: expected calls or their number"):
        run.feed({"hosted_calls": -1})
