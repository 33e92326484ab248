"""Tool calls and other values whose shape is promised by nothing but their names."""

import json
from types import MappingProxyType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import MessageError, WrittenCall, read_member, read_written_call


ADD = WrittenCall(call_id="c1", name="add", arguments='{"a": 2}')
texts = st.text()


@pytest.mark.parametrize(
    "call",
    [
        {"call_id": "c1", "name": "add", "arguments": '{"a": 2}'},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "add",
            "arguments": '{"a": 2}',
        },
        {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}},
        {"id": "c1", "name": "add", "args": {"a": 2}},
        {"tool_call_id": "c1", "tool_name": "add", "args": '{"a": 2}'},
        {"toolCallId": "c1", "toolName": "add", "input": '{"a": 2}'},
        SimpleNamespace(id="c1", function=SimpleNamespace(name="add", arguments='{"a": 2}')),
        MappingProxyType({"call_id": "c1", "name": "add", "arguments": MappingProxyType({"a": 2})}),
        ADD,
    ],
)
def test_a_call_is_read_in_every_shape_that_goes_around(call: object) -> None:
    assert read_written_call(call, field="tool_calls[0]") == ADD


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c1", "type": "custom", "custom": {"name": "add", "input": "2 and 2"}},
        {"type": "custom_tool_call", "call_id": "c1", "name": "add", "input": "2 and 2"},
        {"type": "custom", "call_id": "c1", "name": "add", "arguments": "2 and 2"},
        SimpleNamespace(id="c1", custom=SimpleNamespace(name="add", input="2 and 2")),
    ],
)
def test_a_call_of_a_custom_tool_is_told_apart(call: object) -> None:
    custom = WrittenCall(call_id="c1", name="add", arguments="2 and 2", type="custom")
    assert read_written_call(call, field="tool_calls[0]") == custom


def test_what_a_call_does_not_say_is_empty() -> None:
    assert read_written_call({"function": {"arguments": None}}, field="call") == WrittenCall()
    assert read_written_call({}, field="call") == WrittenCall()
    assert read_written_call({"index": 2, "args": {}}, field="call") == WrittenCall(index=2)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (None, "messages[1].tool_calls[0]"),
        ("add", "messages[1].tool_calls[0]"),
        (5, "messages[1].tool_calls[0]"),
        (["c1", "add"], "messages[1].tool_calls[0]"),
        ({"id": 5}, "messages[1].tool_calls[0].call_id"),
        ({"id": "c1", "function": {"name": {}}}, "messages[1].tool_calls[0].name"),
        ({"id": "c1", "arguments": ["a"]}, "messages[1].tool_calls[0].arguments"),
        ({"id": "c1", "args": {"a": object()}}, "messages[1].tool_calls[0].arguments"),
        ({"id": "c1", "index": True}, "messages[1].tool_calls[0].index"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_its_place(call: object, field: str) -> None:
    with pytest.raises(MessageError) as caught:
        read_written_call(call, field="messages[1].tool_calls[0]")
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: expected ")


@given(texts, texts, st.dictionaries(texts, st.integers()))
def test_every_shape_says_the_same(call_id: str, name: str, arguments: dict[str, int]) -> None:
    text = json.dumps(arguments, ensure_ascii=False) if arguments else ""
    flat = {"call_id": call_id, "name": name, "arguments": text}
    chat = {"id": call_id, "function": {"name": name, "arguments": arguments}}
    expected = WrittenCall(call_id=call_id, name=name, arguments=text)
    assert read_written_call(flat, field="x") == read_written_call(chat, field="x") == expected
    assert read_written_call(expected, field="x") == expected


def test_the_first_name_that_is_there_counts() -> None:
    assert read_member({"a": None, "b": 0, "c": 1}, "a", "b", "c") == 0
    assert read_member(SimpleNamespace(b="x"), "a", "b") == "x"
    assert read_member(5, "real", "a") == 5
    assert read_member(None, "a") is None
