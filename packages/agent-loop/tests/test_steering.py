"""What is said to a run under way."""

import pytest

from agent_loop import (
    AgentRun,
    AnswerChecked,
    Budgets,
    CallModel,
    Decision,
    FallbackModel,
    Finished,
    LocalProtocolError,
    Message,
    MessageError,
    ModelDelta,
    ModelDone,
    ModelFailure,
    RoundStarted,
    RunSteered,
    ShowText,
    Steered,
    TimeShort,
    ToolCallFragment,
    ToolResult,
    Usage,
    Window,
)
from agent_tooling import AnswerSchema, ApprovalRules


QUESTION = {"role": "user", "content": "Where?"}
SCHEMA = AnswerSchema.parse({"type": "object", "properties": {"city": {"type": "string"}}})
KEY = b"a key of 16 bytes"


def begin(**settings):
    run = AgentRun([QUESTION], **{"maximum_iterations": 4} | settings)
    return run, run.start()


def say(run, text="", *calls, **more):
    made = tuple(ToolCallFragment(call_id=one, name="look", arguments="{}") for one in calls)
    return (*run.feed(ModelDelta(text=text, tool_calls=made, **more)), *run.feed(ModelDone()))


def asked(events):
    """Return what the request of these events says after the question."""
    [call] = [event for event in events if isinstance(event, CallModel)]
    return [message.content for message in call.messages[1:]]


def user(text):
    return Message(role="user", content=text)


def test_it_stands_before_the_next_round_behind_the_results_once():
    run, _ = begin()
    say(run, "I look.", "c1", "c2")
    run.steer("In Europe.")
    run.feed(ToolResult(call_id="c1", content="Paris"))
    run.steer({"role": "user", "content": [{"type": "text", "text": "Be brief."}]})
    events = run.feed(ToolResult(call_id="c2", content="Rome"))

    parts = ({"type": "text", "text": "Be brief."},)
    assert asked(events) == ["I look.", "Paris", "Rome", "In Europe.", parts]
    heard = RunSteered(round=2, messages=(user("In Europe."), user(parts)))
    assert [event for event in events if isinstance(event, RoundStarted | RunSteered)][1] == heard
    assert say(run, "Paris.")[-1].unread == ()


def test_before_the_run_begins_it_stands_behind_the_question():
    run = AgentRun([QUESTION], maximum_iterations=2)
    run.steer("In Europe.")
    assert asked(run.start()) == ["In Europe."]


@pytest.mark.parametrize("settings", [{}, {"answer_schema": SCHEMA}, {"checks_answer": True}])
def test_a_run_that_has_answered_meanwhile_goes_on_with_it(settings):
    run, _ = begin(**settings)
    run.steer("In Europe.")
    events = say(run, '{"city": "Lima"}')
    assert asked(events)[-2:] == ['{"city": "Lima"}', "In Europe."]
    # What is checked before it is shown is not shown: it is no answer yet.
    assert any(isinstance(event, ShowText) for event in events) == (not settings)

    last = say(run, '{"city": "Rome"}')
    last = run.feed(AnswerChecked())[-1] if "checks_answer" in settings else last[-1]
    assert (last.reason, last.answer, last.rounds) == ("answered", '{"city": "Rome"}', 2)


def test_an_answer_that_says_nothing_is_no_message():
    run, _ = begin()
    run.steer("Well?")
    assert asked(say(run)) == ["Well?"]


def test_an_answer_asked_for_once_more_is_repaired_once_more():
    run, _ = begin(answer_schema=SCHEMA, maximum_iterations=6)
    say(run, "Lima")
    run.steer("In Europe.")
    say(run, "Rome")
    say(run, "Rome")
    assert say(run, '{"city": "Rome"}')[-1].value == {"city": "Rome"}


@pytest.mark.parametrize(
    "settings",
    # Of a budget that cannot be kept any further nobody knows how much is left.
    [{"maximum_iterations": 1}, {"budgets": Budgets(max_total_tokens=1)}],
)
def test_where_no_round_is_left_it_is_told_that_it_was_not_read(settings):
    run, _ = begin(**settings)
    run.steer("In Europe.")
    last = say(run, "Lima.")[-1]
    assert (last.answer, last.unread) == ("Lima.", (user("In Europe."),))


def test_in_the_closing_call_it_is_told_that_it_was_not_read():
    run, _ = begin()
    say(run, "", "c1")
    run.feed(TimeShort())
    assert run.feed(ToolResult(call_id="c1", content="Paris"))[-1].is_closing
    run.steer("In Europe.")
    last = say(run, "Lima.")[-1]
    assert (last.reason, last.unread) == ("time_limit", (user("In Europe."),))


def test_while_the_answer_is_checked_it_comes_too_late():
    run, _ = begin(checks_answer=True)
    say(run, "Lima.")
    run.steer("In Europe.")
    last = run.feed(AnswerChecked())[-1]
    assert (last.answer, last.unread) == ("Lima.", (user("In Europe."),))


def test_it_counts_in_no_budget_but_that_of_tokens():
    run, _ = begin(budgets=Budgets(max_tool_calls=1, max_total_tokens=100))
    run.steer("In Europe.")
    say(run, "Lima.", usage=Usage(input_tokens=3, output_tokens=1, total_tokens=4))
    assert {use.name: use.used for use in run.budget_uses} == {
        "max_tool_calls": 0,
        "max_total_tokens": 4,
    }


@pytest.mark.parametrize("fallback", [None, FallbackModel(name="b")])
def test_the_call_that_is_made_again_has_it(fallback):
    run, _ = begin(model="a", fallback=fallback)
    run.steer("In Europe.")
    failure = ModelFailure(message="busy", is_transient=True, may_pass_elsewhere=True)
    assert asked(run.feed(failure)) == ["In Europe."]


def test_while_the_run_is_summed_up_it_waits_for_the_round_after():
    run, _ = begin(window=Window(tokens=10_000), tools=("look",), maximum_iterations=99)
    number = 0
    while run.state != "summary":
        number += 1
        say(run, "", f"c{number}")
        run.feed(ToolResult(call_id=f"c{number}", content="x" * 3_000))
    run.steer("In Europe.")
    assert "In Europe." not in asked(say(run, "All of it."))
    assert asked(say(run, "Lima."))[-1] == "In Europe."


def wait():
    rules = ApprovalRules.parse({"look": "always"})
    run, _ = begin(approval_rules=rules, tools=[{"name": "look"}])
    return run


def test_a_run_that_waits_for_a_person_or_has_ended_takes_nothing():
    run = wait()
    say(run, "", "c1")
    with pytest.raises(LocalProtocolError, match="waits for a person's decision") as refused:
        run.steer("yes")
    assert (refused.value.state, refused.value.received) == ("approval", "steer")

    run, _ = begin()
    say(run, "Lima.")
    with pytest.raises(LocalProtocolError, match="steer: the run has ended"):
        run.steer("In Europe.")


def test_what_was_said_before_a_run_had_to_wait_is_in_its_snapshot():
    run = wait()
    run.steer("In Europe.")
    say(run, "", "c1")
    other = AgentRun(
        (), maximum_iterations=4, tools=[{"name": "look"}], approval_rules=run.approval_rules
    )
    other.steer("Be brief.")
    other.resume(run.to_snapshot(key=KEY, expires_at=1e9), key=KEY, now=0)
    assert other.steered == 1

    events = other.feed(Decision(call_id="c1", is_approved=False))
    assert asked(events)[2:] == ["In Europe.", "Be brief."]
    assert other.steered == 2


def test_a_snapshot_says_nothing_of_it_where_nothing_was_said():
    run = wait()
    say(run, "", "c1")
    assert "steered" not in run.to_snapshot(key=KEY, expires_at=1e9)


def test_a_number_that_the_run_has_had_changes_nothing_and_the_order_is_that_of_numbers():
    run, _ = begin()
    second, first = (Steered(number=n, messages=(user(str(n)),)) for n in (2, 1))
    for one in (second, second, first):
        assert run.feed(one) == ()
    assert asked(say(run, "Lima."))[1:] == ["1", "2"]
    run.feed(first)
    assert say(run, "Rome.")[-1].unread == ()


def test_a_driver_may_take_it_to_feed_it_itself():
    run, _ = begin()
    assert run.read_steered() == ()
    run.steer("In Europe.")
    assert run.read_steered() == (user("In Europe."),)
    run.steer("Be brief.")
    last = say(run, "Lima.")[-1]
    assert isinstance(last, Finished)
    assert last.unread == (user("Be brief."),)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (3, "message"),
        (None, "message"),
        ([QUESTION], "message"),
        (" ", "message"),
        ({"content": "x"}, "message.role"),
        ({"role": "assistant", "content": "x"}, "message.role"),
        ({"role": "user"}, "message.content"),
        ({"role": "user", "content": []}, "message.content"),
        ({"role": "user", "content": ""}, "message.content"),
        ({"role": "user", "content": [{"type": "text", "text": " "}]}, "message.content"),
    ],
)
def test_what_is_no_message_of_a_user_is_refused_by_its_field(message, field):
    run, _ = begin()
    with pytest.raises(MessageError) as refused:
        run.steer(message)
    assert refused.value.field == field
    assert say(run, "Lima.")[-1].reason == "answered"
