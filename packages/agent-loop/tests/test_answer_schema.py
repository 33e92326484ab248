"""An answer that has to fulfil a JSON schema."""

import json

import pytest

from agent_loop import (
    AgentRun,
    Budgets,
    CallModel,
    Failure,
    Finished,
    Message,
    ModelDelta,
    ModelDone,
    ModelFailure,
    RunTools,
    ShowText,
    TimeShort,
    ToolCallEnded,
    ToolCallFragment,
    ToolResult,
    Usage,
)
from agent_tooling import AnswerSchema


QUESTION = (Message(role="user", content="?"),)
SCHEMA = AnswerSchema.parse({"type": "object", "required": ["n"]})
ADD = ToolCallFragment(call_id="c1", name="add")
REPAIR = (
    "Your answer does not fulfil the JSON schema that it has to: $: 'n' is a required property. "
    "Answer once more, with JSON that fulfils it and nothing around it."
)


def start(**settings):
    run = AgentRun(
        QUESTION,
        tools=("add",),
        answer_schema=SCHEMA,
        **{"maximum_iterations": 5, "has_answer_format": True} | settings,
    )
    return run, run.start()


def say(run, *texts, calls=(), phase=None):
    events = [e for text in texts for e in run.feed(ModelDelta(text=text, phase=phase))]
    assert not any(isinstance(event, ShowText) for event in events)
    run.feed(ModelDelta(tool_calls=tuple(calls)))
    return run.feed(ModelDone())


def shown(events):
    return "".join(event.text for event in events if isinstance(event, ShowText))


def test_an_answer_is_held_back_until_it_is_valid_and_leaves_as_text_and_value():
    run, (_, request) = start()
    assert (request.answer_schema, request.messages) == (SCHEMA.schema, QUESTION)
    events = say(run, "<think>4?</think>", ' {"n', '": 4} ')
    assert shown(events) == '{"n": 4}'
    assert (events[-1].reason, events[-1].value) == ("answered", {"n": 4})


def test_a_model_without_the_format_is_asked_in_words_after_the_question():
    _, (_, request) = start(has_answer_format=False)
    assert request.messages[:1] == QUESTION
    assert request.messages[1].role == "user"
    assert request.messages[1].content.endswith(f":\n{json.dumps(SCHEMA.schema)}")


def test_an_invalid_answer_is_asked_for_once_more_without_tools():
    run, _ = start()
    request = say(run, "{}")[-1]
    assert isinstance(request, CallModel)
    assert (request.is_closing, request.tool_choice, request.tools) == (True, "none", ("add",))
    # Some servers take a format and never read it, so that the model has not seen the schema yet.
    schema = f" The schema:\n{json.dumps(SCHEMA.schema)}"
    assert [m.content for m in request.messages[1:]] == ["{}", REPAIR + schema]
    events = say(run, '{"n": 4}')
    assert shown(events) == '{"n": 4}'
    assert (events[-1].reason, events[-1].rounds) == ("answered", 2)


def test_a_repair_in_words_does_not_tell_the_schema_twice():
    run, _ = start(has_answer_format=False)
    assert say(run, "{}")[-1].messages[-1].content == REPAIR


@pytest.mark.parametrize("repairs", [0, 1])
def test_an_answer_that_the_limit_cut_is_told_as_that_and_not_asked_for_again(repairs):
    run, _ = start()
    for _ in range(repairs):
        say(run, "{}")
    run.feed(ModelDelta(text='{"n": [1, 2', finish_reason="length"))
    ended = run.feed(ModelDone())[-1]

    assert (ended.reason, ended.is_answered, ended.value) == ("output_limit", False, None)
    assert ended.error.startswith(
        "The model reached its output limit before its answer could fulfil answer_schema: it is no JSON"
    )


def test_a_whole_answer_at_the_limit_is_an_answer():
    run, _ = start()
    run.feed(ModelDelta(text='{"n": 4}', finish_reason="length"))
    ended = run.feed(ModelDone())[-1]

    assert (ended.reason, ended.value) == ("output_limit", {"n": 4})


def test_after_one_repair_the_run_ends_with_an_error_and_nothing_shown():
    run, _ = start()
    say(run, "4")
    events = say(run, "four")
    assert shown(events) == ""
    assert (events[-1].reason, events[-1].is_answered, events[-1].value) == (
        "invalid_answer",
        False,
        None,
    )
    assert events[-1].error == (
        "The answer does not fulfil answer_schema, also after the model was asked once more: "
        "it is no JSON: Expecting value at line 1 column 1"
    )


def test_nothing_at_all_is_repaired_too():
    run, _ = start()
    assert isinstance(say(run)[-1], CallModel)
    assert say(run, '{"n": 1}')[-1].value == {"n": 1}


@pytest.mark.parametrize(
    ("maximum", "answers", "reasons"),
    [
        (1, 1, ["maximum_iterations"]),
        (2, 2, [None, "maximum_iterations"]),
        (3, 2, [None, "maximum_iterations"]),
        (4, 3, [None, None, "maximum_iterations"]),
    ],
)
def test_a_call_is_kept_for_the_repair(maximum, answers, reasons):
    run, events = start(maximum_iterations=maximum)
    for reason in reasons:
        request = events[-1]
        assert request.is_closing == (reason is not None)
        events = say(run, calls=[ADD])
        if not request.is_closing:
            events = run.feed(ToolResult(call_id="c1", content="4"))
    assert request.round == answers
    [ended] = [event for event in events if isinstance(event, ToolCallEnded)]
    assert ended.result.error.endswith("no tool may be called any more; this call was not run")
    is_over = maximum == answers
    assert isinstance(events[-1], Finished if is_over else CallModel)
    assert is_over or say(run, '{"n": 4}')[-1].reason == "maximum_iterations"


def test_a_closing_call_beyond_a_budget_is_not_repaired():
    run, _ = start(budgets=Budgets(max_total_tokens=5))
    run.feed(ModelDelta(usage=Usage(total_tokens=9), tool_calls=(ADD,)))
    assert run.feed(ModelDone())[-1].is_closing
    finished = say(run, "{}")[-1]
    assert (finished.reason, finished.budget) == ("invalid_answer", "max_total_tokens")
    assert "asked once more" not in finished.error


def test_an_answer_that_uses_the_budget_up_is_repaired_once():
    run, _ = start(budgets=Budgets(max_total_tokens=5))
    run.feed(ModelDelta(usage=Usage(total_tokens=9)))
    assert say(run, "{}")[-1].is_closing
    assert say(run, '{"n": 4}')[-1].reason == "budget"


@pytest.mark.parametrize("shows", [True, False])
def test_words_around_tool_calls_are_shown_where_thoughts_are(shows):
    run, _ = start(emit_intermediate_thoughts=shows)
    events = say(run, "Let me see.", calls=[ADD])
    assert shown(events) == ("Let me see." if shows else "")
    assert isinstance(events[-1], RunTools)
    run.feed(ToolResult(call_id="c1", content="4"))
    assert shown(say(run, '{"n": 4}')) == ("\n" if shows else "") + '{"n": 4}'


def test_commentary_is_no_part_of_the_answer_unless_it_is_all():
    run, _ = start()
    run.feed(ModelDelta(text="Here: ", phase="commentary"))
    assert say(run, '{"n": 4}')[-1].value == {"n": 4}
    run, _ = start()
    assert say(run, '{"n": 4}', phase="commentary")[-1].value == {"n": 4}


def test_valid_json_beside_calls_that_may_not_be_made_is_an_answer():
    run, _ = start()
    say(run, "{}")
    finished = say(run, '{"n": 4}', calls=[ADD])[-1]
    assert (finished.reason, finished.value) == ("answered", {"n": 4})


def test_a_call_that_breaks_is_made_again_and_nothing_of_it_is_left():
    run, _ = start()
    run.feed(ModelDelta(text='{"n": 1'))
    assert run.may_retry
    run.feed(ModelFailure(message="the line broke", is_transient=True))
    assert shown(events := say(run, '{"n": 4}')) == '{"n": 4}'
    assert events[-1].value == {"n": 4}


def test_a_repair_that_breaks_is_made_again_as_one():
    run, _ = start()
    say(run, "{}")
    request = run.feed(ModelFailure(message="the line broke", is_transient=True))[-1]
    assert request.is_closing
    assert say(run, "{}")[-1].reason == "invalid_answer"


@pytest.mark.parametrize("reason", ["time_limit", "cancelled", "size_limit", "error"])
def test_a_run_that_ends_without_an_answer_is_not_answered(reason):
    run, _ = start()
    run.feed(ModelDelta(text='{"n": 4'))
    events = run.feed(Failure(message="It is over.", reason=reason))
    assert shown(events) == ""
    assert (events[-1].is_answered, events[-1].error) == (False, "It is over.")


def test_time_that_is_short_is_told_with_the_answer():
    run, _ = start()
    run.feed(TimeShort())
    say(run, calls=[ADD])
    run.feed(ToolResult(call_id="c1", content="4"))
    assert say(run, '{"n": 4}')[-1].reason == "time_limit"


def test_what_nobody_may_read_is_in_no_error():
    run, _ = start(redact=lambda text: text.replace("required", "***"))
    assert "***" in say(run, "{}")[-1].messages[-1].content
    assert "***" in say(run, "{}")[-1].error


def test_an_answer_is_not_asked_for_once_more_where_a_budget_cannot_be_kept():
    run, _ = start(budgets=Budgets(max_cost=1))
    run.feed(ModelDelta(usage=Usage(total_tokens=10)))

    events = say(run, "no JSON")

    assert [event for event in events if isinstance(event, CallModel)] == []
    finished = events[-1]
    assert finished.error == "max_cost cannot be kept: the model does not tell its prices"
    assert (finished.reason, finished.is_answered, finished.rounds) == ("error", False, 1)
