"""Histories as other libraries write them; `histories/` holds one conversation as three of them keep it."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import ItemStore, MessageError, build_input, read_item, read_response


HISTORIES = Path(__file__).parent / "histories"
QUESTION = "What is 17 * 23? Use the calculator."


def read_history(name: str) -> list[dict[str, Any]]:
    return json.loads((HISTORIES / f"{name}.json").read_text(encoding="utf-8"))


def shape(items: list[dict[str, Any]]) -> list[str]:
    return [item.get("type", "message") for item in items]


@pytest.mark.parametrize("name", ["openai_agents", "pydantic_ai", "langchain"])
def test_a_history_of_another_library_keeps_texts_calls_and_results(name: str) -> None:
    items = [item for item in build_input(read_history(name)) if item.get("role") != "system"]
    question, *calls, answer = items
    assert question["content"] == [{"type": "input_text", "text": QUESTION}]
    assert shape(calls) == ["function_call"] * 2 + ["function_call_output"] * 2
    made, results = calls[:2], calls[2:]
    assert [call["call_id"] for call in made] == [result["call_id"] for result in results]
    assert [json.loads(call["arguments"]) for call in made] == [
        {"expression": "17 * 23"},
        {"expression": "0"},
    ]
    assert [result["output"] for result in results] == ["391", "0"]
    assert "calculator: 391" in json.dumps(answer["content"])


def test_the_items_of_openai_agents_go_back_as_they_are() -> None:
    history = read_history("openai_agents")
    assert build_input(history)[1:] == history[1:]


@pytest.mark.parametrize("name", ["openai_agents", "pydantic_ai", "langchain"])
def test_what_a_history_of_another_library_led_to_is_recalled(name: str) -> None:
    history = read_history(name)
    items = [
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
    ]
    store = ItemStore()
    store.remember("scope", history, items)
    call = {"id": "c1", "function": {"name": "add", "arguments": "{}"}}
    following = [{"role": "assistant", "tool_calls": [call]}, {"call_id": "c1", "content": "4"}]
    built = build_input([*history, *following], recall=partial(store.recall, "scope"))
    assert built[-3:-1] == items


@pytest.mark.parametrize("name", ["pydantic_ai", "langchain"])
def test_objects_are_read_like_their_dumps(name: str) -> None:
    history = read_history(name)
    if name == "langchain":
        history = [message["data"] for message in history]
    live = json.loads(json.dumps(history), object_hook=lambda fields: SimpleNamespace(**fields))
    for message, dump in zip(live, history, strict=True):
        for call, dumped in zip(
            getattr(message, "tool_calls", []), dump.get("tool_calls", []), strict=True
        ):
            call.args = dumped["args"]
        for part, dumped in zip(getattr(message, "parts", []), dump.get("parts", []), strict=True):
            if "args" in dumped:
                part.args = dumped["args"]
    assert build_input(live) == build_input(history)


def test_a_completion_and_a_result_go_back_item_for_item() -> None:
    output = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
    ]
    completion = read_response({"status": "completed", "output": output})
    question = {"role": "user", "content": "?"}
    answered = {"type": "function_call_output", "call_id": "c1", "output": "4"}
    expected = [*build_input([question]), *output, answered]
    assert build_input([question, completion, {"call_id": "c1", "content": "4"}]) == expected
    failed = build_input([question, completion, {"call_id": "c1", "error": "it broke"}])
    assert failed[-1]["output"] == "it broke"
    again = {"role": "assistant", "content": "", "opaque_body": completion.opaque_body}
    assert build_input([question, again, answered]) == expected
    assert read_response({"output": []}).opaque_body is None


@pytest.mark.parametrize("arguments", ['{"a": ', "raw text"])
def test_a_platform_may_wrap_arguments_that_are_no_object(arguments: str) -> None:
    items = [{"type": "function_call", "call_id": "c1", "name": "add", "arguments": arguments}]
    wrapped = json.dumps({"invalid_arguments": arguments})
    message = {
        "role": "assistant",
        "tool_calls": [{"call_id": "c1", "name": "add", "arguments": wrapped}],
        "opaque_body": {"responses_output": items},
    }
    answered = {"type": "function_call_output", "call_id": "c1", "output": "no"}
    assert build_input([message, answered])[:1] == items


def test_items_of_this_package_and_of_the_official_client_are_taken() -> None:
    @dataclass
    class Message:
        type: str
        role: str
        content: list[dict[str, str]]

        def model_dump(self, **_: object) -> dict[str, object]:
            return dict(vars(self))

    wire = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "4"}],
    }
    custom = {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "raw"}
    items = [read_item(wire), Message("message", "assistant", [{"text": "4"}]), read_item(custom)]
    built = build_input([*items, {"role": "tool", "tool_call_id": "c1", "content": "done"}])
    assert built[0] == wire
    assert built[1]["content"] == [{"text": "4"}]
    assert built[2:] == [
        custom,
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"},
    ]


@pytest.mark.parametrize("kind", ["message", "chat"])
def test_a_message_may_say_that_it_is_one(kind: str) -> None:
    said = {"role": "user", "content": "Hi"}
    assert build_input([{"type": kind, **said}]) == build_input([said])


def test_a_call_without_its_result_is_left_out_in_every_shape() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    assert build_input([call]) == []
    part = {"part_kind": "tool-call", "tool_name": "f", "args": None, "tool_call_id": "c1"}
    assert build_input([{"kind": "response", "parts": [part]}]) == []


def test_what_pydantic_ai_asks_again_goes_back_and_thoughts_do_not() -> None:
    request = {
        "kind": "request",
        "parts": [
            {"part_kind": "user-prompt", "content": ["Look:", {"kind": "image-url", "url": "u"}]},
            {"part_kind": "retry-prompt", "content": [{"type": "missing"}], "tool_name": None},
            {"part_kind": "retry-feedback", "content": "again"},
        ],
    }
    response = {"kind": "response", "parts": [{"part_kind": "thinking", "content": "hm"}]}
    texts = [item["content"][0]["text"] for item in build_input([request, response])]
    assert texts == [
        "Look:\n[image omitted: its link is no http or https address]",
        '[{"type": "missing"}]',
        "again",
    ]


def test_what_pydantic_ai_tools_return_is_written_as_json() -> None:
    parts = [
        {"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": call_id}
        for call_id in ("c1", "c2", "c3")
    ]
    returns = [
        {"part_kind": "tool-return", "tool_name": "f", "content": 4, "tool_call_id": "c1"},
        {"part_kind": "tool-return", "tool_name": "f", "content": None, "tool_call_id": "c2"},
        {"part_kind": "retry-prompt", "tool_name": "f", "content": "no", "tool_call_id": "c3"},
    ]
    history = [{"parts": parts}, {"parts": returns}]
    assert [item["output"] for item in build_input(history)[3:]] == ["4", "", "no"]


def test_langchains_thoughts_and_calls_among_the_content_are_no_text() -> None:
    message = {
        "type": "AIMessageChunk",
        "content": [
            {"type": "reasoning", "summary": []},
            {"type": "text", "text": "4"},
            {"type": "function_call", "name": "f"},
        ],
    }
    assert build_input([message]) == [{"type": "message", "role": "assistant", "content": "4"}]


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("hello", "messages[1]"),
        (5, "messages[1]"),
        (None, "messages[1]"),
        ({}, "messages[1]"),
        (["user", "hi"], "messages[1]"),
        ({"role": "user", "content": b"Hi"}, "messages[1].content"),
        ({"role": "system", "content": {"a": 1}}, "messages[1].content"),
        ({"call_id": "c1", "content": {"a": 1}}, "messages[1].content"),
        ({"role": "user", "content": [5]}, "messages[1].content[0]"),
        ({"role": "user", "content": ["x", None]}, "messages[1].content[1]"),
        ({"role": "user", "content": [{"type": "text", "text": 5}]}, "messages[1].content[0]"),
        ({"role": "assistant", "tool_calls": "f"}, "messages[1].tool_calls"),
        ({"role": "assistant", "tool_calls": [None]}, "messages[1].tool_calls[0]"),
        ({"role": "assistant", "tool_calls": [{"id": 5}]}, "messages[1].tool_calls[0].call_id"),
        ({"parts": 5}, "messages[1].parts"),
        ({"parts": [{}]}, "messages[1].parts[0]"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_its_place(message: object, field: str) -> None:
    with pytest.raises(MessageError) as caught:
        build_input([{"role": "user", "content": "Hi"}, message])
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: expected ")


@pytest.mark.parametrize(
    "messages", [None, 5, "hello", b"bytes", {"role": "user", "content": "Hi"}]
)
def test_what_is_no_list_of_messages_is_an_error_that_says_so(messages: Any) -> None:
    with pytest.raises(
        MessageError, match=r"^messages: expected a list of messages, got "
    ) as caught:
        build_input(messages)
    assert caught.value.field == "messages"


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"content": "4"}, "4"),
        ({"error": "no such number"}, "no such number"),
        ({"content": [{"type": "text", "text": "4"}]}, "4"),
    ],
)
@pytest.mark.parametrize("name", ["call_id", "tool_call_id"])
@pytest.mark.parametrize("shape", [dict, SimpleNamespace])
def test_a_tool_result_may_have_a_role_besides(
    shape: Any, name: str, result: dict[str, Any], told: str
) -> None:
    call = {"call_id": "c1", "name": "f", "arguments": "{}"}
    answer = {"role": "assistant", "tool_calls": [call]}

    built = build_input([answer, shape(role="tool", **{name: "c1"}, **result)])

    assert built == [
        {"type": "function_call", **call},
        {"type": "function_call_output", "call_id": "c1", "output": told},
    ]


def test_content_may_be_one_part_instead_of_a_list() -> None:
    part = {"type": "text", "text": "Hi"}
    one, listed = build_input([{"role": "user", "content": content} for content in (part, [part])])
    assert one == listed


@pytest.mark.untraced
@given(st.lists(st.none() | st.integers() | st.text() | st.just([])), st.integers(0, 3))
def test_nothing_is_dropped_in_silence(strays: list[object], position: int) -> None:
    question = {"role": "user", "content": "Hi"}
    messages: list[object] = [question] * position + strays
    if strays:
        with pytest.raises(MessageError):
            build_input(messages)
    else:
        assert len(build_input(messages)) == position
