"""Streams of any server: one meaning in any cut, a clean order of events, an end, and nothing that cannot be carried on."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting import is_linear
from gpt5_messages import (
    BlockDelta,
    BlockStart,
    BlockStop,
    MessageError,
    ResponseEnded,
    ResponseFailure,
    SSEDecoder,
    StopFilter,
    StreamDecoder,
    StreamEvent,
    UnknownEvent,
    VisibleText,
    build_input,
    read_item,
    read_response,
)
from shapes import BODIES, TEXTS, VALUES, cuts, event_lists, mutated, wires


def decode(pieces: list[bytes]) -> tuple[StreamDecoder, list[StreamEvent]]:
    frames, decoder = SSEDecoder(), StreamDecoder()
    found = [event for piece in pieces for raw in frames.feed(piece) for event in decoder.feed(raw)]
    found += [event for raw in frames.close() for event in decoder.feed(raw)]
    return decoder, found + decoder.close()


def assert_ordered(events: list[StreamEvent]) -> None:
    """Blocks start once, grow while they are open and stop; a failure or an end comes last, or both, in this order."""
    opened: dict[int, str] = {}
    started: set[int] = set()
    for event in events:
        match event:
            case BlockStart(index=index, kind=kind):
                assert index not in started
                started.add(index)
                opened[index] = kind
            case BlockDelta(index=index, kind=kind, text=text):
                assert text
                assert opened[index] == kind
            case BlockStop(index=index, kind=kind):
                assert opened.pop(index) == kind
            case UnknownEvent(preview=preview):
                assert len(preview) <= 512
            case _:
                pass
    assert not opened
    ends = [type(event) for event in events if isinstance(event, ResponseEnded | ResponseFailure)]
    assert ends in ([ResponseEnded], [ResponseFailure], [ResponseFailure, ResponseEnded])
    assert isinstance(events[-1], ends[-1])


def assert_carriable(value: Any) -> None:
    """JSON of the strict kind, in UTF-8."""
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


def assert_usable(decoder: StreamDecoder, events: list[StreamEvent], stop: list[str]) -> None:
    completion = decoder.completion
    assert_carriable([list(completion.items), completion.text, completion.refusal])
    visible = VisibleText(stop)
    ("".join(visible.feed(event) for event in events) + visible.close()).encode()
    for item in completion.items:
        assert read_item(item).to_wire() == item
    message = {
        "role": "assistant",
        "content": "",
        "opaque_body": {"responses_output": completion.items},
    }
    assert_carriable(build_input([message]))


@given(st.data())
def test_any_cut_of_any_bytes_means_the_same(data: st.DataObject) -> None:
    wire = data.draw(wires())
    pieces = data.draw(cuts(wire))

    _, whole = decode([wire])

    assert repr(decode(pieces)[1]) == repr(whole)
    assert_ordered(whole)


@given(events=event_lists(), stop=st.lists(TEXTS, max_size=2))
def test_any_events_end_once_and_leave_what_can_be_carried_on(
    events: list[dict[str, Any]], stop: list[str]
) -> None:
    decoder = StreamDecoder()
    found: list[StreamEvent] = []
    for event in events:
        found += decoder.feed(event)
        assert isinstance(decoder.is_over, bool)
    found += decoder.close()

    assert_ordered(found)
    assert_usable(decoder, found, stop)


@given(body=st.sampled_from(BODIES).flatmap(mutated) | VALUES)
def test_any_whole_response_is_read_or_refused_by_field(body: Any) -> None:
    try:
        completion = read_response(body)
    except MessageError as error:
        assert error.field
        assert error.field in str(error)
        return
    assert_carriable([list(completion.items), completion.text, completion.reasoning_summaries])
    decoder = StreamDecoder()
    found = decoder.feed({"type": "response.completed", "response": body}) + decoder.close()
    assert_ordered(found)


@given(st.data(), st.lists(TEXTS, max_size=3))
def test_stop_sequences_do_not_depend_on_the_cut(data: st.DataObject, stop: list[str]) -> None:
    text = data.draw(
        st.lists(st.sampled_from([*stop, "a", "<", "\n", " "]), max_size=10).map("".join)
    )
    at = data.draw(st.integers(0, len(text)))

    def show(*pieces: str) -> tuple[str, str | None]:
        stopped = StopFilter(stop)
        return "".join(map(stopped.feed, pieces)) + stopped.flush(), stopped.hit

    assert show(text[:at], text[at:]) == show(text) == show(*text)


@pytest.mark.long
@settings(max_examples=60)
@given(event_lists())
def test_twice_the_events_are_twice_the_work(events: list[dict[str, Any]]) -> None:
    endless = [event for event in events if "response" not in event and "error" not in event]
    unnumbered = [{**event, "sequence_number": None} for event in endless]

    def decode(times: int) -> None:
        decoder = StreamDecoder()
        for event in unnumbered * times:
            decoder.feed(event)
        decoder.close()
        assert decoder.completion

    assert is_linear(decode, 8)
