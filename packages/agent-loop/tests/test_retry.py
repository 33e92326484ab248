"""Model calls that fail: made once more, or the end of a run that still answers."""

import pytest

from agent_loop import (
    AgentRun,
    CallModel,
    Failure,
    Finished,
    LocalProtocolError,
    Message,
    ModelCallEnded,
    ModelDelta,
    ModelDone,
    ModelFailure,
    OwnFunction,
    RoundEnded,
    RoundStarted,
    ShowText,
    TimeShort,
    ToolCallFragment,
    ToolResult,
    Usage,
)


QUESTION = (Message(role="user", content="?"),)
BROKEN = ModelFailure(message="the line broke", is_transient=True, wait_seconds=2)
SENTENCE = "The model call of round 1 failed: the line broke"


def start(**settings):
    run = AgentRun(QUESTION, **{"maximum_iterations": 6, "tools": ("add", "sub")} | settings)
    run.start()
    return run


def use_tools(run, *results):
    """Have the model ask for a tool for each result, and give them."""
    calls = tuple(
        ToolCallFragment(call_id=result.call_id, name=f"tool_{result.call_id}")
        for result in results
    )
    run.feed(ModelDelta(tool_calls=calls))
    run.feed(ModelDone())
    return [event for result in results for event in run.feed(result)]


def shown(events):
    return "".join(event.text for event in events if isinstance(event, ShowText))


def test_a_call_of_which_nothing_was_shown_is_made_once_more_as_a_round_of_its_own():
    run = start()
    usage = Usage(total_tokens=3)
    run.feed(ModelDelta(tool_calls=(ToolCallFragment(call_id="c", name="add"),), usage=usage))
    assert run.may_retry
    assert run.feed(BROKEN) == (
        ModelCallEnded(round=1, text="", tool_calls=(), usage=usage, error=SENTENCE),
        RoundEnded(round=1, answer="", results=(), usage=usage, error=SENTENCE),
        RoundStarted(round=2),
        CallModel(round=2, messages=QUESTION, tools=("add", "sub"), wait_seconds=2),
    )
    assert not run.may_retry
    run.feed(ModelDelta(text="4", usage=usage))
    assert run.feed(ModelDone())[-1] == Finished(
        reason="answered", rounds=2, usage=usage + usage, answer="4", messages=run.messages
    )


def test_what_was_held_back_of_a_broken_answer_is_never_shown():
    run = start()
    assert shown(run.feed(ModelDelta(text="\n<thi"))) == "\n"
    assert shown(run.feed(BROKEN)) == ""
    assert shown(run.feed(ModelDelta(text="nk of it"))) == "nk of it"


def test_hidden_text_does_not_stand_in_the_way_of_another_try():
    run = start(emit_intermediate_thoughts=False)
    run.feed(ModelDelta(text="<think>well"))
    assert isinstance(run.feed(BROKEN)[-1], CallModel)


@pytest.mark.parametrize(
    "shown_before", [ModelDelta(text="So"), ModelDelta(text="<think>hm"), ModelDelta(files=("f",))]
)
def test_a_call_of_which_something_was_shown_ends_the_run_with_a_sentence(shown_before):
    run = start(maximum_iterations=1)
    run.feed(shown_before)
    events = run.feed(BROKEN)
    assert shown(events).endswith(SENTENCE)
    assert events[-1] == Finished(
        reason="error",
        rounds=1,
        usage=Usage(),
        answer="So" if shown_before.text == "So" else "",
        messages=run.messages,
        error=SENTENCE,
    )


OUT_OF_TIME = ModelFailure(message="the line broke", is_transient=True, has_time=False)
TIME_IS_UP = Failure(message=SENTENCE, reason="time_limit")


@pytest.mark.parametrize(
    ("settings", "deltas", "failure"),
    [
        ({"maximum_iterations": 1}, [], BROKEN),
        ({}, [], OUT_OF_TIME),
        ({}, [], TIME_IS_UP),
        ({}, [ModelDelta(text=" \n<thi")], OUT_OF_TIME),
        ({"emit_intermediate_thoughts": False}, [ModelDelta(text="<think>hm")], OUT_OF_TIME),
    ],
)
def test_a_call_that_fails_for_good_before_anything_is_there_ends_the_run_with_an_error(
    settings, deltas, failure
):
    run = start(**settings)
    for delta in deltas:
        run.feed(delta)
    events = run.feed(failure)
    assert not shown(events)
    assert (events[-1].is_answered, events[-1].error) == (False, SENTENCE)
    assert events[-1].reason in {"error", "time_limit"}


@pytest.mark.parametrize("end", [BROKEN, OUT_OF_TIME, TIME_IS_UP])
def test_where_asked_to_a_run_fails_with_its_model_whatever_is_there(end):
    run = start(maximum_iterations=3, fail_on_model_failure=True)
    use_tools(run, ToolResult(call_id="a", content="1"))
    run.feed(ModelDelta(text="So"))
    events = run.feed(end)
    assert shown(events) == ""
    assert (events[-1].is_answered, events[-1].answer) == (False, "So")


def test_where_asked_to_fail_with_its_model_a_run_still_tells_what_else_ends_it():
    run = start(fail_on_model_failure=True)
    run.feed(BROKEN)
    use_tools(run, ToolResult(call_id="a", content="1"))
    assert run.feed(Failure(message="It was ended.", reason="cancelled"))[-1].is_answered
    run = start(fail_on_model_failure=True)
    run.feed(ModelDelta(tool_calls=(ToolCallFragment(call_id="a", name="add"),)))
    run.feed(ModelDone())
    assert run.feed(TIME_IS_UP)[-1].is_answered


def test_tools_that_have_failed_are_no_answer_to_tell():
    run = start(emit_intermediate_thoughts=False)
    use_tools(run, ToolResult(call_id="a", error="no"))
    run.feed(BROKEN)
    assert not run.feed(BROKEN)[-1].is_answered


def test_what_the_run_has_answered_by_itself_is_no_answer_of_a_tool():
    search = OwnFunction(name="search", description="", parameters={}, answer=lambda _: "40 tools")
    run = start(own_functions=[search], emit_intermediate_thoughts=False)
    run.feed(ModelDelta(tool_calls=(ToolCallFragment(call_id="c", name="search"),)))
    run.feed(ModelDone())
    run.feed(BROKEN)

    events = run.feed(BROKEN)

    assert (shown(events), events[-1].is_answered) == ("", False)


def test_a_call_is_made_once_more_and_not_twice_but_so_is_a_later_one():
    run = start()
    run.feed(BROKEN)
    use_tools(run, ToolResult(call_id="a", content="1"))
    assert run.may_retry
    assert isinstance(run.feed(BROKEN)[-1], CallModel)
    events = run.feed(BROKEN)
    assert isinstance(events[-1], Finished)
    assert events[-1].rounds == 4


def test_another_try_of_the_last_round_is_the_closing_call():
    run = start(maximum_iterations=2)
    assert run.feed(BROKEN)[-1] == CallModel(
        round=2,
        messages=QUESTION,
        tools=("add", "sub"),
        tool_choice="none",
        is_closing=True,
        wait_seconds=2,
    )
    run = start()
    run.feed(TimeShort())
    assert run.feed(BROKEN)[-1].is_closing


def test_a_run_that_ends_early_tells_what_the_tools_have_answered():
    run = start()
    results = [
        ToolResult(call_id="a", content="first\n line <think>of"),
        ToolResult(call_id="b", error="no"),
        ToolResult(call_id="c", content="x" * 600),
    ]
    use_tools(run, *results)
    run.feed(BROKEN)
    assert shown(run.feed(BROKEN)) == (
        "\nThe model call of round 3 failed: the line broke\n"
        "What the tools answered so far:\n"
        "- tool_a: first line < think>of\n"
        f"- tool_c: {'x' * 500} [...]"
    )


def test_of_many_results_the_last_twenty_are_told():
    run = start()
    use_tools(run, *(ToolResult(call_id=f"c{n}", content=str(n)) for n in range(25)))
    run.feed(BROKEN)
    lines = shown(run.feed(BROKEN)).strip().splitlines()
    assert lines[2] == "- (5 earlier results)"
    assert lines[3:] == [f"- tool_c{n}: {n}" for n in range(5, 25)]


def test_what_is_refused_ends_the_run_with_an_error_to_tell():
    run = start()
    use_tools(run, ToolResult(call_id="a", content="1"))
    events = run.feed(ModelFailure(message="no such model", is_transient=False))
    assert shown(events) == ""
    assert events[-1] == Finished(
        reason="error",
        rounds=2,
        usage=Usage(),
        messages=run.messages,
        error="The model call of round 2 failed: no such model",
        is_answered=False,
    )


@pytest.mark.parametrize("reason", ["time_limit", "cancelled"])
def test_a_run_that_is_ended_from_outside_answers_with_what_is_known(reason):
    run = start()
    use_tools(run, ToolResult(call_id="a", content="1"))
    events = run.feed(Failure(message="It was ended.", reason=reason))
    assert shown(events) == "\nIt was ended.\nWhat the tools answered so far:\n- tool_a: 1"
    assert (events[-1].reason, events[-1].is_answered) == (reason, True)


@pytest.mark.parametrize(
    ("reason", "why"), [("time_limit", " in time"), ("cancelled", ""), ("size_limit", "")]
)
def test_tools_that_were_stopped_with_the_run_were_late_only_where_the_time_was_up(reason, why):
    run = start()
    run.feed(ModelDelta(tool_calls=(ToolCallFragment(call_id="a", name="add"),)))
    run.feed(ModelDone())
    events = run.feed(Failure(message="It was ended.", reason=reason))
    assert shown(events) == f"\nIt was ended.\nNot finished{why}, so missing here: add."


def test_a_run_can_be_cancelled_while_tools_run_and_before_it_starts():
    ended = Failure(message="It was ended.", reason="cancelled")
    run = start()
    run.feed(ModelDelta(tool_calls=(ToolCallFragment(call_id="a", name="add"),)))
    run.feed(ModelDone())
    assert run.feed(ended)[-1].reason == "cancelled"
    waiting = AgentRun(QUESTION, maximum_iterations=6)
    assert waiting.feed(ended) == (
        ShowText(text="It was ended."),
        Finished(
            reason="cancelled", rounds=0, usage=Usage(), messages=QUESTION, error="It was ended."
        ),
    )


SLOW = ToolResult(call_id="s", error="too slow", is_unfinished=True)


def test_tools_that_were_given_up_are_told_before_the_closing_answer():
    run = start()
    run.feed(TimeShort())
    events = use_tools(run, ToolResult(call_id="a", content="1"), SLOW)
    assert shown(events) == "\nNot finished in time, so missing here: tool_s."
    assert isinstance(events[-1], CallModel)
    assert run.may_retry  # It is no part of the answer.
    run.feed(BROKEN)
    assert shown(run.feed(ModelDelta(text="So far 1."))) == "\nSo far 1."


def test_tools_that_were_given_up_are_told_without_a_closing_call_too():
    run = start(maximum_iterations=1, emit_intermediate_thoughts=False)
    events = use_tools(run, SLOW, ToolResult(call_id="a", content="1"))
    assert shown(events) == "Not finished in time, so missing here: tool_s.\ntoo slow\n1"


def test_a_model_call_can_only_fail_while_one_is_open():
    run = AgentRun(QUESTION, maximum_iterations=6)
    with pytest.raises(LocalProtocolError):
        run.feed(BROKEN)
    assert not run.may_retry
    run.start()
    run.feed(ModelDelta(tool_calls=(ToolCallFragment(call_id="c", name="add"),)))
    run.feed(ModelDone())
    with pytest.raises(LocalProtocolError):
        run.feed(BROKEN)
    assert run.state == "tools"
