"""A second model that takes over."""

from decimal import Decimal

import pytest

from agent_loop import (
    AgentRun,
    Budgets,
    CallModel,
    FallbackModel,
    InvalidSettingError,
    Message,
    ModelCallEnded,
    ModelDelta,
    ModelDone,
    ModelFailure,
    RoundStarted,
    ToolCallFragment,
    ToolResult,
    Usage,
)
from agent_tooling import AnswerSchema


QUESTION = (Message(role="user", content="?"),)
LIMITED = ModelFailure(message="too many requests", is_transient=False, may_pass_elsewhere=True)
BROKEN = ModelFailure(message="the line broke", is_transient=True, wait_seconds=2)
REFUSED = ModelFailure(message="no such key", is_transient=False)
SECOND = FallbackModel(name="b")


def start(fallback=SECOND, messages=QUESTION, **settings):
    run = AgentRun(
        messages,
        tools=("add",),
        model="a",
        fallback=fallback,
        **{"maximum_iterations": 6} | settings,
    )
    return run, run.start()


def use_tool(run, **delta):
    calls = (ToolCallFragment(call_id="c1", name="add"),)
    run.feed(ModelDelta(tool_calls=calls, **delta))
    run.feed(ModelDone())
    return run.feed(ToolResult(call_id="c1", content="4"))


def answer(run, text="So."):
    return [*run.feed(ModelDelta(text=text)), *run.feed(ModelDone())]


def test_another_model_takes_over_at_once_and_stays():
    run, events = start()
    assert [event.model for event in events] == ["a", "a"]
    events = run.feed(LIMITED)
    assert [event.error for event in events if isinstance(event, ModelCallEnded)] == [
        "The model call of round 1 failed: too many requests"
    ]
    request = events[-1]
    assert (request.model, request.round, request.wait_seconds) == ("b", 2, 0)
    assert request.messages == QUESTION
    request = use_tool(run)[-1]
    assert request.model == "b"
    assert answer(run)[-1].models == ("a", "b", "b")


def test_what_breaks_off_is_made_again_by_the_same_model_and_then_by_the_other():
    run, _ = start()
    first, second = run.feed(BROKEN)[-1], run.feed(BROKEN)[-1]
    assert [(first.model, first.wait_seconds), (second.model, second.wait_seconds)] == [
        ("a", 2),
        ("b", 0),
    ]
    assert run.feed(BROKEN)[-1].model == "b"
    finished = run.feed(BROKEN)[-1]
    assert (finished.reason, finished.models) == ("error", ("a", "a", "b", "b"))


@pytest.mark.parametrize(
    ("failure", "settings", "text"),
    [
        (REFUSED, {}, ""),
        (LIMITED, {"maximum_iterations": 1}, ""),
        (LIMITED, {"fallback": None}, ""),
        (LIMITED, {}, "It is"),
        (ModelFailure(message="x", is_transient=True, has_time=False), {}, ""),
        (
            ModelFailure(message="x", is_transient=False, has_time=False, may_pass_elsewhere=True),
            {},
            "",
        ),
    ],
)
def test_no_other_model_is_asked(failure, settings, text):
    run, _ = start(**settings)
    run.feed(ModelDelta(text=text))
    finished = run.feed(failure)[-1]
    assert (finished.reason, finished.models) == ("error", ("a",))


def test_a_model_takes_over_once():
    run, _ = start()
    run.feed(LIMITED)
    finished = run.feed(LIMITED)[-1]
    assert finished.models == ("a", "b")
    assert finished.error.endswith("too many requests")


def test_a_closing_call_beyond_a_budget_is_made_by_one_model():
    run, _ = start(budgets=Budgets(max_total_tokens=5))
    run.feed(
        ModelDelta(
            usage=Usage(total_tokens=9), tool_calls=(ToolCallFragment(call_id="c", name="add"),)
        )
    )
    assert run.feed(ModelDone())[-1].is_closing
    assert run.feed(LIMITED)[-1].reason == "error"


def test_an_answer_that_a_content_filter_has_emptied_is_asked_of_the_other():
    run, _ = start(emit_intermediate_thoughts=False)
    run.feed(ModelDelta(text="<think>Hm", finish_reason="content_filter"))
    request = run.feed(ModelDone())[-1]
    assert (request.model, request.messages) == ("b", QUESTION)
    run.feed(ModelDelta(finish_reason="content_filter"))
    finished = run.feed(ModelDone())[-1]
    assert (finished.reason, finished.models) == ("empty_answer", ("a", "b"))


def test_an_answer_that_a_content_filter_has_cut_stays():
    run, _ = start(emit_intermediate_thoughts=False)
    run.feed(ModelDelta(text="It is", finish_reason="content_filter"))
    assert run.feed(ModelDone())[-1].answer == "It is"


def test_the_reasoning_of_one_model_is_not_handed_to_another():
    history = [
        {"role": "user", "content": "<think>mine</think>?"},
        {"role": "assistant", "content": "<think>x</think>A.", "opaque_body": {"items": [1]}},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "x"},
                {"type": "text", "text": "<think>x</think>B.", "opaque_body": {"items": [2]}},
                {"type": "image", "data": "<think>"},
                "<think>x</think>C.",
                7,
            ],
        },
        object(),
    ]
    run, _ = start(messages=history)
    before = use_tool(run, text="<think>x</think>Adding.", opaque_body={"items": [3]})[-1]
    after = run.feed(LIMITED)[-1]
    assert history[1]["opaque_body"] == {"items": [1]}
    assert after.messages[0] == history[0]
    assert after.messages[1] == {"role": "assistant", "content": "A."}
    assert after.messages[2]["content"] == [
        {"type": "text", "text": "B."},
        {"type": "image", "data": "<think>"},
        "C.",
        7,
    ]
    assert after.messages[3] is history[3]
    assert (after.messages[4].content, after.messages[4].opaque_body) == ("Adding.", None)
    assert after.messages[4].tool_calls == before.messages[4].tool_calls
    assert after.messages[5] == before.messages[5]


class Foreign:
    role = "assistant"
    content = None


def test_messages_of_other_shapes_pass():
    foreign, bare = Foreign(), {"role": "assistant", "content": None}
    run, _ = start(messages=[foreign, bare])
    assert run.feed(LIMITED)[-1].messages == (foreign, bare)


def test_what_the_other_model_cannot_do_is_not_asked_of_it():
    plain = FallbackModel(name="b", has_tool_choice=False)
    schema = AnswerSchema.parse({"required": ["n"]})
    settings = {"maximum_iterations": 2, "answer_schema": schema}
    run, (_, request) = start(plain, has_answer_format=True, **settings)
    assert request.messages == QUESTION
    request = run.feed(LIMITED)[-1]
    assert (request.is_closing, request.tools, request.tool_choice) == (True, (), None)
    assert request.messages[-1].content.endswith('{"required": ["n"]}')
    run, (_, request) = start(plain, has_answer_format=False, **settings)
    assert run.feed(LIMITED)[-1].messages == request.messages


def test_a_run_with_a_fallback_has_a_name_for_its_model():
    with pytest.raises(InvalidSettingError, match="model must be named where there is a fallback"):
        AgentRun(QUESTION, maximum_iterations=2, fallback=SECOND)
    run = AgentRun(QUESTION, maximum_iterations=2)
    started, request = run.start()
    assert isinstance(started, RoundStarted)
    assert isinstance(request, CallModel)
    assert (started.model, request.model) == (None, None)
    assert answer(run)[-1].models == ()


def priced(currency, price="0.5"):
    return Usage(total_tokens=10, total_price=Decimal(price), currency=currency)


@pytest.mark.parametrize("budgets", [None, Budgets(max_cost=Decimal(9))], ids=["free", "max_cost"])
def test_prices_in_another_currency_end_the_run_before_it_goes_on(budgets):
    run, _ = start(budgets=budgets)
    use_tool(run, usage=priced("USD"))
    run.feed(LIMITED)
    run.feed(ModelDelta(tool_calls=(ToolCallFragment(call_id="c2", name="add"),)))
    run.feed(ModelDelta(usage=priced("CNY")))
    finished = run.feed(ModelDone())[-1]
    assert finished.error == (
        "The cost of the run cannot be summed up: the prices of its models are in two currencies"
    )
    assert (finished.is_answered, finished.reason) == (False, "error")


@pytest.mark.parametrize("prices", [("0", "0.5"), ("0.5", "0")], ids=["first", "second"])
def test_what_costs_nothing_has_no_currency(prices):
    run, _ = start()
    use_tool(run, usage=priced("USD", prices[0]))
    run.feed(LIMITED)
    use_tool(run, usage=priced("CNY", prices[1]))
    usage = answer(run)[-1].usage
    assert usage.total_price == Decimal("0.5")
    assert usage.currency == ("CNY" if prices[1] == "0.5" else "USD")


def test_an_answer_in_another_currency_is_one_and_its_money_is_not_added():
    run, _ = start()
    use_tool(run, usage=priced("USD"))
    run.feed(LIMITED)
    run.feed(ModelDelta(text="So.", usage=priced("CNY")))
    finished = run.feed(ModelDone())[-1]
    assert finished.is_answered
    usage = finished.usage
    assert (usage.total_tokens, usage.total_price, usage.currency) == (20, Decimal("0.5"), "USD")


def test_tools_of_a_server_that_the_other_model_lacks_are_left_out_and_it_is_told():
    lacking = FallbackModel(name="b", lacking_tools=("web_search",))
    run, events = start(
        lacking,
        hosted_tools=("web_search", "docs"),
        allowed_tools=("web_search", "add"),
        tool_choice="web_search",
    )
    request = events[-1]
    assert (request.hosted_tools, request.tool_choice) == (("web_search", "docs"), "web_search")
    assert (request.allowed_tools, run.left_out_tools) == (("web_search", "add"), ())
    request = run.feed(LIMITED)[-1]
    assert (request.hosted_tools, request.tool_choice) == (("docs",), "auto")
    assert (request.allowed_tools, run.left_out_tools) == (("add",), ("web_search",))
    assert "not available: web_search" in request.messages[-1].content


def test_a_model_without_tool_choice_closes_without_tools_of_its_server():
    run = AgentRun(
        QUESTION,
        maximum_iterations=2,
        has_tool_choice=False,
        hosted_tools=("web_search",),
        tools=("add",),
    )
    assert run.start()[-1].hosted_tools == ("web_search",)
    assert use_tool(run)[-1].hosted_tools == ()
