import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import (
    BlockDelta,
    BlockStart,
    BlockStop,
    ItemDone,
    ResponseEnded,
    ResponseFailure,
    ResponseStarted,
    SSEDecoder,
    StreamDecoder,
    StreamEvent,
    UnknownEvent,
    Usage,
    UsageReported,
)


RECORDINGS = sorted((Path(__file__).parent / "recordings").glob("*.sse"))
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f"}


def event(name: str, **fields: object) -> dict[str, object]:
    return {"type": name, **fields}


def delta(text: str, index: int = 0, **fields: object) -> dict[str, object]:
    return event(
        "response.output_text.delta",
        **{"output_index": index, "content_index": 0, **fields},
        delta=text,
    )


def arguments(text: str, index: int = 0) -> dict[str, object]:
    return event("response.function_call_arguments.delta", output_index=index, delta=text)


def added(item: dict[str, object], index: int = 0) -> dict[str, object]:
    return event("response.output_item.added", output_index=index, item=item)


def done(item: dict[str, object], index: int = 0) -> dict[str, object]:
    return event("response.output_item.done", output_index=index, item=item)


def completed(*output: dict[str, object], **fields: object) -> dict[str, object]:
    return event(
        "response.completed", response={"status": "completed", "output": list(output), **fields}
    )


def message(text: str) -> dict[str, object]:
    return {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": text}]}


def decode(*events: dict[str, object]) -> list[StreamEvent]:
    decoder = StreamDecoder()
    return [found for one in events for found in decoder.feed(one)]


def replay(recording: Path, size: int | None = None) -> tuple[StreamDecoder, list[StreamEvent]]:
    data = recording.read_bytes()
    step = size or len(data)
    bytes_in, decoder = SSEDecoder(), StreamDecoder()
    events = [
        found
        for start in range(0, len(data), step)
        for one in bytes_in.feed(data[start : start + step])
        for found in decoder.feed(one)
    ]
    events += [found for one in bytes_in.close() for found in decoder.feed(one)]
    return decoder, events + decoder.close()


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_stream_gives_what_the_official_sdk_reads(recording: Path) -> None:
    truth = json.loads(recording.with_suffix(".expected.json").read_text(encoding="utf-8"))

    decoder, events = replay(recording)
    completion = decoder.completion

    assert completion.text == truth["text"]
    assert completion.refusal == (truth["refusal"] or "")
    assert [item["type"] for item in completion.items] == truth["item_order"]
    assert (completion.status, completion.incomplete_reason) == (
        truth["status"],
        truth["incomplete_reason"],
    )
    calls = [(call.call_id, call.name, call.type) for call in completion.tool_calls]
    expected = [(call["call_id"], call["name"], "function") for call in truth["function_calls"]]
    expected += [(call["call_id"], call["name"], "custom") for call in truth["custom_tool_calls"]]
    assert calls == (expected if truth["status"] == "completed" else [])
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (
        truth["usage"]["input_tokens"],
        truth["usage"]["output_tokens"],
    )
    shown = [found for found in events if isinstance(found, BlockDelta) and found.kind == "text"]
    assert "".join(found.text for found in shown) == truth["text"]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
def test_a_recorded_stream_gives_the_same_events_in_any_cut(recording: Path, size: int) -> None:
    assert replay(recording, size)[1] == replay(recording)[1]


def test_every_recording_has_its_truth_and_its_source() -> None:
    readme = (Path(__file__).parent / "recordings" / "README.md").read_text(encoding="utf-8")

    assert all(path.with_suffix(".expected.json").exists() for path in RECORDINGS)
    assert all(f"`{path.stem}`" in readme for path in RECORDINGS)


def test_text_starts_grows_and_stops_as_one_block() -> None:
    part = {"type": "output_text", "text": ""}
    whole = {"type": "output_text", "text": "Hi"}

    assert decode(
        event("response.created", response={"id": "resp_1", "model": "gpt-5"}),
        event("response.in_progress"),
        added({"type": "message", "id": "msg_1"}),
        event("response.content_part.added", output_index=0, content_index=0, part=part),
        delta("Hi"),
        event("response.output_text.done", output_index=0, content_index=0, text="Hi"),
        event("response.content_part.done", output_index=0, content_index=0, part=whole),
        done(message("Hi")),
        completed(message("Hi"), usage={"input_tokens": 1, "output_tokens": 2}),
    ) == [
        ResponseStarted(response_id="resp_1", model="gpt-5"),
        BlockStart(index=0, kind="text"),
        BlockDelta(index=0, kind="text", text="Hi"),
        BlockStop(index=0, kind="text"),
        ItemDone(output_index=0, item=message("Hi")),
        UsageReported(usage=Usage(input_tokens=1, output_tokens=2, total_tokens=3)),
        ResponseEnded(status="completed"),
    ]


def test_a_tool_call_starts_as_soon_as_its_name_is_known() -> None:
    whole = {**CALL, "arguments": '{"a":1}'}

    assert decode(added(CALL), arguments('{"a"'), arguments(":1}"), done(whole)) == [
        BlockStart(index=0, kind="tool_use", call_id="c1", name="f"),
        BlockDelta(index=0, kind="tool_use", text='{"a"'),
        BlockDelta(index=0, kind="tool_use", text=":1}"),
        BlockStop(index=0, kind="tool_use"),
        ItemDone(output_index=0, item=whole),
    ]


def test_arguments_before_the_name_wait_for_it() -> None:
    assert decode(arguments('{"a"'), arguments(":1}"), added(CALL)) == [
        BlockStart(index=0, kind="tool_use", call_id="c1", name="f"),
        BlockDelta(index=0, kind="tool_use", text='{"a":1}'),
    ]


def test_whole_arguments_before_the_name_wait_for_it() -> None:
    whole = event("response.function_call_arguments.done", output_index=0, arguments="{}")

    assert decode(arguments("{"), whole, added(CALL))[-1] == BlockDelta(
        index=0, kind="tool_use", text="{}"
    )


def test_whole_arguments_fill_what_the_deltas_left_out() -> None:
    whole = event("response.function_call_arguments.done", output_index=0, arguments='{"a":1}')
    pointless = event("response.function_call_arguments.done", output_index=0, arguments=None)

    texts = [
        found.text
        for found in decode(added(CALL), arguments('{"a"'), pointless, whole)
        if isinstance(found, BlockDelta)
    ]

    assert texts == ['{"a"', ":1}"]


def test_interleaved_items_have_blocks_of_their_own() -> None:
    other = {**CALL, "call_id": "c2", "name": "g"}
    events = decode(
        added(CALL, 0), added(other, 1), arguments("{", 0), arguments("[", 1), arguments("}", 0)
    )

    assert [(found.index, found.text) for found in events if isinstance(found, BlockDelta)] == [
        (0, "{"),
        (1, "["),
        (0, "}"),
    ]


def test_reasoning_announced_without_content_opens_no_block() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}

    assert decode(added(reasoning), done(reasoning)) == [ItemDone(output_index=0, item=reasoning)]


def test_summary_parts_and_raw_reasoning_are_told_apart() -> None:
    events = decode(
        event(
            "response.reasoning_summary_part.added",
            output_index=0,
            summary_index=0,
            part={"type": "summary_text"},
        ),
        event("response.reasoning_summary_text.delta", output_index=0, summary_index=0, delta="A"),
        event(
            "response.reasoning_summary_part.done",
            output_index=0,
            summary_index=0,
            part={"type": "summary_text", "text": "A"},
        ),
        event("response.reasoning_summary_text.delta", output_index=0, summary_index=1, delta="B"),
        event("response.reasoning_text.delta", output_index=0, content_index=0, delta="raw"),
    )

    assert [(found.index, found.kind) for found in events if isinstance(found, BlockStart)] == [
        (0, "summary_text"),
        (1, "summary_text"),
        (2, "reasoning_text"),
    ]


def test_the_encrypted_content_of_the_finished_item_is_kept() -> None:
    early = {"type": "reasoning", "id": "rs_1", "encrypted_content": "early"}
    late = {**early, "encrypted_content": "late"}
    decoder = StreamDecoder()
    for one in (added(early), done(late), done(early), completed()):
        decoder.feed(one)

    assert decoder.completion.items == (late,)


def test_a_refusal_is_a_block_of_its_kind() -> None:
    part = {"type": "refusal", "refusal": "No."}
    events = decode(
        event("response.refusal.delta", output_index=0, content_index=0, delta="N"),
        event("response.refusal.done", output_index=0, content_index=0, refusal="No."),
        event("response.content_part.done", output_index=0, content_index=0, part=part),
    )

    assert events == [
        BlockStart(index=0, kind="refusal"),
        BlockDelta(index=0, kind="refusal", text="N"),
        BlockDelta(index=0, kind="refusal", text="o."),
        BlockStop(index=0, kind="refusal"),
    ]


def test_a_delta_without_start_opens_its_block() -> None:
    assert decode(delta("Hi")) == [
        BlockStart(index=0, kind="text"),
        BlockDelta(index=0, kind="text", text="Hi"),
    ]


@pytest.mark.parametrize("nothing", ["", None, 7])
def test_a_delta_of_nothing_is_nothing(nothing: object) -> None:
    assert decode({**delta("x"), "delta": nothing}, {**arguments("x"), "delta": nothing}) == []


def test_text_that_never_streamed_comes_from_the_terminal_response() -> None:
    reasoning = {"type": "reasoning", "summary": [{"text": "A"}], "content": [{"text": "raw"}]}
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}, {"type": "x"}]}
    call = {**CALL, "arguments": "{}"}

    events = decode(completed(reasoning, message("Hi"), refusal, call, {"type": "new"}))

    assert [(found.kind, found.text) for found in events if isinstance(found, BlockDelta)] == [
        ("summary_text", "A"),
        ("reasoning_text", "raw"),
        ("text", "Hi"),
        ("refusal", "No."),
        ("tool_use", "{}"),
    ]


def test_text_that_was_cut_short_is_completed_from_the_terminal_response() -> None:
    events = decode(
        added({"type": "message", "id": "msg_1"}), delta("He"), completed(message("Hello"))
    )

    assert "".join(found.text for found in events if isinstance(found, BlockDelta)) == "Hello"


def test_a_terminal_item_is_found_by_its_id_when_the_order_differs() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [{"text": "A"}]}
    events = decode(
        added({"type": "message", "id": "msg_1"}, 0),
        delta("Hi"),
        added({"type": "reasoning", "id": "rs_1"}, 1),
        completed(reasoning, message("Hi")),
    )

    assert [found.text for found in events if isinstance(found, BlockDelta)] == ["Hi", "A"]


def test_a_terminal_item_that_is_no_streamed_one_is_not_mixed_with_it() -> None:
    other = {"type": "reasoning", "id": "rs_9", "summary": [{"text": "A"}]}

    events = decode(added({"type": "message", "id": "msg_1"}), delta("Hi"), completed(other))

    assert [found.text for found in events if isinstance(found, BlockDelta)] == ["Hi"]


def test_ids_that_change_on_every_event_do_no_harm() -> None:
    events = decode(
        added({"type": "message", "id": "a"}),
        delta("H", item_id="b"),
        delta("i", item_id="c"),
        done({**message("Hi"), "id": "d"}),
        completed({**message("Hi"), "id": "e"}),
    )

    assert "".join(found.text for found in events if isinstance(found, BlockDelta)) == "Hi"


def test_a_server_that_leaves_output_index_out_is_followed_by_item_id() -> None:
    """D15 of the official plugin: calls without an index were merged into one."""
    first, second = {**CALL, "id": "x"}, {**CALL, "id": "y", "call_id": "c2"}
    events = decode(
        event("response.output_item.added", item=first),
        event("response.output_item.added", item=second),
        event("response.function_call_arguments.delta", item_id="x", delta="{"),
        event("response.function_call_arguments.delta", item_id="y", delta="["),
        event("response.function_call_arguments.delta", delta="]"),
    )

    assert [(found.index, found.text) for found in events if isinstance(found, BlockDelta)] == [
        (0, "{"),
        (1, "["),
        (1, "]"),
    ]


def test_an_item_announced_twice_is_one_item() -> None:
    assert len(decode(added(CALL), added(CALL))) == 1


def test_parts_that_are_not_shown_open_no_block() -> None:
    part = {"type": "output_audio"}

    assert (
        decode(
            event("response.content_part.added", output_index=0, part=part),
            event("response.content_part.done", output_index=0, part=part),
        )
        == []
    )


def test_a_part_that_stops_without_having_started_is_nothing() -> None:
    part = {"type": "output_text", "text": ""}

    assert decode(event("response.content_part.done", output_index=0, part=part)) == []


def test_deltas_after_the_item_is_done_change_nothing() -> None:
    part = {"type": "output_text"}
    late = event("response.content_part.added", output_index=0, content_index=0, part=part)
    tail = event("response.output_text.done", output_index=0, content_index=4, text="late")

    assert decode(done(message("Hi")), delta("late"), late, tail)[3:] == [
        ItemDone(output_index=0, item=message("Hi"))
    ]


@pytest.mark.parametrize(
    "details",
    [
        {"error": {"code": "insufficient_quota", "message": "Pay.", "param": "p"}},
        {"code": "insufficient_quota", "message": "Pay.", "param": "p"},
    ],
)
def test_an_error_event_ends_the_stream_with_its_details(details: dict[str, object]) -> None:
    """D8 of the official plugin: nested details were lost."""
    events = decode(delta("Hi"), event("error", **details), event("response.failed", response={}))

    assert events[2:] == [
        BlockStop(index=0, kind="text"),
        ResponseFailure(code="insufficient_quota", message="Pay.", param="p"),
    ]


@pytest.mark.parametrize(
    "frame",
    [
        {"status": 429, "error": {"code": "slow_down", "headers": {"Retry-After": 2, "x": None}}},
        {"status_code": 429, "error": {"code": "slow_down"}, "headers": {"retry-after": "2"}},
    ],
)
def test_an_error_keeps_the_status_and_headers_that_it_would_have_as_an_answer(frame) -> None:
    (failure,) = decode(event("error", **frame))

    assert (failure.code, failure.status, failure.headers) == (
        *("slow_down", 429),
        {"retry-after": "2"},
    )


@pytest.mark.parametrize("status", [None, "429", True, 200, 600])
def test_what_is_no_error_status_is_none(status) -> None:
    (failure,) = decode(event("error", status=status, message="m"))

    assert failure.status is None


@pytest.mark.parametrize("nothing", [{}, {"code": None, "param": None}, {"error": {}}])
def test_an_error_without_a_code_is_still_an_error(nothing: dict[str, object]) -> None:
    assert decode(event("error", **nothing)) == [
        ResponseFailure(code=None, message="the stream reported an error")
    ]


def test_a_failed_response_is_an_error_and_an_end() -> None:
    failed = event("response.failed", response={"error": {"code": "server_error", "message": "m"}})

    assert decode(failed) == [
        ResponseFailure(code="server_error", message="m"),
        ResponseEnded(status="failed"),
    ]
    assert decode(event("response.failed", response=None))[0] == ResponseFailure(
        code=None, message="response failed"
    )


SILENT_FAILURE = event("response.failed", response={"status": "failed", "error": None})
UNEXPLAINED = ResponseFailure(code=None, message="response failed")


@pytest.mark.parametrize(
    ("following", "failure"),
    [
        (
            event("error", error={"code": "rate_limit_exceeded", "message": "Slow down."}),
            ResponseFailure(code="rate_limit_exceeded", message="Slow down."),
        ),
        (
            event("error", code="server_error", message="Broken."),
            ResponseFailure(code="server_error", message="Broken."),
        ),
        (event("error"), ResponseFailure(code=None, message="response failed")),
        (event("response.in_progress"), UNEXPLAINED),
        (delta("late"), UNEXPLAINED),
        (event("response.failed", response=7), UNEXPLAINED),
        (completed(message("late")), UNEXPLAINED),
    ],
)
def test_a_failure_that_does_not_say_why_is_explained_by_the_error_after_it(
    following: dict[str, object], failure: ResponseFailure
) -> None:
    decoder = StreamDecoder()

    assert decoder.feed(SILENT_FAILURE) == []
    assert not decoder.is_over
    assert decoder.feed(following) == [failure, ResponseEnded(status="failed")]
    assert decoder.is_over
    assert decoder.close() == []
    assert decoder.completion.status == "failed"


def test_a_failure_that_nothing_explains_fails_when_the_bytes_end() -> None:
    decoder = StreamDecoder()
    decoder.feed(SILENT_FAILURE)

    assert decoder.close() == [UNEXPLAINED, ResponseEnded(status="failed")]
    assert decoder.close() == []


def test_an_incomplete_response_ends_with_its_reason_and_its_usage() -> None:
    response = {"incomplete_details": {"reason": "max_output_tokens"}, "usage": {"input_tokens": 1}}

    assert decode(event("response.incomplete", response=response)) == [
        UsageReported(usage=Usage(input_tokens=1, total_tokens=1)),
        ResponseEnded(status="incomplete", reason="max_output_tokens"),
    ]


def test_a_stream_that_ends_early_closes_its_blocks_and_is_an_error() -> None:
    decoder = StreamDecoder()
    decoder.feed(delta("Hi"))

    stop, error = decoder.close()

    assert stop == BlockStop(index=0, kind="text")
    assert error.code == "stream_ended_early"
    assert (decoder.close(), decoder.is_over) == ([], True)


def test_closing_after_the_end_is_no_error() -> None:
    decoder = StreamDecoder()
    decoder.feed(completed())

    assert decoder.close() == []


def test_what_arrived_before_a_cut_can_be_read() -> None:
    decoder = StreamDecoder()
    for one in (
        event("response.created", response={"id": "resp_1", "model": "gpt-5"}),
        event("response.reasoning_summary_text.delta", output_index=0, delta="Plan"),
        delta("Hi", 1),
        event("response.refusal.delta", output_index=1, content_index=1, delta="No."),
        added(CALL, 2),
        arguments('{"cut', 2),
    ):
        decoder.feed(one)
    decoder.close()
    completion = decoder.completion

    assert (completion.text, completion.refusal, completion.reasoning_summaries) == (
        "Hi",
        "No.",
        ("Plan",),
    )
    assert (completion.status, completion.model, completion.tool_calls) == (
        "in_progress",
        "gpt-5",
        (),
    )


def test_unknown_events_are_seen_and_harmless() -> None:
    huge = event("response.new_thing", data="x" * 10_000)

    (found,) = decode(huge)

    assert isinstance(found, UnknownEvent)
    assert (found.type, len(found.preview), found.event) == ("response.new_thing", 512, huge)


def test_the_halves_of_a_character_in_two_deltas_become_one() -> None:
    texts = [
        found.text
        for found in decode(delta("a\ud83d"), delta("\ude00b"))
        if isinstance(found, BlockDelta)
    ]

    assert texts == ["a", "\U0001f600b"]


def test_half_a_character_that_stays_alone_is_replaced() -> None:
    events = decode(delta("a\ud83d"), completed())

    assert [found.text for found in events if isinstance(found, BlockDelta)] == ["a", "\ufffd"]


@given(text=st.text(alphabet=st.characters(), max_size=40), data=st.data())
def test_any_split_of_a_text_into_deltas_gives_the_same_text(
    text: str, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    edges = [0, *cuts, len(text)]
    pieces = [text[start:end] for start, end in pairwise(edges)]

    events = decode(*[delta(piece) for piece in pieces], completed())
    shown = "".join(found.text for found in events if isinstance(found, BlockDelta))

    assert shown == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
TYPED = st.dictionaries(st.sampled_from(["type", "id", "call_id", "name", "text"]), JSON)
NAMES = st.sampled_from([*sorted(StreamDecoder._HANDLERS), "response.in_progress", "new"])
FIELDS = (
    "output_index",
    "content_index",
    "summary_index",
    "item_id",
    "item",
    "part",
    "delta",
    "text",
    "arguments",
    "response",
    "error",
    "sequence_number",
)
HOSTILE = st.builds(
    lambda name, fields: {**fields, "type": name},
    NAMES,
    st.dictionaries(
        st.sampled_from(FIELDS),
        st.lists(TYPED, max_size=2) | JSON | TYPED | st.just(CALL) | st.just(message("Hi")),
        max_size=6,
    ),
)


@pytest.mark.untraced
@given(st.lists(HOSTILE, max_size=12))
def test_no_sequence_of_events_raises_or_leaves_a_block_open(
    events: list[dict[str, object]],
) -> None:
    decoder = StreamDecoder()
    decoded = [found for one in events for found in decoder.feed(one)] + decoder.close()

    started = [found.index for found in decoded if isinstance(found, BlockStart)]
    stopped = [found.index for found in decoded if isinstance(found, BlockStop)]

    assert started == list(range(len(started)))
    assert sorted(stopped) == started
    assert decoder.completion is not None


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("text", "text"),
        ("refusal", "text"),
        ("reasoning_text", "thinking"),
        ("summary_text", "thinking"),
        ("tool_use", "input_json"),
    ],
)
def test_every_kind_of_block_is_text_thinking_or_tool_input(kind: str, content: str) -> None:
    assert BlockDelta(index=0, kind=kind, text="x").content == content


def test_a_response_that_has_ended_is_read_once_for_all_who_ask() -> None:
    decoder = StreamDecoder()
    decoder.feed(delta("Hi"))
    before = decoder.completion
    decoder.feed(event("response.completed", response={"status": "completed", "output": []}))

    assert (before.status, before.text) == ("in_progress", "Hi")
    assert decoder.completion is decoder.completion
    assert (decoder.completion.status, decoder.completion.text) == ("completed", "Hi")


def test_a_response_without_an_item_fails_although_it_was_read_as_completed() -> None:
    decoder = StreamDecoder()
    decoder.feed(event("response.completed", response={"status": "completed", "output": []}))

    assert decoder.completion.status == "failed"
