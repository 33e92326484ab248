import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import (
    BlockDelta,
    BlockStart,
    StreamDecoder,
    StreamEvent,
    VisibleText,
    build_input,
)
from stream_text import mend_tags, strip_think


def summary(text: str, index: int = 0) -> BlockDelta:
    return BlockDelta(index=index, kind="summary_text", text=text)


def answer(text: str, index: int = 9) -> BlockDelta:
    return BlockDelta(index=index, kind="text", text=text)


def shown(*events: StreamEvent, stop: tuple[str, ...] = (), **settings: bool) -> str:
    visible = VisibleText(stop, **settings)
    return "".join(visible.feed(event) for event in events) + visible.close()


def test_a_summary_is_shown_as_a_closed_think_block() -> None:
    assert shown(summary("Pl"), summary("an"), answer("42")) == "<think>\nPlan\n</think>42"


def test_a_summary_without_an_answer_is_closed_too() -> None:
    assert shown(summary("Plan")) == "<think>\nPlan\n</think>"


def test_summary_parts_are_a_blank_line_apart() -> None:
    """D3 of the official plugin: parts were glued together."""
    assert shown(summary("A", 0), summary("B", 1)) == "<think>\nA\n\nB\n</think>"


def test_a_tool_call_closes_the_think_block_at_once() -> None:
    visible = VisibleText()
    visible.feed(summary("Plan"))

    assert visible.feed(BlockStart(index=1, kind="tool_use", call_id="c", name="f")) == "\n</think>"


def test_thinking_after_text_starts_on_a_line_of_its_own() -> None:
    """D21 of the official plugin: `Hello<think>`."""
    assert shown(answer("Hello"), summary("Hm"), answer(" there")) == (
        "Hello\n<think>\nHm\n</think> there"
    )
    assert shown(answer("Hello\n"), summary("Hm")) == "Hello\n<think>\nHm\n</think>"


def test_thoughts_can_be_hidden_from_a_program_that_reads_the_text() -> None:
    events = [summary("Hm", 0), answer("one E"), summary("Plan", 1), answer("ND"), summary("!", 2)]
    assert shown(*events, stop=("END",), thoughts=False) == "one END"
    assert shown(*events, stop=("END",)).startswith("<think>")
    tool = BlockStart(index=1, kind="tool_use", call_id="c", name="f")
    assert shown(summary("Plan"), tool, thoughts=False) == ""


def test_raw_reasoning_is_never_shown() -> None:
    assert shown(BlockDelta(index=0, kind="reasoning_text", text="secret"), answer("42")) == "42"


def test_a_refusal_is_shown() -> None:
    assert shown(BlockDelta(index=0, kind="refusal", text="No.")) == "No."


def test_stop_sequences_end_the_answer_only() -> None:
    """D1 and D2 of the official plugin: a stop word in a summary swallowed the answer."""
    assert shown(summary("END is near"), answer("one END two"), stop=("END",)) == (
        "<think>\nEND is near\n</think>one "
    )


def test_what_was_held_back_is_shown_before_new_thoughts() -> None:
    assert shown(answer("one E"), summary("Hm"), stop=("END",)) == "one E\n<think>\nHm\n</think>"


def test_after_a_stop_nothing_more_is_shown() -> None:
    visible = VisibleText(["END"])
    visible.feed(answer("END"))

    assert (visible.is_stopped, visible.feed(summary("more")), visible.close()) == (True, "", "")


EVENTS = st.lists(
    st.builds(summary, st.text("ab<\n", min_size=1), st.integers(0, 3))
    | st.builds(answer, st.text("ab<\n", min_size=1))
    | st.just(BlockStart(index=5, kind="tool_use", call_id="c", name="f"))
)


@given(EVENTS)
def test_think_blocks_are_always_balanced_and_never_nested(events: list[StreamEvent]) -> None:
    text = shown(*events)

    depth = 0
    for piece in text.replace("</think>", "\0-").replace("<think>", "\0+").split("\0")[1:]:
        depth += 1 if piece[0] == "+" else -1
        assert depth in (0, 1)
    assert depth == 0


def test_a_whole_response_is_shown_like_its_stream() -> None:
    response = {
        "status": "completed",
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Plan"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "42"}]},
        ],
    }

    events = StreamDecoder().feed({"type": "response.completed", "response": response})

    assert shown(*events) == "<think>\nPlan\n</think>42"


WHOLE = {
    "status": "completed",
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": 'Plan {"a": 1}'}]},
        {
            "type": "message",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "Let me see."}],
        },
        {
            "type": "message",
            "phase": "final_answer",
            "content": [{"type": "output_text", "text": '{"a": 2}'}],
        },
    ],
}


def test_only_the_answer_of_a_whole_response_can_be_shown() -> None:
    events = StreamDecoder().feed({"type": "response.completed", "response": WHOLE})

    assert shown(*events) == '<think>\nPlan {"a": 1}\n</think>Let me see.{"a": 2}'
    assert shown(*events, answer_only=True) == '{"a": 2}'


def test_only_the_answer_of_a_stream_can_be_shown() -> None:
    events = (
        BlockStart(index=0, kind="summary_text"),
        summary("Plan {", 0),
        BlockStart(index=1, kind="text", phase="commentary"),
        answer("Let me", 1),
        BlockStart(index=2, kind="text", phase="final_answer"),
        answer("{", 2),
        answer(" see.", 1),
        summary("still planning", 0),
        answer("}END", 2),
    )

    assert shown(*events, answer_only=True, stop=("END",)) == "{}"
    assert shown(summary("Plan"), answer_only=True) == ""


def test_an_answer_that_comes_twice_is_shown_once_where_a_program_reads_it() -> None:
    twice = [answer('{"a"', 1), answer(": 1}", 1), answer('{ "a":', 2), answer("1 }", 2)]

    assert shown(*twice, answer_only=True) == '{"a": 1}'
    assert shown(*twice) == '{"a": 1}{ "a":1 }'
    assert shown(*twice, answer('{"a": 2}', 3), answer_only=True).endswith('{ "a":1 }{"a": 2}')


def test_a_refusal_is_shown_where_only_the_answer_is() -> None:
    refusal = BlockDelta(index=1, kind="refusal", text="No.")

    assert shown(summary("Plan"), refusal, answer_only=True) == "No."


@given(EVENTS)
def test_only_the_answer_is_all_text_that_is_no_summary(events: list[StreamEvent]) -> None:
    answers = [event for event in events if getattr(event, "kind", "") == "text"]

    assert shown(*events, answer_only=True) == shown(*answers)


FENCE = "\n```\n<think>\n</think>\n```\n"
PIECES = st.lists(
    st.tuples(
        st.sampled_from(["summary", "answer", "call"]),
        st.integers(0, 2),
        st.text("abS T\nOP<", max_size=6)
        | st.sampled_from(["<think>", "</think>", "\n<think>\n", FENCE, "`<think>`", "</th"]),
    ),
    max_size=8,
)


def events_of(pieces: list[tuple[str, int, str]]) -> list[StreamEvent]:
    made = {
        "summary": summary,
        "answer": answer,
        "call": lambda _, index: BlockStart(index=index, kind="tool_use", call_id="c", name="f"),
    }
    return [made[kind](text, index) for kind, index, text in pieces]


def cut_up(events: list[StreamEvent], size: int) -> list[StreamEvent]:
    """Return the same events with every text in pieces of a size, as another server's stream may have them."""
    cut: list[StreamEvent] = []
    for event in events:
        if not isinstance(event, BlockDelta) or not event.text:
            cut.append(event)
            continue
        for start in range(0, len(event.text), size):
            piece = event.text[start : start + size]
            cut.append(BlockDelta(index=event.index, kind=event.kind, text=piece))
    return cut


def joined(text: str) -> str:
    """Return a text without its tags, which alone may be there twice, and the white space beside them."""
    for tag in ("<think>\n", "\n</think>"):
        text = text.replace(tag, "")
    return "".join(text.split())


@given(PIECES, st.integers(0, 30), st.integers(1, 7), st.sampled_from([(), ("STOP",)]))
def test_a_later_reader_shows_what_was_not_shown_and_nothing_twice(
    pieces: list[tuple[str, int, str]], seen: int, size: int, stop: tuple[str, ...]
) -> None:
    events = events_of(pieces)
    whole = shown(*events, stop=stop)
    first, streamed = VisibleText(stop), cut_up(events, size)[:seen]
    hiding = VisibleText(stop, thoughts=False)
    plain = "".join(hiding.feed(event) for event in streamed) + hiding.break_off()
    before = "".join(first.feed(event) for event in streamed)
    broken_off = before + first.break_off()

    later = VisibleText(stop, skip=first.characters)
    after = "".join(later.feed(event) for event in events) + later.close()
    # Which of the two readers hides the thoughts makes no difference to where the later one begins.
    hiding_later = VisibleText(stop, skip=hiding.characters, thoughts=False)
    plain += "".join(hiding_later.feed(event) for event in events) + hiding_later.close()
    said = shown(*events, stop=stop, thoughts=False)

    assert plain == said
    assert "think>" not in plain or "think>" in str(pieces)
    assert first.characters == hiding.characters == len(before)
    assert whole.startswith(before)
    assert joined(broken_off + after) == joined(whole)
    assert later.characters == len(whole)
    assert before.endswith(later.skipped_end)
    assert "think>" in str(pieces) or all(
        text.count("<think>\n") == text.count("\n</think>") for text in (broken_off, after)
    )


@given(PIECES, st.integers(1, 7))
def test_a_model_gets_back_its_own_words_and_no_summary(
    pieces: list[tuple[str, int, str]], size: int
) -> None:
    events = events_of([(kind, index, text) for kind, index, text in pieces if kind != "call"])
    said = "".join(
        event.text for event in events_of(pieces) if getattr(event, "kind", "") == "text"
    )
    text = shown(*cut_up(events, size))

    again = build_input([{"role": "assistant", "content": text}])

    back = "".join(str(item["content"]) for item in again)
    # A summary inside an answer begins on a line of its own.
    assert "".join(back.split()) == "".join(said.split())
    assert "".join(mend_tags(strip_think(text)).split()) == "".join(said.split())
    if "think>" not in said:  # Dify ends a block at its first closing tag.
        without = re.sub(r"(?s)<think>.*?</think>", "", text)
        assert "".join(without.split()) == "".join(said.split())


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("<think>\nno\n</think>", "< think>\nno\n< /think>"),
        ("Use the <think> tag, `<think>`:\n```\n<think>\n```", None),
        ("A <thi", None),
    ],
)
def test_words_that_look_like_a_block_are_broken_where_they_stream(
    said: str, seen: str | None
) -> None:
    seen = said if seen is None else seen
    assert shown(summary("Plan"), *map(answer, said)) == f"<think>\nPlan\n</think>{seen}"
    assert shown(answer(said + "END, and on"), stop=("END",)) == seen
    assert shown(answer(said), answer_only=True) == said
    unstreamed = VisibleText(streamed=False)
    assert unstreamed.feed(answer(said)) + unstreamed.close() == said


@pytest.mark.parametrize("end", [(answer("4"),), (summary("Y", 1), answer("4")), ()])
def test_a_tag_in_a_summary_ends_no_block(end: tuple[StreamEvent, ...]) -> None:
    parts = map(summary, "The `</think>` tag and <think> begin <")
    more = "\n\nY" if len(end) == 2 else ""
    assert shown(*parts, *end) == (
        f"<think>\nThe `< /think>` tag and < think> begin <{more}\n</think>{'4' if end else ''}"
    )


def test_what_may_become_a_tag_is_left_to_a_later_reader() -> None:
    first = VisibleText()
    assert first.feed(summary("The </th")) + first.break_off() == "<think>\nThe \n</think>"
    later = VisibleText(skip=first.characters)
    text = later.feed(summary("The </th")) + later.feed(summary("ere")) + later.feed(answer("4"))
    assert text == "<think>\n</there\n</think>4"


def test_a_thought_that_was_broken_off_goes_on_in_a_block_of_its_own() -> None:
    visible = VisibleText(skip=len("<think>\nOne, t"))
    first = visible.feed(summary("One, two, "))
    assert first + visible.feed(summary("three.", 1)) + visible.feed(answer("3")) == (
        "<think>\nwo, \n\nthree.\n</think>3"
    )
    assert visible.skipped_end == "<think>\nOne, t"


def test_an_answer_after_a_thought_that_was_shown_closes_nothing() -> None:
    visible = VisibleText(skip=len("<think>\nOne."))
    assert visible.feed(summary("One.")) + visible.feed(answer("1")) == "1"


def test_the_next_part_of_a_thought_begins_the_block_anew() -> None:
    visible = VisibleText(skip=len("<think>\nOne."))
    assert visible.feed(summary("One.")) + visible.feed(summary("Two.", 1)) == "<think>\nTwo."


def test_what_a_stop_sequence_holds_back_is_shown_by_the_later_reader_alone() -> None:
    first = VisibleText(("STOP",))
    assert first.feed(answer("one ST")) + first.break_off() == "one "
    later = VisibleText(("STOP",), skip=first.characters)
    assert later.feed(answer("one STay")) == "STay"
