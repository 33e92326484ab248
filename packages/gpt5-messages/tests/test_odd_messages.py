"""Messages of shapes that are rare, old or broken: each is read, or refused by the name of its place."""

import json
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from gpt5_messages import ItemStore, MessageError, build_input, read_response


QUESTION = {"role": "user", "content": "Hi"}
FUNCTION = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "raw text"}
ANSWERED = {"role": "tool", "tool_call_id": "c1", "content": "4"}


def output(item: dict[str, Any] = FUNCTION, text: str = "4") -> dict[str, Any]:
    return {"type": f"{item['type']}_output", "call_id": item["call_id"], "output": text}


def asking(*calls: object, **fields: object) -> dict[str, object]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}


def to_objects(value: Any) -> Any:
    return json.loads(json.dumps(value), object_hook=lambda fields: SimpleNamespace(**fields))


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c1", "type": "custom", "custom": {"name": "f", "input": "raw text"}},
        {"id": "c1", "custom": {"name": "f", "input": "raw text"}},
        {"type": "custom", "call_id": "c1", "name": "f", "arguments": "raw text"},
        CUSTOM,
    ],
)
@pytest.mark.parametrize("shape", [dict, to_objects])
def test_a_custom_call_goes_back_as_one(shape: Any, call: dict[str, Any]) -> None:
    assert build_input([shape(asking(call)), ANSWERED]) == [CUSTOM, output(CUSTOM)]


def test_custom_calls_and_functions_are_answered_in_their_own_kind() -> None:
    custom = {"id": "c2", "type": "custom", "custom": {"name": "g", "input": ""}}
    results = [ANSWERED, {**ANSWERED, "tool_call_id": "c2"}]
    built = build_input([asking({"id": "c1", "function": {"name": "f"}}, custom), *results])
    assert [item["type"] for item in built] == [
        "function_call",
        "custom_tool_call",
        "function_call_output",
        "custom_tool_call_output",
    ]


@pytest.mark.parametrize("items", [[CUSTOM], [FUNCTION]])
def test_the_reasoning_of_a_call_comes_back_from_its_chat_shape(items: list[Any]) -> None:
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
    store = ItemStore()
    store.remember("s", [QUESTION], [reasoning, *items])
    held = {"name": "f", "input": "raw text"}
    call = {"id": "c1", "type": "custom", "custom": held}
    if items == [FUNCTION]:
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    built = build_input([QUESTION, asking(call), ANSWERED], recall=partial(store.recall, "s"))
    assert built[1:] == [reasoning, *items, output(items[0])]


@pytest.mark.parametrize(
    "result",
    [
        {"id": "c1", "content": "4"},
        {"id": "c1", "error": "4"},
        {"role": "tool", "id": "c1", "content": "4"},
        {"role": "tool", "id": "msg_1", "tool_call_id": "c1", "content": "4"},
        {"role": "tool", "id": "msg_1", "call_id": " c1", "content": "4"},
        {"tool_call_id": "c1", "content": "4"},
        {"call_id": "c1", "output": "4"},
        {"role": "tool", "tool_call_id": "c1", "output": "4"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "4"}]},
        {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "4"}]},
    ],
)
@pytest.mark.parametrize("shape", [dict, to_objects])
def test_a_result_may_name_its_call_in_other_ways(shape: Any, result: dict[str, Any]) -> None:
    for call in (FUNCTION, asking({"id": "c1", "function": {"name": "f"}})):
        assert build_input([call, shape(result)]) == [FUNCTION, output()]


@pytest.mark.parametrize(
    ("asked", "result"),
    [
        ({"function_call": {"name": "f", "arguments": "{}"}}, {"role": "function", "name": "f"}),
        ({"tool_calls": [{"function": {"name": "f"}}]}, {"role": "tool", "tool_name": "f"}),
        ({"tool_calls": [{"function": {"name": "f"}}]}, {"role": "tool"}),
        ({"tool_calls": [{"id": "", "name": "f"}]}, {"role": "tool", "tool_call_id": ""}),
        ({"tool_calls": [{"name": "f", "args": {}}]}, {"type": "function", "name": "f"}),
    ],
)
def test_a_call_without_an_id_is_answered_by_the_result_behind_it(
    asked: dict[str, Any], result: dict[str, Any]
) -> None:
    call, answered = build_input(
        [{"role": "assistant", "content": None, **asked}, {**result, "content": "4"}]
    )
    assert call == {**FUNCTION, "call_id": call["call_id"]}
    assert answered == {**output(), "call_id": call["call_id"]}


def test_calls_without_ids_are_answered_by_name_and_then_in_order() -> None:
    names = ["f", "g", "f", "h"]
    results = [("g", "1"), ("f", "2"), (None, "3")]
    history = [
        {"role": "assistant", "tool_calls": [{"function": {"name": name}} for name in names]},
        *({"role": "tool", "name": name, "content": text} for name, text in results),
        QUESTION,
        {"role": "assistant", "function_call": {"name": "h", "arguments": "{}"}},
        {"role": "function", "name": "h", "content": "4"},
    ]
    built = build_input(history)
    calls = {item["call_id"]: item["name"] for item in built if "name" in item}
    answers = [(calls[item["call_id"]], item["output"]) for item in built if "output" in item]
    assert answers == [("g", "1"), ("f", "2"), ("f", "3"), ("h", "4")]
    assert list(calls.values()) == ["f", "g", "f", "h"]


@pytest.mark.parametrize("is_named", [True, False])
def test_two_calls_that_share_an_id_are_two_with_a_result_each(*, is_named: bool) -> None:
    made = [("f", '{"a": 1}'), ("f", '{"a": 2}'), ("g", "{}"), ("f", '{"a":1}')]
    calls = [{"call_id": "c1", "name": name, "arguments": given} for name, given in made]
    order = ["g", "f", "f"] if is_named else ["f", "f", "g"]
    results = [
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": name,
            **({"name": name} if is_named else {}),
        }
        for name in order
    ]
    again = {"role": "tool", "tool_call_id": "c1", "content": "again"}

    items = build_input([asking(*calls), *results, again])

    sent = [item for item in items if item["type"] == "function_call"]
    answered = {item["call_id"]: item["output"] for item in items[len(sent) :]}
    assert [(item["name"], item["arguments"]) for item in sent] == made[:3]
    assert [answered.pop(item["call_id"]) for item in sent][1:] == ["f", "g"]
    assert sent[0]["call_id"] == "c1"
    assert answered == {}


def test_reasoning_stays_with_whole_calls_beside_one_that_has_no_id() -> None:
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
    opaque = {"responses_output": [reasoning, FUNCTION]}
    message = asking({"id": "c1", "name": "f"}, {"name": "g"}, opaque_body=opaque)
    assert build_input([message, ANSWERED]) == [reasoning, FUNCTION, output()]


@pytest.mark.parametrize("written", [" f ", "f\n", "\tf"])
def test_blanks_around_a_name_or_an_id_keep_the_reasoning(written: str) -> None:
    """Platforms take them off."""
    padded = written.replace("f", "c1")
    items = [
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {**FUNCTION, "call_id": padded, "name": written},
    ]
    completion = read_response({"status": "completed", "output": items})
    stripped = {"call_id": "c1", "name": "f", "arguments": "{}"}
    store = ItemStore()
    store.remember("s", [], completion.items)
    expected = [*items, {**output(), "call_id": padded}]
    for message in (
        completion,
        asking(stripped, opaque_body=completion.opaque_body),
        asking(stripped),
    ):
        assert build_input([message, ANSWERED], recall=partial(store.recall, "s")) == expected


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "assistant", "content": None, "audio": {"transcript": "Four."}}, "Four."),
        ({"role": "assistant", "audio": {"id": "audio_1"}}, "This came with the assistant's"),
        ({"role": "model", "content": "Four."}, "Four."),
        ({"role": "assistant", "content": "Four.", "refusal": "No."}, "Four.\nNo."),
        ({"role": "assistant", "content": ["Four."], "audio": {"transcript": "5"}}, "Four.\n5"),
        ({"role": "ai", "content": "Four."}, "Four."),
        ({"type": "turn", "role": "ai", "content": "Four."}, "Four."),
        ({"content": "Four.", "opaque_body": {"other": 1}}, "Four."),
        ({"parts": [{"part_kind": "speech", "speaker": "assistant", "transcript": "4"}]}, "4"),
    ],
)
def test_what_a_model_said_in_other_ways_is_said(message: dict[str, Any], text: str) -> None:
    (item,) = build_input([message])
    told = item["content"]
    if isinstance(told, list):
        assert told[1]["text"].startswith("[audio omitted: models read ")
        told = told[0]["text"]
    assert told.startswith(text)


@pytest.mark.parametrize(
    ("parts", "role", "text"),
    [
        ([{"part_kind": "speech", "speaker": "user", "transcript": "Hi"}], "user", "Hi"),
        ([{"part_kind": "speech", "speaker": "user", "audio": None}], "user", "[audio omitted: "),
        ([{"part_kind": "compaction", "content": "We met."}], "user", "We met."),
        ([{"part_kind": "instruction-delta", "content": "Be brief."}], "system", "Be brief."),
    ],
)
def test_rare_parts_of_pydantic_ai_are_read(parts: list[Any], role: str, text: str) -> None:
    (item,) = build_input([{"parts": parts}])
    assert item["role"] == role
    assert item["content"][0]["text"].startswith(text)


@pytest.mark.parametrize("kind", ["thinking", "reasoning", "function_call"])
def test_nobody_but_a_model_thinks_or_calls(kind: str) -> None:
    (_, result) = build_input([FUNCTION, {**ANSWERED, "content": [{"type": kind}]}])
    assert result["output"] == f"[{kind} omitted: it is no text, image or document]"


def test_a_document_may_be_plain_text() -> None:
    """As Anthropic has it."""
    source = {"type": "text", "media_type": "text/plain", "data": "Größe: 4"}
    (item,) = build_input([{"role": "user", "content": [{"type": "document", "source": source}]}])
    assert item["content"][0]["file_data"] == "data:text/plain;base64,R3LDtsOfZTogNA=="


def test_an_image_may_be_a_file_that_lies_at_the_server() -> None:
    """As the Assistants API has it."""
    part = {"type": "image_file", "image_file": {"file_id": "file-1", "detail": "low"}}
    (item,) = build_input([{"role": "user", "content": [part]}])
    assert item["content"] == [{"type": "input_image", "detail": "low", "file_id": "file-1"}]


def test_the_arguments_of_a_call_may_be_called_parameters() -> None:
    call = {"id": "c1", "name": "f", "parameters": {"a": 1}}
    assert build_input([asking(call), ANSWERED])[0]["arguments"] == '{"a": 1}'


def test_notes_that_pydantic_ai_keeps_for_itself_are_no_messages() -> None:
    kinds = ["thinking", "builtin-tool-call", "instruction-baseline", "model-settings-delta"]
    assert build_input([{"parts": [{"part_kind": kind} for kind in kinds]}]) == []


def test_anthropics_calls_and_results_are_parts_of_the_content() -> None:
    said = [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
    ]
    told = [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "4"}]},
        {"type": "text", "text": "And now?"},
    ]
    built = build_input([{"role": "assistant", "content": said}, {"role": "user", "content": told}])
    assert built == [
        {"type": "message", "role": "assistant", "content": "Let me see."},
        {**FUNCTION, "arguments": '{"a": 1}'},
        output(),
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "And now?"}],
        },
    ]


def test_calls_that_stand_in_the_content_again_are_made_once() -> None:
    """As langchain writes what came from Anthropic."""
    part = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    call = {"id": "c1", "name": "f", "args": {}, "type": "tool_call"}
    message = {"type": "ai", "content": [part], "tool_calls": [call]}
    assert build_input([message, ANSWERED]) == [FUNCTION, output()]


def test_calls_whose_arguments_langchain_could_not_parse_are_calls() -> None:
    broken = {"id": "c1", "name": "f", "args": '{"a": ', "type": "invalid_tool_call"}
    message = {"type": "ai", "content": "", "tool_calls": [], "invalid_tool_calls": [broken]}
    assert build_input([message, ANSWERED]) == [{**FUNCTION, "arguments": '{"a": '}, output()]


@pytest.mark.parametrize(
    ("message", "role", "text"),
    [
        ({"type": "ai", "content": "", "additional_kwargs": {"refusal": "No."}}, "assistant", "No."),
        (
            {"type": "ai", "data": {"content": "", "additional_kwargs": {"audio": {"transcript": "Four."}}}},
            "assistant",
            "Four.",
        ),
        ({"type": "chat", "data": {"content": "Hi", "role": "assistant"}}, "assistant", "Hi"),
        ({"type": "chat", "data": {"content": "Hi", "role": "developer"}}, "developer", "Hi"),
    ],
)  # fmt: skip
def test_what_langchain_keeps_beside_the_content_is_said(
    message: dict[str, Any], role: str, text: str
) -> None:
    (item,) = build_input([message])
    told = item["content"]
    said = told if isinstance(told, str) else told[0]["text"]
    assert (item["role"], said) == (role, text)


def test_an_old_call_of_langchain_is_answered_by_its_name() -> None:
    called = {"function_call": {"name": "f", "arguments": "{}"}}
    asked = {"type": "ai", "content": "", "additional_kwargs": called}
    items = build_input([asked, {"type": "function", "name": "f", "content": "4"}])
    assert [item["type"] for item in items] == ["function_call", "function_call_output"]
    assert items[0]["call_id"] == items[1]["call_id"]


def test_what_the_tools_of_other_providers_did_is_not_told() -> None:
    call = {"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {}}
    result = {"type": "server_tool_result", "tool_call_id": "s1", "output": "4"}
    content = [call, result, {"type": "text", "text": "Four."}]
    assert build_input([{"type": "ai", "content": content}]) == [
        {"type": "message", "role": "assistant", "content": "Four."}
    ]


@pytest.mark.parametrize(
    "image",
    [
        "iVBORw0KGgoAAAAN",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\r",
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAAN"}},
        "data:image/png;base64,iVBORw0KGgoAAAAN",
        {"content": "iVBORw0KGgoAAAAN", "id": "x", "format": "png"},
        SimpleNamespace(content=b"\x89PNG\r\n\x1a\n\x00\x00\x00\r", url=None),
        {"type": "image", "data": bytearray(b"\x89PNG\r\n\x1a\n\x00\x00\x00\r")},
        {"type": "image", "data": memoryview(b"\x89PNG\r\n\x1a\n\x00\x00\x00\r")},
        {"type": "image_url", "image_url": {"url": "DATA:image/png;base64,iVBORw0KGgoAAAAN"}},
    ],
)
def test_images_beside_the_content_stand_behind_it(image: object) -> None:
    """As Ollama and agno have them, and litellm where a model has drawn."""
    (item,) = build_input([{"role": "user", "content": "What is it?", "images": [image]}])
    text, shown = item["content"]
    assert text["text"] == "What is it?"
    assert shown["image_url"].endswith(";base64,iVBORw0KGgoAAAAN")


NAMELESS = {"id": "c1", "function": {"arguments": "{}"}}


@pytest.mark.parametrize(
    ("messages", "field", "expected"),
    [
        ([asking(NAMELESS), ANSWERED], "messages[1].tool_calls[0].name", "the name of the tool"),
        (
            [asking({"id": "c0", "name": "f"}, {"id": "c1", "custom": {}}), ANSWERED],
            "messages[1].tool_calls[1].name",
            "the name of the tool",
        ),
        ([asking({"id": "c1"}), {"role": "tool", "content": "4"}], "messages[2].tool_call_id", ""),
        ([asking(FUNCTION), {"role": "tool", "tool_call_id": "c1"}], "messages[2].content", "what the tool has answered"),
        ([asking(FUNCTION), {"call_id": "c1", "result": "4"}], "messages[2].content", "what the tool has answered"),
        ([{"type": "function", "name": "f", "parameters": {}}], "messages[1].content", "what the tool has answered"),
        ([{"text": "4", "tool_calls": []}], "messages[1]", "a message with role"),
        ([{"role": "assistant", "tool_calls": [], "opaque_body": None}], "messages[1].content", "a text or a list of parts"),
        ([{**ANSWERED, "tool_call_id": 5}], "messages[1].tool_call_id", "the id of the call"),
        ([{"role": "tool", "content": "4"}], "messages[1].tool_call_id", "the id of the call"),
        ([{"role": "tool", "id": "x", "content": "4"}], "messages[1].tool_call_id", "the id"),
        ([{"role": "function", "name": "f", "content": "4"}], "messages[1].tool_call_id", "the id"),
        ([{"id": "c9", "content": "4"}], "messages[1]", "a message with role"),
        ([{"id": ["c9"], "content": "4"}], "messages[1]", "a message with role"),
        ([{"role": "user"}], "messages[1].content", "a text or a list of parts"),
        ([{"role": "system", "name": "x"}], "messages[1].content", "a text or a list of parts"),
        ([{"role": "assistant"}], "messages[1].content", "a text or a list of parts"),
        ([SimpleNamespace(role="user")], "messages[1].content", "a text or a list of parts"),
        ([{"type": "human", "data": {}}], "messages[1].content", "a text or a list of parts"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[1].content[0]", "a part"),
        ([{"role": "user", "content": {"type": "input_text"}}], "messages[1].content", "a part"),
        ([{"role": "user", "content": "Hi", "tool_calls": [FUNCTION]}], "messages[1].tool_calls", "the role assistant"),
        ([{"role": "assistant", "content": "4", "opaque_body": "x"}], "messages[1].opaque_body", "a mapping"),
        (
            [{"role": "assistant", "content": "4", "opaque_body": {"responses_output": "x"}}],
            "messages[1].opaque_body.responses_output",
            "a list of items",
        ),
        (
            [{"role": "assistant", "content": [{"type": "text", "text": "4", "opaque_body": {"responses_output": [5]}}]}],
            "messages[1].content[0].opaque_body.responses_output[0]",
            "an item",
        ),
        ([{"role": "user", "content": [{"type": "tool_result"}]}], "messages[1].content[0].tool_use_id", "the id of a call"),
        ([{"type": "AssistantMessage", "content": "4", "source": "a"}], "messages[1]", "a message with role"),
        ([SimpleNamespace(type="UserMessage", content="4")], "messages[1]", "a message with role"),
        (
            [{"role": "user", "content": "Hi", "blocks": [{"block_type": "text"}, {"block_type": "image"}]}],
            "messages[1].blocks[1]",
            "a text",
        ),
        ([{"parts": [{"part_kind": "user-prompt"}]}], "messages[1].parts[0].content", "what the part says"),
        ([{"parts": [{"part_kind": "from-tomorrow", "content": "x"}]}], "messages[1].parts[0]", "a part of a known kind"),
        ([{"parts": [{"part_kind": "tool-return", "content": "x"}]}], "messages[1].parts[0]", "a part of a known kind"),
    ],
)  # fmt: skip
def test_what_says_too_little_is_refused_by_its_place(
    messages: list[Any], field: str, expected: str
) -> None:
    with pytest.raises(MessageError) as caught:
        build_input([QUESTION, *messages])
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: expected {expected}")


@pytest.mark.parametrize(
    "messages",
    [
        [asking(NAMELESS), {**ANSWERED, "tool_call_id": ""}],
        [{**ANSWERED, "tool_call_id": 5}],
        [{"role": "assistant", "content": "", "opaque_body": ["of", "others"]}],
        [{"role": "assistant", "content": "", "opaque_body": {"responses_output": [5]}}],
    ],
)
def test_what_a_platform_may_have_broken_ends_nothing_where_that_is_asked_for(
    messages: list[Any],
) -> None:
    assert build_input([QUESTION, *messages], lenient=True) == build_input([QUESTION])


def test_an_answered_call_without_a_name_is_left_out_where_that_is_asked_for() -> None:
    assert build_input([asking(NAMELESS), ANSWERED], lenient=True) == [output()]


@pytest.mark.parametrize("more", [{}, {"opaque_body": {"responses_output": [FUNCTION]}}])
def test_a_result_answers_no_call_behind_it(more: dict[str, Any]) -> None:
    call = asking(FUNCTION, **more)
    assert build_input([ANSWERED, call]) == [output()]
    assert build_input([ANSWERED, call, ANSWERED]) == [output(), FUNCTION, output()]


def test_an_opaque_body_of_another_client_is_its_own_business() -> None:
    message = {"role": "assistant", "content": "4", "opaque_body": {"signature": 5}}
    assert build_input([message]) == [{"type": "message", "role": "assistant", "content": "4"}]
