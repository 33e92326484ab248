"""Runs that outgrow what a model reads."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_loop import (
    AgentRun,
    Budgets,
    CallModel,
    CompactedWindow,
    Failure,
    FallbackModel,
    Finished,
    InvalidSettingError,
    LocalProtocolError,
    Message,
    ModelCallEnded,
    ModelDelta,
    ModelDone,
    ModelFailure,
    RoundEnded,
    RoundStarted,
    RunCompacted,
    RunTools,
    ShowText,
    TimeShort,
    ToolCallFragment,
    ToolResult,
    Usage,
    Window,
)
from agent_tooling import AnswerSchema


SYSTEM = Message(role="system", content="Find the number.")
HISTORY = (Message(role="user", content="Hello."), Message(role="assistant", content="Hi."))
TASK = {"role": "user", "content": "Which number is it?"}
RESULT = "x" * 3_000  # 1,000 tokens by the estimate
WINDOW = Window(tokens=10_000)
BROKEN = ModelFailure(message="the line broke", is_transient=True)


def call(number, name="look"):
    fragment = ToolCallFragment(call_id=f"c{number}", name=name, arguments="{}")
    return ModelDelta(tool_calls=(fragment,), opaque_body={"reasoning": number})


class Played:
    """A run, played by what a round says, what its tool answers and what a summary says."""

    def __init__(self, rounds=30, summary="It is 7.", result=RESULT, usage=None, **settings):
        self.rounds = rounds
        self.summary = summary
        self.result = result
        self.usage = usage
        self.pinned = ()
        given = {"maximum_iterations": 1_000, "tools": ("look",), "window": WINDOW} | settings
        self.run = AgentRun(given.pop("messages", [SYSTEM, *HISTORY, TASK]), **given)
        self.events = []

    def play(self):
        pending = list(self.run.start())
        while pending:
            event = pending.pop(0)
            self.events.append(event)
            for received in self.act(event):
                pending += self.run.feed(received)
        return self

    def act(self, event):
        match event:
            case CallModel(is_compaction=True):
                said = self.summary(event) if callable(self.summary) else self.summary
                return [ModelDelta(text=said), ModelDone()] if isinstance(said, str) else said
            case CallModel(is_closing=True):
                return [ModelDelta(text="7"), ModelDone()]
            case CallModel():
                usage = self.usage(event) if self.usage else None
                said = call(event.round) if event.round <= self.rounds else ModelDelta(text="7")
                return [said, ModelDelta(usage=usage), ModelDone()]
            case RunTools(calls=calls):
                return [
                    ToolResult(
                        call_id=call.call_id,
                        content=self.result,
                        is_pinned=call.call_id in self.pinned,
                    )
                    for call in calls
                ]
        return []

    def only(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def requests(self):
        return [event for event in self.only(CallModel) if not event.is_compaction]

    @property
    def asked(self):
        return [event for event in self.only(CallModel) if event.is_compaction]

    @property
    def shown(self):
        return "".join(event.text for event in self.only(ShowText))


def text_of(request):
    return "\n".join(str(message.content) for message in request.messages if message is not TASK)


def tokens_of(request):
    """Return the estimate, counted anew: a token for three bytes."""
    return sum(
        len(str(message.content)) / 3 + 16 for message in request.messages if message != TASK
    )


def validate_pairs(request):
    """Fail where a call has no result before the next answer, or a result no call."""
    open_ids = []
    for message in request.messages:
        if not isinstance(message, Message):
            continue
        if message.role == "tool":
            assert message.tool_call_id == open_ids.pop(0)
        else:
            assert open_ids == []
            open_ids = [call.call_id for call in message.tool_calls]
    assert open_ids == []


def test_a_run_that_fills_the_window_goes_on_from_a_summary():
    played = Played().play()
    compacted = played.only(RunCompacted)
    assert len(compacted) > 2
    assert {event.kind for event in compacted} == {"summary"}
    assert all(event.tokens_after < event.tokens_before for event in compacted)
    for request in [*played.requests, *played.asked]:
        validate_pairs(request)
        assert tokens_of(request) <= WINDOW.tokens
        assert request.messages[0] == SYSTEM
        assert TASK in request.messages
    last = played.requests[-1]
    assert "It is 7." in last.messages[2].content
    assert last.messages[-1].content == RESULT
    [finished] = played.only(Finished)
    assert (finished.reason, finished.rounds) == ("answered", 31)


def test_the_prefix_breaks_once_and_the_request_behind_that_says_so():
    played = Played().play()
    rewritten = [request for request in played.only(CallModel) if request.is_rewritten]
    assert len(rewritten) == len(played.only(RunCompacted))
    before = None
    for request in played.only(CallModel):
        if before and not request.is_rewritten:
            assert request.messages[: len(before.messages)] == before.messages
        assert request.tools == ("look",)
        before = request


def test_a_summary_is_asked_for_with_the_same_tools_none_of_which_may_be_called():
    played = Played(
        answer_schema=AnswerSchema.parse({"type": "integer"}), maximum_iterations=12
    ).play()
    [asked] = played.asked
    assert (asked.tools, asked.tool_choice, asked.answer_schema) == (("look",), "none", None)
    assert "will be replaced by what you write now" in asked.messages[-1].content
    assert "JSON" in played.requests[-1].messages[2].content  # what is asked for stays
    [asked, *_] = Played(has_tool_choice=False).play().asked
    assert (asked.tools, asked.tool_choice) == ((), None)


def test_nothing_of_a_summary_is_shown_and_its_thoughts_are_left_out():
    played = Played(summary="<think>hm</think>It is 7.").play()
    assert "It is 7." not in played.shown
    assert "hm" not in text_of(played.requests[-1])


def test_a_fact_of_round_3_stands_in_the_request_of_round_300_within_the_window():
    def summarise(request):
        facts = re.findall(r"FACT \d+", text_of(request))
        return " ".join(dict.fromkeys(facts)) or "nothing"

    class Long(Played):
        def act(self, event):
            if isinstance(event, RunTools):
                [asked] = event.calls
                fact = "FACT 42 " if asked.call_id == "c3" else ""
                self.result = fact + "word " * 4_000
            return super().act(event)

    window = Window(tokens=272_000)
    played = Long(rounds=300, summary=summarise, window=window).play()
    assert played.only(Finished)[0].rounds == 301
    assert "FACT 42" in text_of(played.requests[299])
    assert all(tokens_of(request) <= window.tokens for request in played.only(CallModel))
    assert 5 < len(played.asked) < 15


def test_pinned_results_stay_word_for_word_with_their_calls_and_without_reasoning():
    played = Played(result="pin me")
    played.pinned = {"c2", "c5"}
    played.result = RESULT
    played.play()
    messages = played.requests[-1].messages
    pinned = [m for m in messages if getattr(m, "tool_call_id", None) in played.pinned]
    assert [message.content for message in pinned] == [RESULT, RESULT]
    asking = messages[messages.index(pinned[0]) - 1]
    assert [call.call_id for call in asking.tool_calls] == ["c2"]
    assert asking.opaque_body is None
    for request in played.requests:
        validate_pairs(request)


def test_of_a_round_with_several_calls_only_the_pinned_ones_stay():
    class Several(Played):
        def act(self, event):
            if isinstance(event, CallModel) and event.round == 1:
                calls = [ToolCallFragment(call_id=f"p{n}", name="look") for n in range(3)]
                return [ModelDelta(tool_calls=tuple(calls)), ModelDone()]
            return super().act(event)

    played = Several()
    played.pinned = {"p0", "p2"}
    last = played.play().requests[-1]
    validate_pairs(last)
    assert [m.tool_call_id for m in last.messages if getattr(m, "tool_call_id", None)][:2] == [
        "p0",
        "p2",
    ]


def test_how_much_reasoning_is_dropped_is_told():
    first = Played().play().only(RunCompacted)[0]
    assert first.reasoning_dropped >= 4
    assert first.replaced == len(HISTORY) + 2 * first.reasoning_dropped


def test_what_the_model_tells_of_its_requests_counts_and_not_the_estimate():
    def usage(request):
        return Usage(input_tokens=len(request.messages) * 10, output_tokens=5)

    assert Played(usage=usage, rounds=12, result="x" * 2_000).play().only(RunCompacted) == []
    played = Played(
        usage=lambda _: Usage(input_tokens=7_900, output_tokens=200), rounds=2, result="-"
    )
    assert len(played.play().only(RunCompacted)) == 2


FAILED = {
    "empty": (" ", "the model wrote no summary"),
    "too long": ("y" * 4_000, "the summary was too long"),
    "cut": (
        [ModelDelta(text="It", finish_reason="length"), ModelDone()],
        "the summary was cut at the model's output limit",
    ),
    "refused": ([ModelFailure(message="refused", is_transient=False)], "refused"),
    "broken twice": ([BROKEN], "the line broke"),
}


@pytest.mark.parametrize("way", FAILED)
def test_without_a_summary_the_oldest_rounds_go_with_a_sentence_and_the_run_ends_well(way):
    said, error = FAILED[way]
    played = Played(summary=said).play()
    first, second, *_ = played.only(RunCompacted)
    assert (first.kind, first.error, second.kind) == ("dropped", error, "dropped")
    told = [m.content for m in played.requests[-1].messages if "earlier messages" in str(m)]
    assert len(told) == 1
    assert told[0].count("missing") == len(played.only(RunCompacted))
    assert played.only(Finished)[0].reason == "answered"
    assert all(tokens_of(request) <= WINDOW.tokens for request in played.requests)


def test_a_summary_stays_where_the_next_fails():
    answers = iter(["It is 7.", " ", " "])
    played = Played(summary=lambda _: next(answers, " ")).play()
    assert [event.kind for event in played.only(RunCompacted)][:2] == ["summary", "dropped"]
    assert "It is 7." in text_of(played.requests[-1])


def test_a_call_for_a_summary_that_was_broken_off_is_made_once_more():
    answers = iter([[ModelFailure(message="busy", is_transient=True, wait_seconds=3)]])
    played = Played(summary=lambda _: next(answers, "It is 7.")).play()
    assert played.asked[1].wait_seconds == 3
    assert played.only(RunCompacted)[0].kind == "summary"


def test_another_model_takes_over_where_that_is_what_helps():
    fallback = FallbackModel(name="other", window=Window(tokens=20_000))
    answers = iter([[ModelFailure(message="full", is_transient=False, may_pass_elsewhere=True)]])
    played = Played(
        summary=lambda _: next(answers, "It is 7."), model="one", fallback=fallback
    ).play()
    assert [request.model for request in played.asked[:2]] == ["one", "other"]
    assert played.only(RunCompacted)[0].kind == "summary"
    assert played.run.window.tokens == 20_000


def test_the_smaller_window_of_a_model_that_takes_over_counts():
    class Failing(Played):
        def act(self, event):
            if isinstance(event, CallModel) and event.round == 6 and event.model == "one":
                return [ModelFailure(message="full", is_transient=False, may_pass_elsewhere=True)]
            return super().act(event)

    fallback = FallbackModel(name="other", window=Window(tokens=5_000))
    played = Failing(rounds=8, model="one", fallback=fallback).play()
    assert played.asked[0].model == "other"
    assert all(tokens_of(r) <= 5_000 for r in played.only(CallModel) if r.model == "other")


def test_a_summary_counts_among_the_budgets_and_takes_no_round():
    summary = [ModelDelta(text="It is 7.", usage=Usage(total_tokens=500)), ModelDone()]
    played = Played(
        summary=lambda _: summary,
        usage=lambda _: Usage(total_tokens=10),
        budgets=Budgets(max_total_tokens=1_000),
    ).play()
    [finished] = played.only(Finished)
    assert finished.reason == "budget"
    assert finished.usage.total_tokens == 1_000 + 10 * (finished.rounds - 1)
    assert [event.usage.total_tokens for event in played.only(RunCompacted)] == [500, 500]
    rounds = [event.round for event in played.only(RoundStarted)]
    assert rounds == list(range(1, finished.rounds + 1))
    assert [event.round for event in played.only(ModelCallEnded)] == rounds
    assert [event.round for event in played.only(RoundEnded)] == rounds


@pytest.mark.parametrize("ending", ["time", "budget"])
def test_a_closing_call_is_not_held_up_by_a_summary(ending):
    budgets = Budgets(max_tool_calls=7) if ending == "budget" else None

    class Short(Played):
        def act(self, event):
            if isinstance(event, RunTools) and event.calls[0].call_id == "c7":
                return [*([TimeShort()] if ending == "time" else []), *super().act(event)]
            return super().act(event)

    played = Short(
        budgets=budgets,
        result="x" * 3_600,
    ).play()
    assert played.asked == []
    [compacted] = played.only(RunCompacted)
    assert compacted.error == "there was no room, time or budget for a summary"
    assert played.only(Finished)[0].answer == "7"


def test_what_comes_to_an_end_during_a_summary_ends_in_good_order():
    failure = Failure(message="Nobody wants it.", reason="cancelled")
    played = Played(summary=lambda _: [ModelDelta(usage=Usage(total_tokens=9)), failure]).play()
    [finished] = played.only(Finished)
    assert (finished.reason, finished.usage.total_tokens) == ("cancelled", 9)
    rounds = [event.round for event in played.only(RoundStarted)]
    assert [event.round for event in played.only(ModelCallEnded)] == rounds
    assert [event.round for event in played.only(RoundEnded)] == rounds
    assert finished.messages == played.run.messages


def test_what_the_models_api_has_made_shorter_is_taken_as_it_is():
    compacted = Message(role="assistant", opaque_body={"responses_output": ["short"]})
    window = CompactedWindow(messages=(TASK, compacted), usage=Usage(total_tokens=3))
    played = Played(summary=lambda _: [window]).play()
    last = played.requests[-1]
    assert last.messages[:3] == (SYSTEM, TASK, compacted)
    assert {event.kind for event in played.only(RunCompacted)} == {"api"}
    assert played.only(Finished)[0].usage.total_tokens == 3 * len(played.only(RunCompacted))
    run = AgentRun([TASK], maximum_iterations=2)
    run.start()
    with pytest.raises(LocalProtocolError):
        run.feed(window)


def test_a_request_that_the_model_refuses_for_its_length_is_made_once_more_and_shorter():
    refused = ModelFailure(
        message="Your input exceeds the context window of this model.", is_transient=False
    )

    class Strict(Played):
        def act(self, event):
            is_long = isinstance(event, CallModel) and tokens_of(event) > 4_000
            return [refused] if is_long else super().act(event)

    played = Strict(rounds=6, window=Window(tokens=272_000)).play()
    assert played.only(Finished)[0].reason == "answered"
    assert played.only(RunCompacted)
    assert Strict(rounds=6, window=None).play().only(Finished)[0].reason == "error"


def test_a_history_that_fills_the_window_is_made_shorter_before_the_first_call():
    history = [*HISTORY * 60, *(Message(role="user", content=RESULT), HISTORY[1]) * 7]
    played = Played(rounds=1, messages=[SYSTEM, *history, TASK]).play()
    assert played.only(RunCompacted)[0].kind == "summary"
    assert played.requests[0].messages[0] == SYSTEM
    assert TASK in played.requests[0].messages
    assert len(played.requests[0].messages) == 3


def test_more_than_a_model_could_read_for_a_summary_is_left_out_without_one():
    history = (Message(role="user", content=RESULT), HISTORY[1]) * 30
    played = Played(rounds=1, messages=[SYSTEM, *history, TASK]).play()
    assert played.asked == []
    assert played.only(RunCompacted)[0].kind == "dropped"


def test_what_cannot_be_made_shorter_is_sent_as_it_is():
    played = Played(rounds=0, messages=[SYSTEM, {"role": "user", "content": RESULT * 9}]).play()
    assert played.only(RunCompacted) == []
    assert played.only(Finished)[0].reason == "answered"


def test_images_and_other_shapes_of_messages_count_too():
    image = {"type": "image", "base64_data": "A" * 100_000}
    odd = {"role": "assistant", "content": 5, "tool_calls": [{"function": {"arguments": "{}"}}]}
    parts = ("a text", {"type": "text", "text": "words"}, {"type": "text", "text": None}, image)
    history = [odd, Message(role="user", content=parts), *HISTORY, *HISTORY]
    few = Played(rounds=1, messages=[SYSTEM, *history, TASK]).play()
    assert few.only(RunCompacted) == []
    history = [Message(role="user", content=parts), *HISTORY] * 6
    assert Played(rounds=1, messages=[SYSTEM, *history, TASK]).play().only(RunCompacted)


def test_the_bound_on_bytes_holds_after_that_as_before():
    image = {"type": "image", "base64_data": "A" * 4_000}

    class Drawing(Played):
        def act(self, event):
            if isinstance(event, RunTools):
                self.result = (image, {"type": "text", "text": RESULT})
            return super().act(event)

    played = Drawing(max_request_bytes=30_000, rounds=12).play()
    assert played.only(RunCompacted)
    assert all(len(str(request.messages)) < 33_000 for request in played.requests)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"tokens": 10}, "window.tokens must be at least 1,000, not 10"),
        ({"tokens": 5_000, "compact_at": 1.5}, "window.compact_at must be over 0 and at most 1"),
        ({"tokens": 5_000, "keep": 0.9}, "window.keep must be over 0 and less than"),
    ],
)
def test_a_window_that_no_run_could_keep_is_refused(settings, told):
    with pytest.raises(InvalidSettingError, match=re.escape(told)):
        Window(**settings)


rounds = st.lists(
    st.tuples(
        st.integers(1, 3),  # calls
        st.integers(0, 4_000),  # characters of each result
        st.booleans(),  # whether one is pinned
        st.sampled_from(["It is 7.", "", "y" * 5_000, None, BROKEN]),  # what comes of a summary
        st.booleans(),  # whether usage is told
    ),
    max_size=25,
)


class Random(Played):
    """A run played by chance: each round by what was drawn for it."""

    def __init__(self, script, **settings):
        super().__init__(rounds=len(script), **settings)
        self.script = script

    def act(self, event):
        drawn = self.script[min(getattr(event, "round", 1), len(self.script)) - 1]
        match event:
            case CallModel(is_compaction=True):
                said = drawn[3]
                if said is None:
                    return [CompactedWindow(messages=(TASK,))]
                return [said] if said is BROKEN else [ModelDelta(text=said), ModelDone()]
            case CallModel(round=number) if number <= self.rounds:
                ids = [f"{number}-{index}" for index in range(drawn[0])]
                calls = tuple(ToolCallFragment(call_id=id_, name="look") for id_ in ids)
                usage = Usage(input_tokens=int(tokens_of(event))) if drawn[4] else None
                return [ModelDelta(tool_calls=calls, usage=usage), ModelDone()]
            case CallModel():
                return [ModelDelta(text="7"), ModelDone()]
            case RunTools(calls=calls):
                drawn = self.script[int(calls[0].call_id.split("-")[0]) - 1]
                size = drawn[1] // 10 if drawn[2] else drawn[1]
                return [
                    ToolResult(
                        call_id=call.call_id, content="z" * size, is_pinned=drawn[2] and not index
                    )
                    for index, call in enumerate(calls)
                ]
        return []


@given(rounds)
def test_whatever_comes_the_laws_of_a_compacted_run_hold(script):
    if not script:
        return
    played = Random(script, window=Window(tokens=12_000)).play()
    [finished] = played.only(Finished)
    assert (finished.reason, finished.rounds) == ("answered", len(script) + 1)
    pinned = {f"{number}-0" for number, drawn in enumerate(script, 1) if drawn[2]}
    for request in played.only(CallModel):
        validate_pairs(request)
        assert request.messages[0] == SYSTEM
        assert TASK in request.messages
        assert tokens_of(request) <= 12_000
        if request.is_compaction:
            continue  # it may leave out the last rounds, which stay as they are
        kept = {getattr(message, "tool_call_id", None) for message in request.messages}
        assert {id_ for id_ in pinned if int(id_.split("-")[0]) < request.round} <= kept
