"""What has the fields of an input is one, whoever wrote it."""

import tracemalloc
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_loop import (
    AgentRun,
    CallModel,
    CompactedWindow,
    Finished,
    Message,
    MessageError,
    ModelDelta,
    ModelDone,
    ModelFailure,
    SnapshotError,
    TimePassed,
    TimeShort,
    ToolCall,
    ToolCallFragment,
    ToolResult,
    Usage,
    dump_inputs,
    dump_messages,
    iter_dumped_messages,
    load_inputs,
    load_messages,
    read_input,
)


QUESTION = ({"role": "user", "content": "2 + 2?"},)
CALLS = [
    {"call_id": "c1", "name": "add", "arguments": '{"a": 2}'},
    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}},
    {"id": "c1", "name": "add", "args": {"a": 2}, "type": "tool_call"},
    {"tool_call_id": "c1", "tool_name": "add", "args": '{"a": 2}'},
    SimpleNamespace(call_id="c1", name="add", arguments='{"a": 2}'),
]


def start():
    run = AgentRun(QUESTION, maximum_iterations=3)
    run.start()
    return run


@pytest.mark.parametrize("call", CALLS)
def test_a_call_in_any_shape_is_run_and_goes_back_in_one(call):
    run = start()
    run.feed({"text": "Let me see.", "tool_calls": [call]})
    [*_, wanted] = run.feed(ModelDone())
    assert wanted.calls == (ToolCall(call_id="c1", name="add", arguments='{"a": 2}'),)
    [*_, request] = run.feed({"call_id": "c1", "content": "4"})
    assert request.messages == (
        *QUESTION,
        Message(role="assistant", content="Let me see.", tool_calls=wanted.calls),
        Message(role="tool", content="4", tool_call_id="c1", name="add"),
    )


def test_a_whole_answer_is_one_piece_and_what_its_client_wants_back_goes_along():
    answer = SimpleNamespace(
        text="4",
        tool_calls=(),
        usage={"input_tokens": 7, "cached_tokens": 3, "output_tokens": 1},
        finish_reason="stop",
        opaque_body={"responses_output": [{"type": "reasoning"}]},
        status="completed",
    )
    run = start()
    run.feed(answer)
    [*_, finished] = run.feed(ModelDone())
    assert isinstance(finished, Finished)
    assert finished.usage == Usage(input_tokens=7, cached_tokens=3, output_tokens=1, total_tokens=8)
    said = Message(role="assistant", content="4", opaque_body=answer.opaque_body)
    assert finished.messages == (*QUESTION, said)


def test_the_next_turn_begins_with_the_messages_of_the_last():
    run = start()
    run.feed({"text": "4"})
    [*_, finished] = run.feed(ModelDone())
    following = [*finished.messages, {"role": "user", "content": "And 3 + 3?"}]
    [*_, request] = AgentRun(following, maximum_iterations=3).start()
    assert isinstance(request, CallModel)
    assert request.messages == tuple(following)


def test_a_result_may_be_parts_and_a_failure_is_read_where_nothing_else_is_said():
    parts = [
        {"type": "text", "text": "a picture"},
        {"type": "image", "url": "https://x.example/p.png"},
        {"type": "input_text", "text": "and words"},
        "bare",
        5,
    ]
    run = start()
    calls = [
        {"call_id": "c1", "name": "draw"},
        {"call_id": "c2", "name": "fail"},
    ]
    run.feed({"tool_calls": calls})
    run.feed(ModelDone())
    run.feed({"call_id": "c1", "content": parts})
    [*_, request] = run.feed({"call_id": "c2", "error": "it broke", "is_unfinished": True})
    assert [message.content for message in request.messages[2:]] == [tuple(parts), "it broke"]
    result = ToolResult(call_id="c1", content=tuple(parts))
    assert result.text == "a picture\n[image]\nand words\nbare\n[part]"


@pytest.mark.parametrize(
    ("received", "field"),
    [
        (5, "received"),
        (None, "received"),
        ("hello", "received"),
        ({}, "received"),
        ({"text": 5}, "text"),
        ({"tool_calls": "add"}, "tool_calls"),
        ({"tool_calls": [5]}, "tool_calls[0]"),
        ({"tool_calls": [{"id": "c1"}, None]}, "tool_calls[1]"),
        ({"tool_calls": [{"id": 5, "name": "add"}]}, "tool_calls[0].call_id"),
        ({"tool_calls": [{"id": "c1", "name": ["add"]}]}, "tool_calls[0].name"),
        ({"tool_calls": [{"id": "c1", "args": 5}]}, "tool_calls[0].arguments"),
        ({"tool_calls": [{"id": "c1", "args": {"a": object()}}]}, "tool_calls[0].arguments"),
        ({"tool_calls": [{"id": "c1", "index": "0"}]}, "tool_calls[0].index"),
        ({"usage": {"input_tokens": "7"}}, "usage.input_tokens"),
        ({"usage": {"input_tokens": True}}, "usage.input_tokens"),
        ({"usage": {"total_price": 0.1}}, "usage.total_price"),
        ({"text": "x", "finish_reason": 1}, "finish_reason"),
        ({"call_id": 5, "content": ""}, "call_id"),
        ({"call_id": "c1", "content": {"a": 1}}, "content"),
        ({"call_id": "c1", "error": ValueError()}, "error"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_the_field(received, field):
    run = start()
    with pytest.raises(MessageError, match=r".") as caught:
        run.feed(received)
    assert caught.value.field == field
    assert run.state == "model"
    assert str(caught.value).startswith(f"{field}: expected ")


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ("hello", "messages"),
        (b"bytes", "messages"),
        ({"role": "user", "content": "hello"}, "messages"),
        (None, "messages"),
        (5, "messages"),
        (["hello"], "messages[0]"),
        ([QUESTION[0], None], "messages[1]"),
        ((QUESTION[0], QUESTION[0], 5), "messages[2]"),
        (iter([QUESTION]), "messages[0]"),
    ],
)
def test_what_is_no_message_is_named_and_not_dropped(messages, field):
    with pytest.raises(MessageError, match=r".") as caught:
        AgentRun(messages, maximum_iterations=3)
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: expected a ")


class Kind(Enum):
    TEXT = "text"
    IMAGE = "image"


PICTURE = "iVBORw0KGgo" * 100


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"type": Kind.TEXT, "data": "words"}, "words"),
        (SimpleNamespace(type="text", data="words"), "words"),
        ({"text": "words"}, "words"),
        ({"type": Kind.IMAGE, "data": PICTURE}, "[image]"),
        ({"type": "image", "text": PICTURE, "data": PICTURE}, "[image]"),
        ({"data": PICTURE}, "[part]"),
        ({"type": PICTURE}, "[part]"),
        ({"type": "file", "base64_data": PICTURE, "filename": "a.pdf"}, "[file]"),
        ({"type": "text", "text": None, "data": 5}, "[text]"),
        (None, "[part]"),
    ],
)
def test_what_a_person_reads_of_a_part_is_its_text_or_its_kind(part, told):
    assert ToolResult(call_id="c1", content=(part, part)).text == f"{told}\n{told}"


def test_what_a_person_reads_of_parts_without_number_has_an_end():
    parts = tuple({"type": "image", "data": PICTURE} for _ in range(2_345))
    told = ToolResult(call_id="c1", content=parts).text
    assert told.startswith("[image]\n[image]\n")
    assert told.endswith("\n[2,245 more parts]")
    assert len(told) < 1_000


def test_prices_are_read_where_they_are_known():
    priced = Usage.read({"input_tokens": 2, "total_price": 1, "latency": 1, "currency": "USD"})
    assert priced == Usage(
        input_tokens=2, total_tokens=2, total_price=Decimal(1), latency=1.0, currency="USD"
    )
    assert Usage.read(priced) is priced
    assert Usage.read({"output_tokens": 2, "total_tokens": 9}).total_tokens == 9


def test_usage_is_read_in_the_words_of_chat_completions():
    written = {"prompt_tokens": 3.0, "completion_tokens": 4}
    assert Usage.read(written) == Usage(input_tokens=3, output_tokens=4, total_tokens=7)
    assert Usage.read({**written, "input_tokens": 5}).total_tokens == 9
    with pytest.raises(MessageError, match=r"^usage\.prompt_tokens: expected a whole number"):
        Usage.read({"prompt_tokens": 1.5})


@given(
    st.builds(
        ModelDelta,
        text=st.text(),
        tool_calls=st.lists(
            st.builds(
                ToolCallFragment,
                call_id=st.text(),
                name=st.text(),
                arguments=st.text(),
                index=st.none() | st.integers(),
            )
        ).map(tuple),
        opaque_body=st.none() | st.just({"a": 1}),
        usage=st.none() | st.builds(Usage, total_tokens=st.integers(0)),
        finish_reason=st.none() | st.text(min_size=1),
        phase=st.none() | st.text(min_size=1),
    )
)
def test_a_delta_is_the_same_as_a_mapping_of_its_fields(delta):
    fields = {
        "text": delta.text,
        "tool_calls": [
            {"call_id": c.call_id, "name": c.name, "arguments": c.arguments, "index": c.index}
            for c in delta.tool_calls
        ],
        "opaque_body": delta.opaque_body,
        "usage": delta.usage,
        "finish_reason": delta.finish_reason,
        "phase": delta.phase,
    }
    whole, read = start(), start()
    assert read.feed(fields) == whole.feed(delta)
    assert read.feed(ModelDone()) == whole.feed(ModelDone())


@pytest.mark.parametrize("value", [ModelDone(), ModelDelta(text="a"), TimeShort()])
def test_an_input_is_read_as_itself(value):
    assert read_input(value) is value


@pytest.mark.parametrize("message", [{"role": "robot"}, SimpleNamespace(role="robot")])
def test_a_message_of_an_unknown_role_is_refused_by_name(message):
    with pytest.raises(
        MessageError, match=r"messages\[1\].role: expected system, .*, got 'robot'"
    ) as caught:
        AgentRun([{"role": "developer", "content": ""}, message], maximum_iterations=1)
    assert caught.value.field == "messages[1].role"


def test_messages_come_back_from_json_as_they_were():
    messages = (
        {"role": "user", "content": [{"type": "text", "text": "?"}]},
        Message(
            role="assistant", tool_calls=(ToolCall(call_id="c1", name="t"),), opaque_body={"a": 1}
        ),
    )
    assert load_messages(dump_messages(messages)) == messages
    assert load_messages(dump_messages([])) == ()


def test_of_many_messages_only_what_they_have_is_written():
    messages = [Message(role="user", content=f"{number}") for number in range(1001)]
    text = dump_messages(messages)

    assert load_messages(text) == tuple(messages)
    assert len(text) < 70 * len(messages)
    whole = '"content": "0", "tool_calls": {"$": "tuple", "items": []}, "tool_call_id": null, "name": null, "opaque_body": null'
    as_before = text.replace('"content": "0"', whole)
    assert load_messages(as_before) == tuple(messages)
    with pytest.raises(SnapshotError, match=r"messages\[1000\]\.opaque_body: expected plain JSON"):
        dump_messages([*messages[1:], Message(role="assistant", opaque_body=object())])


def test_while_messages_are_written_their_text_is_held_twice_and_no_more_often():
    messages = [Message(role="user", content=f"{number:01000}") for number in range(2_000)]
    tracemalloc.start()
    try:
        text = dump_messages(messages)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 2.7 * len(text)


def test_messages_are_written_in_pieces_for_who_has_no_room_for_their_text_twice():
    messages = [Message(role="user", content=f"{number}") for number in range(2_001)]
    pieces = list(iter_dumped_messages(messages))

    assert "".join(pieces) == dump_messages(messages)
    assert 3 * max(map(len, pieces)) < sum(map(len, pieces))


def test_inputs_come_back_from_json_as_they_were():
    inputs = (
        TimePassed(seconds=1.5),
        ModelDelta(text="\ud800", phase="commentary", files=({"data": b"\x00\xff"},)),
        ModelDelta(tool_calls=(ToolCallFragment(call_id="c1", name="t", index=0),)),
        ModelDelta(usage=Usage(total_price=Decimal("0.10"), currency="USD"), opaque_body={"$": 1}),
        ModelFailure(message="overloaded", is_transient=True, wait_seconds=2.0),
        CompactedWindow(messages=({"role": "user", "content": "?"},)),
        ModelDone(),
    )
    assert load_inputs(dump_inputs(inputs)) == inputs


def test_an_input_that_json_cannot_express_is_refused_by_its_place():
    with pytest.raises(SnapshotError, match=r"inputs\[0\].opaque_body: expected plain JSON"):
        dump_inputs([ModelDelta(opaque_body=object())])
