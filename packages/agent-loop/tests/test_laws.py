"""The laws of a run, for any model and any tools."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    RoundEnded,
    RoundStarted,
    RunTools,
    ShowText,
    ThinkFilter,
    TimeShort,
    ToolCallEnded,
    ToolCallFragment,
    ToolCallStarted,
    ToolResult,
    Usage,
)


pytestmark = pytest.mark.untraced


QUESTION = (Message(role="user", content="?"),)

texts = st.lists(
    st.sampled_from(["<think>", "</think>", "<thi", "nk>", "word", " ", "\n", "<"]), max_size=6
).map("".join)
calls = st.sampled_from(
    [
        ToolCallFragment(call_id=id_, name=name, arguments=arguments)
        for id_ in ["c1", "c2", "c3", ""]
        for name in ["add", "sub", "<think>", ""]
        for arguments in ["", "{}", '{"a": [1, 2]}', '{"a"', "[1]"]
    ]
)
deltas = st.builds(
    ModelDelta,
    text=texts,
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    opaque_body=st.sampled_from([None, {"responses_output": [1]}, {"responses_output": [2]}]),
    finish_reason=st.sampled_from([None, "stop", "length"]),
    phase=st.sampled_from([None, "commentary", "final_answer"]),
)
answers = st.lists(deltas, max_size=4)
settings = st.fixed_dictionaries(
    {
        "maximum_iterations": st.integers(1, 4),
        "emit_intermediate_thoughts": st.booleans(),
        "tool_choice": st.sampled_from([None, "auto", "none", "required", "add"]),
        "has_tool_choice": st.booleans(),
    }
)
scripts = st.lists(answers, min_size=4, max_size=4)
failures = st.builds(
    ModelFailure,
    message=st.just("the line broke"),
    is_transient=st.booleans(),
    wait_seconds=st.sampled_from([0, 2]),
    has_time=st.booleans(),
)
breaks = st.lists(st.none() | st.tuples(st.integers(0, 4), failures), min_size=4, max_size=4)


def split_call(fragment, cut):
    if not fragment.call_id:
        return [fragment]
    head = ToolCallFragment(
        call_id=fragment.call_id,
        name=fragment.name,
        arguments=fragment.arguments[:cut],
        index=fragment.index,
    )
    return [head, ToolCallFragment(call_id=fragment.call_id, arguments=fragment.arguments[cut:])]


def split_delta(delta, cut):
    """Cut a delta into as many pieces as a stream may deliver it in."""
    pieces = [
        ModelDelta(text=text, phase=delta.phase) for text in (delta.text[:cut], delta.text[cut:])
    ]
    pieces += [
        ModelDelta(tool_calls=(piece,))
        for fragment in delta.tool_calls
        for piece in split_call(fragment, cut)
    ]
    return [*pieces, ModelDelta(opaque_body=delta.opaque_body, finish_reason=delta.finish_reason)]


class Driver:
    """A driver that answers a run by a script and notes all that the run asks for."""

    def __init__(self, run, script):
        self.run = run
        self.script = script
        self.events = []

    def drive(self):
        pending = list(self.run.start())
        while pending:
            event = pending.pop(0)
            self.events.append(event)
            pending += self.act(event)
        return self

    def act(self, event):
        match event:
            case CallModel():
                inputs = [*self.script[event.round - 1], ModelDone()]
            case RunTools():
                inputs = [
                    ToolResult(
                        call_id=call.call_id,
                        content=f"{call.name}</think> of <think>{call.call_id}",
                    )
                    for call in reversed(event.calls)
                ]
            case _:
                inputs = []
        for received in inputs:
            yield from self.feed(received)

    def feed(self, received):
        return self.run.feed(received)

    def only(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def shown(self):
        return "".join(event.text for event in self.only(ShowText))


class RudeDriver(Driver):
    """A driver that tries everything that is wrong before everything that is right."""

    def feed(self, received):
        wrong = {
            "model": [ToolResult(call_id="c1", content="")],
            "tools": [ModelDelta(text="x"), ModelDone(), ToolResult(call_id="?", content="")],
        }
        for bad in wrong[self.run.state]:
            with pytest.raises(LocalProtocolError):
                self.run.feed(bad)
        with pytest.raises(LocalProtocolError):
            self.run.start()
        return super().feed(received)


class FailingDriver(Driver):
    """A driver that feeds a failure instead of the input number `point`, and nothing after it."""

    point = 0

    def feed(self, received):
        if self.run.state == "finished":
            return ()
        self.point -= 1
        return super().feed(received if self.point >= 0 else Failure(message="It broke."))


class BreakingDriver(Driver):
    """A driver whose model calls fail where `breaks` says so, after that many deltas; each uses one token."""

    breaks = ()

    def act(self, event):
        if not isinstance(event, CallModel):
            yield from super().act(event)
            return
        broken = self.breaks[event.round - 1]
        said = self.script[event.round - 1]
        yield from self.feed(ModelDelta(usage=Usage(total_tokens=1)))
        for delta in said if broken is None else said[: broken[0]]:
            yield from self.feed(delta)
        may_retry = self.run.may_retry
        events = self.feed(broken[1] if broken else ModelDone())
        if broken:
            is_retried = may_retry and broken[1].is_transient and broken[1].has_time
            assert isinstance(events[-1], CallModel if is_retried else Finished)
        yield from events


def drive(setting, script, driver=Driver):
    return driver(AgentRun(QUESTION, tools=("add", "sub"), **setting), script).drive()


@given(settings, scripts, st.integers(0, 8))
def test_any_split_of_the_deltas_gives_the_same_text_and_the_same_requests(setting, script, cut):
    whole = drive(setting, script)
    pieces = drive(
        setting,
        [[piece for delta in answer for piece in split_delta(delta, cut)] for answer in script],
    )
    if setting["emit_intermediate_thoughts"]:  # Otherwise text in one piece with calls is hidden.
        assert pieces.shown == whole.shown
    assert pieces.only(CallModel) == whole.only(CallModel)
    assert pieces.only(Finished) == whole.only(Finished)


@given(settings, scripts)
def test_there_are_never_more_model_calls_than_allowed(setting, script):
    driven = drive(setting, script)
    assert 1 <= len(driven.only(CallModel)) <= setting["maximum_iterations"]
    assert [event.rounds for event in driven.only(Finished)] == [len(driven.only(CallModel))]


@given(settings, scripts)
def test_every_run_ends_with_something_shown_or_an_error_to_tell(setting, script):
    driven = drive(setting, script)
    [finished] = driven.only(Finished)
    assert driven.run.state == "finished"
    assert driven.shown.strip() if finished.is_answered else finished.error


@given(settings, scripts)
def test_every_call_gets_exactly_one_result(setting, script):
    driven = drive(setting, script)
    started = Counter(event.call.call_id for event in driven.only(ToolCallStarted))
    assert Counter(event.call.call_id for event in driven.only(ToolCallEnded)) == started
    asked = Counter(call.call_id for event in driven.only(RunTools) for call in event.calls)
    answered = Counter(
        event.call.call_id for event in driven.only(ToolCallEnded) if event.result.error is None
    )
    assert answered == asked
    for request in driven.only(CallModel):
        wanted = [call.call_id for message in request.messages for call in message.tool_calls]
        given_ = [m.tool_call_id for m in request.messages if m.role == "tool"]
        assert given_ == wanted


def assert_balanced(setting, shown):
    """Assert that each thought is closed before anything else is shown; tags in a text are none."""
    if setting["emit_intermediate_thoughts"]:
        filter_ = ThinkFilter(show=True)
        assert filter_.feed(shown) + filter_.close() == shown


@given(settings, scripts)
def test_shown_thoughts_are_always_balanced(setting, script):
    assert_balanced(setting, drive(setting, script).shown)


@given(settings, scripts)
def test_each_request_begins_with_the_one_before(setting, script):
    requests = drive(setting, script).only(CallModel)
    assert requests[0].messages == QUESTION
    for before, after in pairwise(requests):
        assert after.messages[: len(before.messages)] == before.messages
        assert after.tools in (before.tools, ())


@given(settings, scripts)
def test_what_the_model_said_goes_back_word_for_word(setting, script):
    said = ["".join(delta.text for delta in answer) for answer in script]
    for request in drive(setting, script).only(CallModel):
        back = [message.content for message in request.messages if message.role == "assistant"]
        assert back == said[: request.round - 1]


@given(settings, scripts, st.integers(0, 25))
def test_the_messages_of_a_run_are_its_last_request_and_what_followed(setting, script, point):
    driver = FailingDriver(AgentRun(QUESTION, tools=("add", "sub"), **setting), script)
    driver.point = point
    [finished] = driver.drive().only(Finished)
    [*_, last] = driver.only(CallModel)
    assert finished.messages == driver.run.messages
    assert finished.messages[: len(last.messages)] == last.messages
    wanted = [call.call_id for message in finished.messages for call in message.tool_calls]
    assert [m.tool_call_id for m in finished.messages if m.role == "tool"] == wanted
    ended = Counter(event.call.call_id for event in driver.only(ToolCallEnded))
    assert Counter(wanted) == ended


@given(settings, scripts)
def test_what_is_not_allowed_changes_nothing(setting, script):
    assert drive(setting, script, RudeDriver).events == drive(setting, script).events


@given(settings, scripts, st.integers(0, 25))
def test_what_starts_ends_once_wherever_a_failure_comes(setting, script, point):
    driver = FailingDriver(AgentRun(QUESTION, tools=("add", "sub"), **setting), script)
    driver.point = point
    driven = driver.drive()
    rounds = [event.round for event in driven.only(RoundStarted)]
    assert [event.round for event in driven.only(RoundEnded)] == rounds
    assert [event.round for event in driven.only(ModelCallEnded)] == rounds
    started = Counter(event.call.call_id for event in driven.only(ToolCallStarted))
    assert Counter(event.call.call_id for event in driven.only(ToolCallEnded)) == started
    assert driven.only(Finished) == [driven.events[-1]]


@given(settings, answers, st.booleans())
def test_a_failure_at_any_point_leaves_balanced_text_and_an_end(setting, answer, is_short):
    run = AgentRun(QUESTION, **setting)
    events = [*run.start()]
    if is_short:
        run.feed(TimeShort())
    for delta in answer:
        events += run.feed(delta)
    events += run.feed(Failure(message="It broke."))
    shown = "".join(event.text for event in events if isinstance(event, ShowText))
    assert_balanced(setting, shown)
    assert events[-1].error == "It broke."


@given(settings, scripts, breaks)
def test_model_calls_that_fail_keep_every_law_of_a_run(setting, script, broken):
    driver = BreakingDriver(AgentRun(QUESTION, tools=("add", "sub"), **setting), script)
    driver.breaks = broken
    driven = driver.drive()
    [finished] = driven.only(Finished)
    requests = driven.only(CallModel)
    rounds = list(range(1, len(requests) + 1))
    assert driven.events[-1] == finished
    assert finished.rounds == len(requests) <= setting["maximum_iterations"]
    assert finished.usage == Usage(total_tokens=len(requests))
    for kind in (RoundStarted, ModelCallEnded, RoundEnded):
        assert [event.round for event in driven.only(kind)] == rounds
    started = Counter(event.call.call_id for event in driven.only(ToolCallStarted))
    assert Counter(event.call.call_id for event in driven.only(ToolCallEnded)) == started
    errors = [event.error for event in driven.only(ModelCallEnded)]
    assert all(not (first and second) for first, second in pairwise(errors[:-1]))
    for before, after in pairwise(requests):
        assert after.messages[: len(before.messages)] == before.messages
        assert (after.messages == before.messages) == bool(errors[before.round - 1])
    assert driven.shown.strip() or not finished.is_answered
    assert_balanced(setting, driven.shown)
