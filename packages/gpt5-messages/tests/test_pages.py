"""Histories as pages keep them, by the AI SDK and by AG-UI: every part is read, or refused by its place, and none becomes the user's words."""

from typing import Any

import pytest

from gpt5_messages import MessageError, build_input


QUESTION = {"role": "user", "content": "2 + 2?"}
PNG = "iVBORw0KGgo="
PDF = "JVBERi0xLjQK"
CALL = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}
CALL_PART = {"type": "tool-call", "toolCallId": "c1", "toolName": "add", "input": {}}
ASKED = {"role": "assistant", "content": [CALL_PART]}


def result(output: object, call_id: str = "c1") -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": call_id, "toolName": "add", "output": output}


def test_a_turn_of_the_ai_sdk_keeps_its_text_its_call_and_its_result() -> None:
    call = {**CALL_PART, "input": {"a": 2}}
    asked = {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"}
    granted = {"type": "tool-approval-response", "approvalId": "a1", "approved": True}
    own = {**CALL_PART, "toolCallId": "w1", "toolName": "web", "providerExecuted": True}
    content = [
        {"type": "reasoning", "text": "hm"},
        {"type": "text", "text": "Let me see."},
        call,
        asked,
        own,
        result({"type": "json", "value": []}, "w1"),
    ]
    answered = result({"type": "json", "value": {"sum": 4}})
    approved = {"role": "tool", "content": [granted]}
    for tools in ([{"role": "tool", "content": [granted, answered]}],
                  [approved, {"role": "tool", "content": [answered]}]):  # fmt: skip
        assert build_input([{"role": "assistant", "content": content}, *tools]) == [
            {"type": "message", "role": "assistant", "content": "Let me see."},
            {**CALL, "arguments": '{"a": 2}'},
            {"type": "function_call_output", "call_id": "c1", "output": '{"sum": 4}'},
        ]


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ({"type": "text", "value": "4"}, "4"),
        ({"type": "json", "value": None}, ""),
        ({"type": "error-text", "value": "it broke"}, "it broke"),
        ({"type": "error-json", "value": {"code": 1}}, '{"code": 1}'),
        ({"type": "execution-denied", "reason": "too risky"}, "too risky"),
        ({"type": "execution-denied"}, "The call was denied."),
        ({"type": "content", "value": [{"type": "text", "text": "4"}]}, "4"),
    ],
)
def test_what_a_tool_of_the_ai_sdk_answers_is_read(output: object, told: str) -> None:
    (_, answered) = build_input([ASKED, {"role": "tool", "content": [result(output)]}])
    assert answered["output"] == told


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ({"type": "image", "image": PNG}, "image_url", f"data:image/png;base64,{PNG}"),
        ({"type": "image", "image": "HTTPS://e.com/a"}, "image_url", "https://e.com/a"),
        ({"type": "image", "image": "https://e.com/a", "mediaType": "image/*"}, "image_url", "https://e.com/a"),
        ({"type": "image-data", "data": PNG, "mediaType": "image/png"}, "image_url", f"data:image/png;base64,{PNG}"),
        ({"type": "image-file-id", "fileId": "file-1"}, "file_id", "file-1"),
        ({"type": "file", "data": PDF, "mediaType": "application/pdf"}, "file_data", f"data:application/pdf;base64,{PDF}"),
        ({"type": "file-data", "data": PDF, "mediaType": "application/pdf"}, "file_data", f"data:application/pdf;base64,{PDF}"),
        ({"type": "file-url", "url": "https://e.com/b"}, "file_url", "https://e.com/b"),
        ({"type": "image", "source": {"type": "data", "value": PNG, "mimeType": "image/png"}}, "image_url", f"data:image/png;base64,{PNG}"),
        ({"type": "image", "source": {"type": "url", "value": "https://e.com/a"}}, "image_url", "https://e.com/a"),
        ({"type": "document", "id": "p", "source": {"type": "file", "value": "file-1"}}, "file_id", "file-1"),
    ],
)  # fmt: skip
def test_images_and_files_of_pages_go_out(part: dict[str, Any], key: str, value: str) -> None:
    (item,) = build_input([{"role": "user", "content": [part]}])
    assert item["content"][0][key] == value
    output = {"type": "content", "value": [part]}
    (_, answered) = build_input([ASKED, {"role": "tool", "content": [result(output)]}])
    assert answered["output"] == item["content"]


def test_a_run_of_ag_ui_keeps_what_was_said_and_no_thought() -> None:
    function = {"name": "add", "arguments": "{}"}
    history = [
        {"id": "1", **QUESTION},
        {"id": "2", "role": "reasoning", "content": "They want 4.", "encryptedValue": "x"},
        {"id": "3", "role": "activity", "activityType": "PLAN", "content": {"steps": 1}},
        {"id": "4", "role": "assistant", "toolCalls": [{"id": "c1", "function": function}]},
        {"id": "5", "role": "tool", "toolCallId": "c1", "content": "4"},
    ]
    output = {"type": "function_call_output", "call_id": "c1", "output": "4"}
    expected = [*build_input([QUESTION]), CALL, output]
    assert build_input(history) == expected
    named_by_members = [history[0], *({**one, "role": None} for one in history[3:])]
    assert build_input(named_by_members) == expected


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"role": "narrator", "content": "Hi"}, "messages[1].role"),
        ({"role": "thinking", "content": "Hi"}, "messages[1].role"),
        ({"role": "", "content": "Hi"}, "messages[1].role"),
        ({"role": 7, "content": "Hi"}, "messages[1].role"),
        ({"role": None, "content": "Hi"}, "messages[1]"),
        ({"content": "Hi"}, "messages[1]"),
        ({"type": "chat", "data": {"content": "Hi", "role": "critic"}}, "messages[1].role"),
        ({"type": "message", "role": "critic", "content": []}, "messages[1].role"),
        ({"type": "message", "content": [{"type": "input_text", "text": "Hi"}]}, "messages[1].role"),
        ({"role": "user", "content": [{"type": "data-weather", "data": {}}]}, "messages[1].content[0]"),
        ({"role": "user", "content": [{"type": "tool-add", "output": 4}]}, "messages[1].content[0]"),
        ({"role": "user", "content": [CALL_PART]}, "messages[1].tool_calls"),
        ({"role": "assistant", "content": ["Hi", {"type": "step-start"}]}, "messages[1].content[1]"),
        ({"role": "assistant", "content": [{"type": "source-url", "url": "u"}]}, "messages[1].content[0]"),
        ({"role": "assistant", "content": [{"type": "dynamic-tool"}]}, "messages[1].content[0]"),
        ({"role": "tool", "content": [result("4")]}, "messages[1].content[0].output"),
        ({"role": "user", "parts": [{"type": "text", "text": "Hi"}]}, "messages[1].parts"),
        (
            {"role": "assistant", "content": "4", "parts": [{"type": "text"}, {"type": "tool-invocation"}]},
            "messages[1].parts[1]",
        ),
    ],
)  # fmt: skip
def test_what_is_nobodys_words_is_refused_by_its_place(message: object, field: str) -> None:
    with pytest.raises(MessageError) as caught:
        build_input([QUESTION, message])
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: expected ")


def test_a_long_role_is_not_told_whole() -> None:
    with pytest.raises(MessageError) as caught:
        build_input([{"role": "x" * 5000, "content": "Hi"}])
    assert len(str(caught.value)) < 200
