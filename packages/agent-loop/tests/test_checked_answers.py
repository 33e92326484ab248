"""Answers that the driver checks before any of them is shown."""

import pytest

from agent_loop import (
    AgentRun,
    AnswerChecked,
    CallModel,
    CheckAnswer,
    Failure,
    Finished,
    LocalProtocolError,
    Message,
    MessageError,
    ModelDelta,
    ModelDone,
    ModelFailure,
    ShowFile,
    ShowText,
    TimePassed,
    TimeShort,
    ToolCallFragment,
)
from agent_tooling import AnswerSchema


QUESTION = {"role": "user", "content": "Where?"}
SCHEMA = AnswerSchema.parse({"type": "object", "properties": {"city": {"type": "string"}}})
CALL = ToolCallFragment(call_id="c1", name="look_up", arguments="{}")


def start(**settings):
    run = AgentRun([QUESTION], **{"maximum_iterations": 3, "checks_answer": True} | settings)
    run.start()
    return run


def say(run, text, *, calls=()):
    delta = ModelDelta(text=text, tool_calls=calls, opaque_body={"of": text})
    return (*run.feed(delta), *run.feed(ModelDone()))


def shown(events):
    return "".join(event.text for event in events if isinstance(event, ShowText))


def test_nothing_is_shown_before_the_answer_is_checked():
    run = start()
    events = say(run, "<think>Hm.</think>In Köln.")
    assert shown(events) == ""
    assert events[-1] == CheckAnswer(round=1, answer="In Köln.")
    assert run.state == "check"

    *rest, finished = run.feed(AnswerChecked())
    assert shown(rest) == "<think>Hm.</think>In Köln."
    assert (finished.reason, finished.answer, finished.error) == ("answered", "In Köln.", None)
    assert finished.messages[-1].opaque_body == {"of": "<think>Hm.</think>In Köln."}


def test_another_answer_takes_its_place_for_the_reader_and_in_the_conversation():
    run = start()
    say(run, "Call 0221-4711.")
    *rest, finished = run.feed(AnswerChecked(answer="Call ***."))
    assert shown(rest) == finished.answer == "Call ***."
    assert finished.messages == (QUESTION, Message(role="assistant", content="Call ***."))


def test_a_refused_answer_is_shown_nowhere():
    run = start()
    say(run, "Call 0221-4711.")
    *rest, finished = run.feed(AnswerChecked(refusal="No numbers."))
    assert shown(rest) == ""
    assert (finished.reason, finished.error, finished.is_answered) == (
        "guardrail",
        "No numbers.",
        False,
    )
    assert "4711" not in repr(finished)


def test_of_an_answer_by_a_schema_its_value_is_checked():
    run = start(answer_schema=SCHEMA, has_answer_format=True)
    events = say(run, '```json\n{"city": "Köln"}\n```')
    assert events[-1] == CheckAnswer(round=1, answer='{"city": "Köln"}', value={"city": "Köln"})
    *rest, finished = run.feed(AnswerChecked())
    assert (shown(rest), finished.value) == ('{"city": "Köln"}', {"city": "Köln"})

    run = start(answer_schema=SCHEMA, has_answer_format=True)
    say(run, '{"city": "Köln"}')
    *rest, finished = run.feed(AnswerChecked(answer='{"city": "?"}', value={"city": "?"}))
    assert (shown(rest), finished.value) == ('{"city": "?"}', {"city": "?"})


def test_an_answer_that_does_not_fulfil_its_schema_is_repaired_before_it_is_checked():
    run = start(answer_schema=SCHEMA, has_answer_format=True)
    assert isinstance(say(run, "Köln")[-1], CallModel)
    assert isinstance(say(run, '{"city": "Köln"}')[-1], CheckAnswer)


def test_words_around_tool_calls_are_shown_as_ever():
    run = start()
    events = say(run, "I look it up.", calls=(CALL,))
    assert "I look it up." in shown(events)
    run = start(emit_intermediate_thoughts=False)
    assert "I look it up." not in shown(say(run, "I look it up.", calls=(CALL,)))


def test_with_one_call_no_results_are_shown_in_the_place_of_an_answer():
    run = start(maximum_iterations=1)
    *_, finished = say(run, "", calls=(CALL,))
    assert isinstance(finished, Finished)
    assert finished.reason == "maximum_iterations"


def test_where_there_is_no_answer_there_is_nothing_to_check():
    *_, finished = say(start(), " ")
    assert finished.reason == "empty_answer"


def test_a_run_that_fails_before_its_check_shows_nothing_of_the_answer():
    run = start()
    say(run, "Call 0221-4711.")
    run.feed(TimePassed(seconds=1))
    run.feed(TimeShort())
    with pytest.raises(LocalProtocolError):
        run.feed(ModelDone())
    *rest, finished = run.feed(Failure(message="Stopped.", reason="cancelled"))
    assert shown(rest) == ""
    assert finished.reason == "cancelled"
    assert "4711" not in repr((rest, finished))


def test_files_of_an_answer_are_held_back_as_its_text_is():
    def draw(run, **settings):
        delta = ModelDelta(text="Here.", files=("picture",), **settings)
        return [*run.feed(delta), *run.feed(ModelDone())]

    def files(events):
        return [event.file for event in events if isinstance(event, ShowFile)]

    run = start()
    assert files(draw(run)) == []
    assert files(run.feed(AnswerChecked(answer="Look."))) == ["picture"]
    run = start()
    draw(run)
    assert files(run.feed(AnswerChecked(refusal="No."))) == []
    assert files(draw(start(), tool_calls=(CALL,))) == ["picture"]
    run = start()
    run.feed(ModelDelta(files=("picture",)))
    run.feed(ModelFailure(message="It broke off.", is_transient=True))
    assert files([*say(run, "Done."), *run.feed(AnswerChecked())]) == []


def test_the_answer_of_a_closing_call_is_checked_whatever_else_it_asks_for():
    run = start(maximum_iterations=1)
    *_, asked = say(run, "Call 0221-4711.", calls=(CALL,))
    assert asked == CheckAnswer(round=1, answer="Call 0221-4711.")
    *rest, finished = run.feed(AnswerChecked(refusal="No numbers."))
    assert (finished.reason, "4711" in repr((rest, finished))) == ("guardrail", False)


def test_nothing_stays_of_an_answer_that_breaks_off_before_it_can_be_checked():
    run = start()
    run.feed(ModelDelta(text="Call 0221-4711", opaque_body={"of": "4711"}))
    again = run.feed(ModelFailure(message="It broke off.", is_transient=True))
    assert isinstance(again[-1], CallModel)
    run.feed(ModelDelta(text="Call 0221-4711"))
    ended = run.feed(ModelFailure(message="It broke off.", is_transient=False))
    assert isinstance(ended[-1], Finished)
    assert "4711" not in repr((again, ended))


def test_messages_are_rewritten_before_a_run_starts_and_never_after():
    run = AgentRun([QUESTION], maximum_iterations=2)
    run.rewrite([{"role": "user", "content": "Who?"}])
    with pytest.raises(MessageError):
        run.rewrite("Who?")
    *_, call = run.start()
    assert call.messages == ({"role": "user", "content": "Who?"},)
    with pytest.raises(LocalProtocolError):
        run.rewrite([QUESTION])


def test_a_check_ends_a_run_that_has_not_started():
    run = AgentRun([QUESTION], maximum_iterations=2, checks_answer=True)
    *_, finished = run.feed(Failure(message="Not this.", reason="guardrail"))
    assert (finished.reason, finished.error, finished.is_answered) == (
        "guardrail",
        "Not this.",
        False,
    )
