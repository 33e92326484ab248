"""What servers send that are not OpenAI's, or that fail in ways of their own."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from counting import CountedText, is_linear
from gpt5_messages import (
    BlockDelta,
    BlockStart,
    BlockStop,
    ItemDone,
    MessageError,
    ResponseEnded,
    ResponseFailure,
    SSEDecoder,
    StreamDecoder,
    StreamEvent,
    UnknownEvent,
    find_protocol,
    protocol_name,
    read_response,
)


type Event = dict[str, object]

CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f"}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant"}
REASONING = {"type": "reasoning", "id": "rs_1", "encrypted_content": "e"}


def event(name: str, **fields: object) -> Event:
    return {"type": f"response.{name}", **fields}


def text_delta(text: str, **fields: object) -> Event:
    return event(
        "output_text.delta", **{"output_index": 0, "content_index": 0, **fields}, delta=text
    )


def message(*texts: object, **fields: object) -> Event:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {**MESSAGE, "content": parts, **fields}


def done(item: object, **fields: object) -> Event:
    return event("output_item.done", **{"output_index": 0, **fields}, item=item)


def completed(*output: object, **fields: object) -> Event:
    return event("completed", response={"status": "completed", "output": list(output), **fields})


def decode(*events: Event) -> tuple[list[StreamEvent], StreamDecoder]:
    decoder = StreamDecoder()
    return [found for one in events for found in decoder.feed(one)], decoder


def shown(events: list[StreamEvent], *kinds: str) -> str:
    deltas = (found for found in events if isinstance(found, BlockDelta))
    return "".join(found.text for found in deltas if found.kind in (kinds or ("text", "refusal")))


def failures(events: list[StreamEvent]) -> list[ResponseFailure]:
    return [found for found in events if isinstance(found, ResponseFailure)]


INDEXES = {
    "one too many": [1, 1, 1],
    "another on every event": [0, 1, 2],
    "none": [None, None, None],
    "of another type": ["0", "1", [2]],
}


@pytest.mark.parametrize("indexes", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("whole", [("Hello there.",), ("Hello", " there."), ("Hello there.", "")])
def test_text_is_shown_once_however_its_parts_are_counted(
    indexes: list[object], whole: tuple[str, ...]
) -> None:
    first, second, third = ({"content_index": index} for index in indexes)
    for end in ([], [done(message(*whole))]):
        events, decoder = decode(
            text_delta("Hello", **first),
            text_delta(" there.", **second),
            event("content_part.done", output_index=0, **third),
            *end,
            completed(message(*whole)),
        )
        assert shown(events) == "Hello there."
        assert decoder.completion.text == "Hello there."


def test_text_is_shown_once_when_only_its_end_has_another_index() -> None:
    tail = event("output_text.done", output_index=0, content_index=1, text="Hello there.")

    events, _ = decode(text_delta("Hello"), tail, tail, completed(message("Hello there.")))

    assert shown(events) == "Hello there."
    assert len([found for found in events if isinstance(found, BlockStart)]) == 1


def test_a_second_part_that_begins_like_the_first_is_a_part_of_its_own() -> None:
    end = event("output_text.done", output_index=0, content_index=0, text="One")
    second = event("output_text.done", output_index=0, content_index=1, text="One more")

    assert shown(decode(text_delta("One"), end, second)[0]) == "OneOne more"


def test_an_item_with_another_index_at_the_end_is_shown_once() -> None:
    events, decoder = decode(
        text_delta("Hi", output_index=3), completed(REASONING, {**message("Hi!"), "id": "new"})
    )

    assert (shown(events), decoder.completion.text) == ("Hi!", "Hi!")
    assert len(decoder.completion.items) == 2


def test_what_only_the_end_of_a_stream_has_is_added_part_by_part() -> None:
    summary = [{"type": "summary_text", "text": text} for text in ("One", "Two", "Three")]
    early = [
        event("reasoning_summary_text.delta", output_index=0, summary_index=index, delta=text)
        for index, text in enumerate(("One", "Tw"))
    ]

    events, _ = decode(*early, completed({**REASONING, "summary": summary}))

    texts = [(found.index, found.text) for found in events if isinstance(found, BlockDelta)]
    assert texts == [(0, "One"), (1, "Tw"), (1, "o"), (2, "Three")]


def test_a_part_that_was_closed_too_early_goes_on_in_another_block() -> None:
    closed = event(
        "content_part.done", output_index=0, content_index=0, part={"type": "output_text"}
    )

    events, _ = decode(text_delta("Hel"), closed, completed(message("Hello")))

    assert shown(events) == "Hello"


def test_half_a_character_gives_way_to_the_whole_one() -> None:
    events, _ = decode(text_delta("a\ud83d"), completed(message("a\U0001f600b")))

    assert shown(events) == "a\U0001f600b"


NOTHING = ["", None, [], {}, 7, "missing"]


def without(value: object, key: str) -> dict[str, object]:
    return {} if value == "missing" else {key: value}


@pytest.mark.parametrize("empty", NOTHING, ids=repr)
@pytest.mark.parametrize("is_in_item", [True, False])
@pytest.mark.parametrize("item_type", ["function_call", "custom_tool_call"])
def test_no_empty_arguments_take_away_what_streamed(
    empty: object, item_type: str, *, is_in_item: bool
) -> None:
    key = "arguments" if item_type == "function_call" else "input"
    name = "function_call_arguments" if key == "arguments" else "custom_tool_call_input"
    call = {**CALL, "type": item_type}
    bare = {**call, **without(empty, key)}
    _, decoder = decode(
        event("output_item.added", output_index=0, item=call),
        event(f"{name}.delta", output_index=0, delta='{"a"'),
        event(f"{name}.delta", output_index=0, delta=":1}"),
        event(f"{name}.done", output_index=0, **without(empty, key)),
        done(bare),
        completed(*([bare] if is_in_item else [])),
    )

    (found,) = decoder.completion.tool_calls
    assert found.arguments == '{"a":1}'
    assert decoder.completion.items[0][key] == '{"a":1}'


def test_arguments_that_are_only_in_an_early_end_are_kept() -> None:
    whole = event("function_call_arguments.done", output_index=0, arguments='{"a":1}')
    nothing = event("function_call_arguments.done", output_index=0, arguments="")

    _, decoder = decode(whole, nothing, done({**CALL, "arguments": None}), completed())

    assert decoder.completion.tool_calls[0].arguments == '{"a":1}'


@pytest.mark.parametrize("empty", NOTHING, ids=repr)
@pytest.mark.parametrize("is_in_output", [True, False])
def test_no_empty_message_takes_away_what_streamed(empty: object, *, is_in_output: bool) -> None:
    kept = {**MESSAGE, "phase": "final_answer"}
    part = {"type": "output_text", **without(empty, "text")}
    for bare in ({**kept, **without(empty, "content")}, {**kept, "content": [part, part]}):
        events, decoder = decode(
            text_delta("Hel"),
            text_delta("lo", content_index=1),
            done(bare),
            completed(*([bare] if is_in_output else [])),
        )
        assert shown(events) == decoder.completion.text == "Hello"
        assert decoder.completion.items[0]["phase"] == "final_answer"


def test_a_part_that_is_empty_at_the_end_is_filled_and_the_others_are_left_alone() -> None:
    _, decoder = decode(
        text_delta("Hel"), text_delta("lo", content_index=1), completed(message("Hel", ""))
    )

    assert decoder.completion.items == (message("Hel", "lo"),)


def test_a_refusal_and_a_text_are_both_kept() -> None:
    _, decoder = decode(
        text_delta("Well."),
        event("refusal.delta", output_index=0, content_index=1, delta="No."),
        completed({**MESSAGE, "content": []}),
    )

    assert (decoder.completion.text, decoder.completion.refusal) == ("Well.", "No.")


@pytest.mark.parametrize("empty", NOTHING, ids=repr)
def test_no_empty_summary_takes_away_what_streamed(empty: object) -> None:
    bare = {"type": "reasoning", "id": "rs_1", **without(empty, "summary")}
    _, decoder = decode(
        event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="A"),
        event("reasoning_summary_text.delta", output_index=0, summary_index=1, delta="B"),
        done(REASONING),
        completed(bare),
    )

    assert decoder.completion.reasoning_summaries == ("A", "B")
    assert decoder.completion.items[0]["encrypted_content"] == "e"


@pytest.mark.parametrize("empty", [None, {}, [], "x"], ids=repr)
def test_an_end_without_its_item_ends_it_with_what_has_come(empty: object) -> None:
    events, decoder = decode(
        event("output_item.added", output_index=0, item=CALL),
        event("function_call_arguments.delta", output_index=0, delta='{"a":1}'),
        done(empty),
        completed(),
    )

    assert [found.arguments for found in decoder.completion.tool_calls] == ['{"a":1}']
    assert any(isinstance(found, ItemDone) for found in events)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Hello.", "Hello."),
        (["Hello", " there."], "Hello there."),
        ({"type": "output_text", "text": "Hello."}, "Hello."),
        ([{"type": "output_text", "text": "Hello"}, "."], "Hello."),
        ([5, "Hello."], "Hello."),
    ],
    ids=repr,
)
@pytest.mark.parametrize("is_in_item", [True, False])
def test_a_message_whose_content_is_a_bare_text_is_shown(
    content: object, text: str, *, is_in_item: bool
) -> None:
    bare = {**MESSAGE, "content": content}
    events, decoder = decode(*([done(bare)] if is_in_item else []), completed(bare))

    assert shown(events, "text") == decoder.completion.text == text
    completion = read_response({"status": "completed", "output": [bare]})
    assert completion.text == text
    assert all(isinstance(part, dict) or part == 5 for part in completion.items[0]["content"])


@pytest.mark.parametrize(
    ("response", "field"),
    [
        ({"status": 5}, "status"),
        ({"status": ["completed"], "output": []}, "status"),
        ({"status": False, "output": [message("Hi")]}, "status"),
        ({"status": "completed", "output": "Hi"}, "output"),
        ({"status": "completed", "output": {"type": "message"}}, "output"),
    ],
    ids=repr,
)
def test_a_response_whose_state_or_output_is_of_another_type_is_no_empty_success(
    response: Event, field: str
) -> None:
    with pytest.raises(MessageError, match=f"^{field}: expected a ") as caught:
        read_response(response)
    [failure] = failures(decode(event("completed", response=response))[0])

    assert caught.value.field == field
    assert failure.message.startswith(f"{field}: expected a ")


@pytest.mark.parametrize("is_streamed", [True, False])
def test_arguments_that_are_an_object_are_written_as_text(*, is_streamed: bool) -> None:
    call = {**CALL, "arguments": {"a": "é", "b": float("nan")}}
    early = [
        event("output_item.added", output_index=0, item=CALL),
        event("function_call_arguments.done", output_index=0, arguments=call["arguments"]),
    ]

    events, decoder = decode(*(early if is_streamed else []), completed(call))

    expected = '{"a": "é", "b": null}'
    (bare,) = decode(completed({**CALL, "arguments": {}}))[1].completion.tool_calls
    assert bare.arguments == "{}"
    assert shown(events, "tool_use") == expected
    assert decoder.completion.tool_calls[0].arguments == expected
    assert decoder.completion.items[0]["arguments"] == expected
    assert read_response({"output": [call]}).tool_calls[0].arguments == expected


def calls(count: int, **fields: object) -> list[Event]:
    ids = ({"id": CountedText(f"fc_{n}"), "call_id": CountedText(f"c{n}")} for n in range(count))
    return [{**CALL, **one, "arguments": "{}", **fields} for one in ids]


@pytest.mark.parametrize("ids", [{}, {"id": None}, {"id": ""}, {"id": "x"}], ids=repr)
@pytest.mark.parametrize("is_in_output", [True, False])
def test_without_an_index_the_ends_of_items_alone_are_enough(
    ids: dict[str, object], *, is_in_output: bool
) -> None:
    items = [{**message("Hi"), **ids}, *calls(3, **ids)]
    ends = [event("output_item.done", item=item) for item in items]

    events, decoder = decode(
        text_delta("H", output_index=None),
        *(one for end in ends for one in (end, end)),
        completed(*(items if is_in_output else [])),
    )

    assert [call.call_id for call in decoder.completion.tool_calls] == ["c0", "c1", "c2"]
    assert shown(events) == decoder.completion.text == "Hi"
    assert len([found for found in events if isinstance(found, ItemDone)]) == 4


@pytest.mark.parametrize("is_completed", [True, False])
def test_a_call_whose_arguments_have_ended_needs_no_other_end(*, is_completed: bool) -> None:
    (call,) = calls(1)
    _, decoder = decode(
        event("output_item.added", output_index=0, item={**call, "arguments": ""}),
        event("function_call_arguments.done", output_index=0, arguments=call["arguments"]),
        *([completed()] if is_completed else []),
    )

    found = [(one.call_id, one.arguments) for one in decoder.completion.tool_calls]
    assert found == ([(call["call_id"], call["arguments"])] if is_completed else [])


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("name", ["completed", "incomplete", "cancelled"])
def test_an_end_with_a_number_that_has_come_is_the_end(name: str, number: int) -> None:
    first, second = calls(2)
    ended = event(name, response={"output": [second], "status": name, "usage": {"input_tokens": 3}})
    events, decoder = decode(
        event("created", sequence_number=0, response={}),
        done(first, sequence_number=1),
        done(second, output_index=1, sequence_number=2),
        {**ended, "sequence_number": number},
    )

    assert isinstance(events[-1], ResponseEnded)
    assert decoder.is_over
    assert [item["call_id"] for item in decoder.completion.items] == ["c0", "c1"]


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    "end", [event("failed", response={"status": "failed"}), event("error"), {"type": "error"}]
)
def test_a_failure_with_a_number_that_has_come_is_told_once(end: Event, number: int) -> None:
    end = {**end, "error": {"code": "rate_limit", "message": "Slow down."}}
    events, _ = decode(
        event("created", sequence_number=0, response={}),
        text_delta("Hi", sequence_number=1),
        *(2 * [{**end, "sequence_number": number}]),
    )

    assert [failure.code for failure in failures(events)] == ["rate_limit"]


def test_without_an_index_a_call_after_a_text_is_no_part_of_it() -> None:
    (call,) = calls(1)
    _, decoder = decode(
        event("output_text.delta", delta="Hi"), event("output_item.done", item=call), completed()
    )

    assert [item["type"] for item in decoder.completion.items] == ["message", "function_call"]


def test_without_an_index_two_calls_with_one_id_are_two_calls() -> None:
    first, second = ({**CALL, "id": None, "arguments": text} for text in ("1", "2"))
    ends = [event("output_item.done", item=item) for item in (first, second, second)]

    _, decoder = decode(*ends, completed())

    assert [call.arguments for call in decoder.completion.tool_calls] == ["1", "2"]


def test_a_custom_call_whose_input_came_first_is_one_call() -> None:
    call = {**CALL, "type": "custom_tool_call", "input": "ls"}
    _, decoder = decode(
        event("custom_tool_call_input.delta", delta="ls"),
        event("output_item.done", item=call),
        completed(),
    )

    assert [call.arguments for call in decoder.completion.tool_calls] == ["ls"]


@pytest.mark.parametrize("part", [{}, {"part": None}, {"part": {"text": "A"}}])
def test_a_summary_part_that_ends_without_itself_is_closed(part: dict[str, object]) -> None:
    events, _ = decode(
        event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="A"),
        event("reasoning_summary_part.done", output_index=0, summary_index=0, **part),
    )

    assert events[1:] == [
        BlockDelta(index=0, kind="summary_text", text="A"),
        BlockStop(index=0, kind="summary_text"),
    ]


def test_a_part_that_ends_without_itself_is_closed() -> None:
    events, _ = decode(text_delta("A"), event("content_part.done", output_index=0, content_index=0))

    assert events[-1] == BlockStop(index=0, kind="text")


DETAILS = {"code": "rate_limit_exceeded", "message": "Slow down.", "param": "p"}
OF_DETAILS = ResponseFailure(code="rate_limit_exceeded", message="Slow down.", param="p")
OF_DETAILS_OF_P = replace(OF_DETAILS, message="p: Slow down.")
OF_NUMBER = ResponseFailure(code="429", message="Slow down.")
OF_TEXT = ResponseFailure(code=None, message="Slow down.")
OF_STATUS = ResponseFailure(code=None, message="response failed with the status 'error'")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (event("completed", response={"error": DETAILS}), OF_DETAILS),
        (event("completed", response={"error": "Slow down."}), OF_TEXT),
        (completed(message("Hi"), error=DETAILS), OF_DETAILS),
        (event("completed", response={"status": "completed"}, error=DETAILS), OF_DETAILS),
        (event("completed", response={"status": "error"}), OF_STATUS),
        (completed(message("Hi"), status="error"), OF_STATUS),
        (event("failed", response={"error": "Slow down."}), OF_TEXT),
        (event("incomplete", response={"error": DETAILS}), OF_DETAILS),
        ({"error": DETAILS}, OF_DETAILS),
        ({"error": "Slow down."}, OF_TEXT),
        ({"type": "", "error": DETAILS}, OF_DETAILS),
        ({"type": "message", "error": DETAILS}, OF_DETAILS),
        ({"object": "error", **DETAILS}, OF_DETAILS),
        ({"status": "error", "message": "Slow down."}, OF_TEXT),
        (event("error", error=DETAILS), OF_DETAILS),
        ({"type": "error", "error": "Slow down."}, OF_TEXT),
        ({"error": ["busy"]}, ResponseFailure(code=None, message="busy")),
        ({"error": "Slow down.", **DETAILS, "message": None}, OF_DETAILS),
        (
            {
                "detail": [
                    {"msg": "Slow down.", "loc": ["body", "p"], "type": "rate_limit_exceeded"}
                ]
            },
            OF_DETAILS_OF_P,
        ),
        ({"message": "Slow down.", "code": 429, "request_id": "r"}, OF_NUMBER),
        ({"success": False, "errors": [{"code": 429, "message": "Slow down."}]}, OF_NUMBER),
        (event("error", detail="Slow down."), OF_TEXT),
        (event("failed", **DETAILS), OF_DETAILS),
        (event("failed", response=None, error=["Slow down."]), OF_TEXT),
        (event("failed", response={"error": None, "detail": "Slow down."}), OF_TEXT),
        ({"code": 429, "msg": "Slow down."}, OF_NUMBER),
        (
            {"error": {"type": "busy"}},
            ResponseFailure(code="busy", message="the stream reported an error"),
        ),
    ],
    ids=str,
)
def test_an_error_is_a_failure_wherever_it_stands(answer: Event, expected: ResponseFailure) -> None:
    for before in ([], [text_delta("Hi")]):
        events, decoder = decode(*before, answer, completed(message("Hi")))

        assert failures(events) == [expected]
        assert (decoder.is_over, decoder.completion.status) == (True, "failed")


def test_an_error_with_values_of_other_types_is_told_all_the_same() -> None:
    error = {"code": 429, "message": {"en": "Slow down."}, "param": ["input", 0], "type": "x"}

    (failure,) = failures(decode({"error": error})[0])

    assert failure == ResponseFailure(
        code="429", message='{"en": "Slow down."}', param='["input", 0]'
    )


@pytest.mark.parametrize("status", ["cancelled", "queued", "in_progress"])
def test_a_response_that_ends_without_an_answer_before_its_time_is_a_failure(status: str) -> None:
    ends = [completed(status=status), completed(REASONING, *calls(1), status=status)]
    if status == "cancelled":
        ends += [event("cancelled", response={}), event("failed", response={"status": status})]
    for end in ends:
        events, decoder = decode(end)

        assert [failure.code for failure in failures(events)] == [status]
        assert (events[-1], decoder.completion.status) == (ResponseEnded(status=status), status)


def test_a_response_that_was_cancelled_in_the_middle_of_its_answer_keeps_it() -> None:
    events, decoder = decode(text_delta("Hi"), event("cancelled", response={"status": "cancelled"}))

    assert (failures(events), decoder.completion.text) == ([], "Hi")


@pytest.mark.parametrize(
    "chunk",
    [
        {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}}]},
        {"object": "chat.completion", "choices": [{"message": {"content": "Hi"}}]},
        {"id": "x", "choices": []},
        {"type": "message", "object": "text_completion", "choices": [{"text": "Hi"}]},
    ],
    ids=str,
)
def test_chat_completions_are_told_in_a_sentence(chunk: Event) -> None:
    events, decoder = decode(chunk)

    (failure,) = failures(events)
    assert failure.code == "chat_completions"
    assert "Chat Completions" in failure.message
    assert decoder.is_over


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"type": "content_block_delta"}, "anthropic_messages"),
        ({"type": "message", "stop_reason": None}, "anthropic_messages"),
        ({"candidates": []}, "gemini"),
        ({"promptFeedback": {}}, "gemini"),
        ({"message": {}, "done": False}, "ollama"),
        ({"done": True}, None),
        ({"type": "message"}, None),
    ],
    ids=str,
)
def test_answers_of_other_protocols_are_told_in_a_sentence(answer: Event, code: str | None) -> None:
    events, _ = decode(answer)

    assert find_protocol(answer) == code
    assert [found.code for found in failures(events)] == ([code] if code else [])
    assert all(str(protocol_name(code)) in found.message for found in failures(events))


@pytest.mark.parametrize(
    "unknown", [event("new", error={"code": "x"}), {"type": "ping"}, {}, {"error": None}]
)
def test_an_unknown_event_is_no_failure(unknown: Event) -> None:
    events, decoder = decode(unknown, completed(message("Hi")))

    assert isinstance(events[0], UnknownEvent)
    assert (failures(events), decoder.completion.text) == ([], "Hi")


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("response", "field"),
    [
        ({"output": [{**CALL, "call_id": 7}]}, "output[0].call_id"),
        ({"output": [REASONING, {**CALL, "name": ["f"]}]}, "output[1].name"),
        ({"output": [{"type": "new", "data": nested(1_500)}]}, "output[0].data"),
        ({"output": [{**CALL, "arguments": {"a": nested(201)}}]}, "output[0].arguments"),
        ({"output": [{**MESSAGE, "content": nested(1_500)}]}, "output[0].content"),
        ({"usage": {"input_tokens": 10**30}}, "usage.input_tokens"),
        ({"usage": {"prompt_tokens": f"{10**17}"}}, "usage.prompt_tokens"),
        (
            {"usage": {"output_tokens_details": {"reasoning_tokens": 10**30}}},
            "usage.output_tokens_details.reasoning_tokens",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_read_is_a_failure_that_names_its_field(
    response: dict[str, object], field: str
) -> None:
    events, decoder = decode(event("completed", response={"status": "completed", **response}))

    assert [(found.code, found.param) for found in failures(events)] == [("parse_error", field)]
    assert failures(events)[0].message.startswith(f"{field}: ")
    assert decoder.completion.status == "failed"
    with pytest.raises(MessageError) as caught:
        read_response(response)
    assert caught.value.field == field


@pytest.mark.parametrize("name", ["added", "done"])
def test_an_item_that_cannot_be_read_ends_the_stream_at_once(name: str) -> None:
    broken = event(f"output_item.{name}", output_index=2, item={**CALL, "call_id": 7})

    (failure,) = failures(decode(broken, completed())[0])

    assert failure.param == "output[2].call_id"


def test_what_came_before_an_item_that_cannot_be_read_can_be_read() -> None:
    deep = event("output_item.added", output_index=1, item={"type": "new", "data": nested(150)})
    events, decoder = decode(text_delta("Hi"), deep, event("new", data=nested(1_500)))

    assert isinstance(events[-1], UnknownEvent)
    assert decoder.completion.text == "Hi"


def test_numbers_that_json_does_not_have_are_none() -> None:
    odd = {"type": "new", "probability": float("-inf"), "number": 10**30, "half": 0.5}

    _, decoder = decode(completed(odd))

    assert decoder.completion.items == ({**odd, "probability": None},)


def sse(*frames: bytes) -> tuple[list[StreamEvent], StreamDecoder]:
    bytes_in, decoder = SSEDecoder(), StreamDecoder()
    events = [
        found
        for one in [*bytes_in.feed(b"".join(frames)), *bytes_in.close()]
        for found in decoder.feed(one)
    ]
    return events + decoder.close(), decoder


def frame(one: Event) -> bytes:
    return b"data: " + json.dumps(one).encode() + b"\n\n"


@pytest.mark.parametrize(
    "foreign",
    [
        b"event: ping\n\n",
        b"event: ping\ndata: ping\n\n",
        b"event: ping\ndata:\n\n",
        b"data: 2026-11-22T12:00:00\n\n",
        b"data: null\n\n",
        b'id: "1"\nretry: 10\n\n',
        b"data: [DONE]\n\n",
        b"event: response.completed\ndata: [DONE]\n\n",
        b"event: response.completed\ndata:  [DONE] \n\n",
        b"event: error\n\n",
        b": a comment {}\n\n",
        b"x: y\n\n",
    ],
)
def test_a_frame_that_is_no_event_is_skipped(foreign: bytes) -> None:
    events, decoder = sse(
        frame(text_delta("H")), foreign, frame(text_delta("i")), foreign, frame(completed())
    )

    assert (failures(events), decoder.completion.text) == ([], "Hi")


BROKEN = [
    b"event: response.output_text.delta\ndata: not json\n\n",
    b"event: response.output_text.delta\ndata:\n\n",
    b'data: {"type": "response.output_text.delta", "delta": "oo\n\n',
    b"data: [1]\n\n",
    b'da\xffta: {"type": "x"}\n\n',
    b'dota: {"type: "x"}\n\n',
    b'data: {"type": "x\xff"}\n\n',
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_frame_is_no_harm_where_the_text_is_confirmed(broken: bytes) -> None:
    events, decoder = sse(frame(text_delta("Hi")), broken, frame(completed(message("Hi"))))

    assert (failures(events), decoder.completion.text) == ([], "Hi")


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("end", [completed(), completed(message("Hi there")), None])
def test_a_broken_frame_is_a_failure_where_the_text_is_not_confirmed(
    broken: bytes, end: Event | None
) -> None:
    events, _ = sse(
        frame(text_delta("Hi")), broken, frame(text_delta("!")), frame(end) if end else b""
    )

    (failure,) = failures(events)
    assert failure.message.startswith("Failed to parse the stream: ")


@pytest.mark.parametrize(
    ("wire", "field"),
    [
        (
            b'{"type": "response.completed", "response": {"output": [1, {"a\\"b": [2, %b',
            'response.output[1].a"b',
        ),
        (
            b'{"type": "response.output_item.done", "item": {"type": "x", "content": %b',
            "item.content",
        ),
        (b"%b", "the event"),
    ],
)
def test_what_nests_deeper_than_any_reader_can_follow_is_named(wire: bytes, field: str) -> None:
    """Not only the depth: `]` and `}` close what they close, and a text is no structure."""
    deep = b'{"a": "[{", "b": [{"c": [1, 2]}]}, ' + b"[" * 5_000
    (failure,) = failures(sse(frame(text_delta("Hi")), b"data: " + wire % b"[" + deep + b"\n\n")[0])

    assert (failure.code, failure.param) == ("parse_error", field)
    assert failure.message == f"Failed to parse the stream: {field}: nests deeper than can be read"


def test_a_frame_that_is_cut_off_is_the_end_of_the_stream() -> None:
    (failure,) = failures(sse(frame(text_delta("Hi")), b'data: {"type": "response.comp')[0])

    assert failure.code == "stream_ended_early"


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        (b"event: error\ndata: The model is busy.\n\n", "The model is busy."),
        (b'{"error": {"message": "Busy."}}', "Busy."),
        (b'{\n  "error": "Busy."\n}\n', "Busy."),
    ],
)
def test_an_error_in_a_frame_of_its_own_kind_is_told(wire: bytes, message: str) -> None:
    assert [failure.message for failure in failures(sse(wire)[0])] == [message]


def numbered(*events: Event, numbers: list[int] | None = None) -> list[Event]:
    counted = numbers or range(len(events))
    return [{**one, "sequence_number": n} for one, n in zip(events, counted, strict=True)]


TEXT = [text_delta("a"), text_delta("b"), text_delta("c")]
ENDS = {
    "told by the response": ([], [message("abc")], True),
    "told by the item": ([done(message("abc"))], [], False),
    "told by both": ([done(message("abc"))], [message("abc")], True),
    "told by nobody": ([], [], False),
    "not what is told": ([], [message("xyz")], False),
}


@pytest.mark.parametrize(("ends", "output", "is_fine"), ENDS.values(), ids=ENDS)
def test_where_a_number_is_missing_only_the_response_confirms_the_text(
    ends: list[Event], output: list[Event], *, is_fine: bool
) -> None:
    start = event("in_progress")
    stream = numbered(start, *TEXT, *ends, completed(*output))
    del stream[0 if is_fine else 2]
    gap = [stream[0], {**stream[1], "sequence_number": 1}, *stream[2:]]

    events, _ = decode(*([start, *gap] if is_fine else gap))

    assert bool(failures(events)) is not is_fine


def test_a_missing_event_that_left_no_trace_in_the_text_is_no_harm() -> None:
    stream = numbered(*TEXT[:2], event("in_progress"), TEXT[2], completed(message("abc")))
    del stream[2]

    assert failures(decode(*stream)[0]) == []


def test_a_missing_event_is_a_failure_where_nothing_tells_the_text() -> None:
    stream = numbered(
        event("in_progress"), *TEXT, event("in_progress"), done(message("abc")), completed()
    )
    del stream[4]

    assert [failure.code for failure in failures(decode(*stream)[0])] == ["inconsistent_stream"]


def test_a_response_that_overtakes_the_end_of_its_item_is_a_failure() -> None:
    stream = numbered(*TEXT, done(message("abcdef")), completed())
    stream[3], stream[4] = stream[4], stream[3]

    assert [failure.code for failure in failures(decode(*stream)[0])] == ["inconsistent_stream"]


def test_an_item_that_overtakes_its_deltas_is_no_harm() -> None:
    stream = numbered(*TEXT, done(message("abc")), completed())
    stream[2], stream[3] = stream[3], stream[2]

    events, _ = decode(*stream)
    assert (failures(events), shown(events)) == ([], "abc")


@pytest.mark.parametrize("first", [0, 5])
def test_the_first_two_events_may_change_places(first: int) -> None:
    stream = numbered(
        text_delta("b"),
        text_delta("a"),
        completed(message("ab")),
        numbers=[first + 1, first, first + 2],
    )

    assert [failure.code for failure in failures(decode(*stream)[0])] == ["inconsistent_stream"]


def test_texts_of_two_items_in_the_wrong_order_are_a_failure() -> None:
    first, second = ({**message(text), "id": text} for text in ("ab", "cd"))
    deltas = [text_delta("a"), text_delta("b"), text_delta("cd", output_index=1)]
    stream = numbered(*deltas, completed(first, second))
    stream[1], stream[2] = stream[2], stream[1]

    assert [failure.code for failure in failures(decode(*stream)[0])] == ["inconsistent_stream"]


def with_ends(count: int) -> list[Event]:
    tail = event("output_text.done", output_index=0, content_index=0, text="x")
    return [one for _ in range(count) for one in (text_delta("word "), tail)]


GROWING: dict[str, Callable[[int], list[Event]]] = {
    "items without an index": lambda count: [
        event("output_item.done", item=item) for item in calls(count)
    ],
    "items and deltas without an index": lambda count: [
        one
        for call in calls(count)
        for one in (
            event("output_item.added", item=call),
            event("function_call_arguments.delta", item_id=call["id"], delta="{}"),
        )
    ],
    "ends of a growing text": with_ends,
    "ends of a growing text with other indexes": lambda count: [
        {**one, "content_index": number} if number % 2 else one
        for number, one in enumerate(with_ends(count))
    ],
    "ends of the same item": lambda count: [done(message("word " * 10))] * count,
    "parts": lambda count: [
        *(text_delta("word ", content_index=number) for number in range(count)),
        completed(message(*["word "] * count)),
    ],
    "items only at the end": lambda count: [completed(*calls(count))],
    "items with other ids at the end": lambda count: [
        *(done(call, output_index=number) for number, call in enumerate(calls(count))),
        completed(*reversed(calls(count, id=None))),
    ],
    "calls of hosted tools": lambda count: [
        one
        for number in range(count)
        for one in (
            event("web_search_call.searching", output_index=number),
            event("code_interpreter_call_code.delta", output_index=number, delta="x = 1"),
            done({"type": "web_search_call", "id": f"ws_{number}"}, output_index=number),
        )
    ],
    "previews of images": lambda count: (
        [
            event(
                "image_generation_call.partial_image",
                output_index=0,
                partial_image_b64="A" * 10_000,
            )
        ]
        * count
    ),
    "gaps in the numbers": lambda count: [
        {**text_delta("a"), "sequence_number": number * 4_000} for number in range(count)
    ],
}


@pytest.mark.parametrize("make", GROWING.values(), ids=GROWING)
def test_the_cost_does_not_grow_faster_than_the_stream(
    make: Callable[[int], list[Event]],
) -> None:
    def decode(count: int) -> None:
        decoder = StreamDecoder()
        for one in make(count):
            decoder.feed(one)
        assert decoder.completion is not None

    assert is_linear(decode, 100)


def test_gaps_are_remembered_within_one_bound_for_all() -> None:
    order_costs = [{**text_delta("a"), "sequence_number": number * 4_000} for number in range(100)]
    decoder = StreamDecoder()
    for one in order_costs:
        decoder.feed(one)

    assert len(decoder._order._missing) <= 4_096


@pytest.mark.parametrize("phase", ["commentary", "final_answer", None])
def test_a_block_tells_the_phase_of_its_message(phase: str | None) -> None:
    said = {**MESSAGE, "phase": phase}
    added = event("output_item.added", output_index=0, item={**said, "content": []})
    streamed, _ = decode(added, text_delta("Looking."))
    whole, _ = decode(completed({**message("Looking."), "phase": phase}))

    for events in (streamed, whole):
        assert [found.phase for found in events if isinstance(found, BlockStart)] == [phase]


CONSTANT: dict[str, Callable[[list[Event]], list[Event]]] = {
    "each item announced, grown and ended": lambda items: [
        one
        for item in items
        for one in (
            event("output_item.added", output_index=0, item=without_content(item)),
            *grown(item),
            done(item),
        )
    ],
    "all announced, then grown by id, then ended": lambda items: [
        *(event("output_item.added", output_index=0, item=without_content(item)) for item in items),
        *(one for item in items for one in grown(item)),
        *map(done, items),
    ],
    "ends alone": lambda items: [*map(done, items)],
    "ends alone, each twice": lambda items: [done(item) for item in items for _ in "12"],
    "grown, then ended, never announced": lambda items: [
        *(one for item in items for one in grown(item)),
        *map(done, items),
    ],
    "each grown and ended, never announced": lambda items: [
        one for item in items for one in (*grown(item), done(item))
    ],
}


def without_content(item: Event) -> Event:
    empty = {"content": [], "summary": [], "arguments": ""}
    return {key: empty.get(key, value) for key, value in item.items()}


def grown(item: Event) -> list[Event]:
    """Return the events by which an item's text streams in, all with one index."""
    where = {"output_index": 0, "item_id": item.get("id")}
    if item["type"] == "function_call":
        text = str(item["arguments"])
        name, key, part = "function_call_arguments", "arguments", {}
    elif item["type"] == "message":
        text, name, key, part = (
            item["content"][0]["text"],
            "output_text",
            "text",
            {"content_index": 0},
        )
    else:
        text, name, key = item["summary"][0]["text"], "reasoning_summary_text", "text"
        part = {"summary_index": 0}
    deltas = [
        event(f"{name}.delta", **where, **part, delta=piece) for piece in (text[:1], text[1:])
    ]
    return [*deltas, event(f"{name}.done", **where, **part, **{key: text})]


ITEMS = [
    {**REASONING, "summary": [{"type": "summary_text", "text": "Why."}]},
    {**message("Hi."), "id": "m1"},
    *calls(2),
    {**REASONING, "id": "rs_2", "summary": [{"type": "summary_text", "text": "So."}]},
    {**message("Bye."), "id": "m2"},
    {**CALL, "id": "fc_9", "call_id": "c9", "arguments": "[9]"},
]


@pytest.mark.parametrize("make", CONSTANT.values(), ids=CONSTANT)
@pytest.mark.parametrize("is_in_output", [True, False])
def test_items_that_all_have_one_index_are_told_apart(
    make: Callable[[list[Event]], list[Event]], *, is_in_output: bool
) -> None:
    events, decoder = decode(*make(ITEMS), completed(*(ITEMS if is_in_output else [])))

    found = decoder.completion
    assert [(call.call_id, call.arguments) for call in found.tool_calls] == [
        ("c0", "{}"),
        ("c1", "{}"),
        ("c9", "[9]"),
    ]
    assert (found.text, found.reasoning_summaries) == ("Hi.Bye.", ("Why.", "So."))
    assert (shown(events), shown(events, "summary_text")) == ("Hi.Bye.", "Why.So.")
    assert shown(events, "tool_use") == "{}{}[9]"
    assert [item["id"] for item in found.items] == [item["id"] for item in ITEMS]


# What grows beside another item, without an id of its own, cannot be told apart.
ALONE = {name: make for name, make in CONSTANT.items() if not name.startswith("all announced")}


@pytest.mark.parametrize("make", ALONE.values(), ids=ALONE)
@pytest.mark.parametrize("ids", [{"id": None}, {"id": ""}, {"id": "x"}], ids=repr)
def test_calls_and_texts_that_share_an_index_and_an_id_are_told_apart(
    make: Callable[[list[Event]], list[Event]], ids: Event
) -> None:
    items = [{**item, **ids} for item in ITEMS[1:4]]

    _, decoder = decode(*make(items), completed())

    assert [call.call_id for call in decoder.completion.tool_calls] == ["c0", "c1"]
    assert decoder.completion.text == "Hi."


def test_ids_that_change_on_every_event_tell_no_items_apart() -> None:
    item = {**message("Hi there."), "id": "last"}
    stream = [
        event("output_item.added", output_index=0, item=without_content({**item, "id": "first"})),
        *({**one, "item_id": f"id{number}"} for number, one in enumerate(grown(item))),
        done(item),
        completed(),
    ]

    events, decoder = decode(*stream)

    assert (shown(events), len(decoder.completion.items)) == ("Hi there.", 1)


ENDED = {
    "a message": ([message("Hi")], True),
    "calls": (calls(2), True),
    "reasoning and a message": ([REASONING, message("Hi")], True),
    "a message and a call, whole": ([message("Hi", status="completed"), *calls(1)], True),
    "reasoning alone": ([REASONING], False),
    "a message, and reasoning after it": ([message("Hi"), REASONING], False),
    "a message that is incomplete": ([message("Hi", status="incomplete")], False),
    "nothing": ([], False),
}


@pytest.mark.parametrize(("items", "is_whole"), ENDED.values(), ids=ENDED)
def test_a_stream_that_never_says_that_it_ends_has_ended_with_its_items(
    items: list[Event], *, is_whole: bool
) -> None:
    ends = [done(item, output_index=number) for number, item in enumerate(items)]
    for tail in (b"", b"data: [DONE]\n\n"):
        events, decoder = sse(*map(frame, ends), tail)

        assert [failure.code for failure in failures(events)] == (
            [] if is_whole else ["stream_ended_early"]
        )
        if is_whole:
            assert events[-1] == ResponseEnded(status="completed")
            assert list(decoder.completion.items) == items


@pytest.mark.parametrize(
    "more",
    [
        frame(event("output_item.added", output_index=1, item=CALL)),
        frame(text_delta("And", output_index=1)),
        b'data: {"type": "response.output_text.delta", "delta": "oo\n\n',
    ],
    ids=["a call", "a text", "a broken frame"],
)
def test_a_stream_that_breaks_off_after_an_item_is_a_failure(more: bytes) -> None:
    assert len(failures(sse(frame(done(message("Hi"))), more)[0])) == 1


def test_a_stream_that_misses_events_and_its_end_is_a_failure() -> None:
    stream = numbered(*TEXT, done(message("abcd")))
    del stream[1]

    events, decoder = decode(*stream)

    assert failures(events) == []
    assert len(failures(decoder.close())) == 1
