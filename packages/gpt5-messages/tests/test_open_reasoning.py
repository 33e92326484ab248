"""What servers other than OpenAI's think aloud goes back to the connection and model that thought it, and to no other."""

from typing import Any

import pytest

from gpt5_messages import (
    History,
    ItemStore,
    MessageItem,
    build_input,
    fit_items,
    is_open_reasoning,
    mark_open_reasoning,
    read_item,
    replayable_items,
    without_marks,
)


OURS, OTHERS = "0123456789abcdef", "fedcba9876543210"
ITEM = {"type": "reasoning", "id": "rs_1"}
SUMMARY = [{"type": "summary_text", "text": "They ask for noon."}]
CONTENT = [{"type": "reasoning_text", "text": "They ask for noon."}]
OPEN: dict[str, dict[str, Any]] = {
    "vllm": {**ITEM, "summary": [], "content": CONTENT, "encrypted_content": None, "status": None},
    "llama.cpp": {**ITEM, "summary": [], "content": CONTENT, "encrypted_content": ""},
    "sglang": {**ITEM, "summary": SUMMARY, "content": CONTENT, "encrypted_content": "v1.eJwLyS0="},
    "sglang's summary": {
        **ITEM,
        "summary": SUMMARY,
        "encrypted_content": "sglang-reasoning-v1.eJw=",
    },
    "omlx": {**ITEM, "summary": SUMMARY, "content": None},
    "ollama": {**ITEM, "summary": SUMMARY, "encrypted_content": SUMMARY[0]["text"]},
    "one word": {**ITEM, "summary": [{"text": "Noon"}], "encrypted_content": "Noon"},
    "without blanks": {**ITEM, "summary": [], "encrypted_content": "正午を聞いている"},
    "litellm": {
        **ITEM,
        "summary": [],
        "role": "assistant",
        "content": [{"type": "output_text", "text": "They ask for noon."}],
    },
    "thinking blocks": {**ITEM, "summary": [], "encrypted_content": '[{"type":"thinking"}]'},
    "a bare text": {**ITEM, "summary": [], "content": "They ask for noon."},
}
SEALED = {**ITEM, "summary": SUMMARY, "encrypted_content": "gAAAAABn_0a-9z="}
CALL = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": "{}"}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "12"}
QUESTION = {"role": "user", "content": "When?"}


def marked(*items: dict[str, Any], made_by: str | None = OURS) -> list[Any]:
    return list(mark_open_reasoning(items, made_by))


@pytest.mark.parametrize("item", OPEN.values(), ids=OPEN)
def test_it_goes_back_as_it_came_to_who_made_it(item: dict[str, Any]) -> None:
    kept = marked(item, CALL)

    assert is_open_reasoning(item)
    assert replayable_items(kept, made_by=OURS) == [item, CALL]
    assert replayable_items(kept, made_by=OTHERS) == [CALL]
    assert replayable_items(kept) == [CALL]


@pytest.mark.parametrize(
    "item", [SEALED, {**ITEM, "summary": []}, CALL], ids=["encrypted", "empty", "a call"]
)
def test_nothing_else_is_marked(item: dict[str, Any]) -> None:
    assert not is_open_reasoning(item)
    assert marked(item) == [item]


def test_for_openai_nothing_is_marked() -> None:
    assert marked(OPEN["vllm"], made_by=None) == [OPEN["vllm"]]


@pytest.mark.parametrize("name", ["vllm", "llama.cpp", "omlx", "ollama", "one word", "litellm"])
def test_without_a_mark_nobody_gets_it(name: str) -> None:
    assert replayable_items([OPEN[name], CALL], made_by=OURS) == [CALL]
    assert replayable_items([{**OPEN[name], "made_by": None}, CALL]) == [CALL]


def test_what_is_encrypted_goes_back_as_before() -> None:
    for made_by in (None, OURS):
        assert replayable_items(marked(SEALED, CALL), made_by=made_by) == [SEALED, CALL]


def test_a_summary_that_is_missing_is_an_empty_one() -> None:
    bare = {**ITEM, "content": CONTENT}

    for item in (bare, {**bare, "summary": None}):
        [sent, _] = replayable_items(marked(item, CALL), made_by=OURS)
        assert sent == {**bare, "summary": []}


def test_it_goes_only_with_the_item_that_it_led_to() -> None:
    assert replayable_items(marked(OPEN["vllm"], CALL), answered=(), made_by=OURS) == []


def test_it_travels_with_a_message() -> None:
    items = marked(OPEN["llama.cpp"], CALL)
    answer = {"role": "assistant", "content": "", "opaque_body": {"responses_output": items}}
    talk = [QUESTION, answer, RESULT]

    assert build_input(talk, made_by=OURS)[1] == OPEN["llama.cpp"]
    for made_by in (None, OTHERS):
        assert "noon" not in str(build_input(talk, made_by=made_by))


@pytest.mark.parametrize("item", OPEN.values(), ids=OPEN)
def test_among_messages_it_is_an_item_and_never_what_was_said(item: dict[str, Any]) -> None:
    result = {"type": "function_call_output", "call_id": "c1", "output": "12"}
    talk = [QUESTION, *marked(item, CALL), result]

    assert build_input(talk, made_by=OURS)[1:] == [item, CALL, result]
    assert build_input(talk)[1:] == [CALL, result]


def test_it_is_remembered_where_messages_carry_nothing() -> None:
    store, items = ItemStore(), marked(OPEN["ollama"], read_text("Noon."))
    store.remember("me", [QUESTION], items)
    talk = [QUESTION, {"role": "assistant", "content": "Noon."}, QUESTION]

    def recall(turn: Any) -> Any:
        return store.recall("me", turn)

    assert build_input(talk, recall=recall, made_by=OURS, history=History())[1] == OPEN["ollama"]


def read_text(text: str) -> dict[str, Any]:
    return dict(MessageItem.of_text("assistant", text).to_wire(), type="message")


def test_an_item_value_keeps_its_mark() -> None:
    [item] = marked(OPEN["vllm"])

    assert read_item(item).to_wire() == item


def test_the_oldest_is_left_out_where_there_is_no_room_and_never_a_call() -> None:
    thoughts = [{**OPEN["vllm"], "id": f"rs_{n}", "content": [{"text": "x" * 900}]} for n in "123"]
    items = marked(thoughts[0], CALL, SEALED, thoughts[1], CALL, thoughts[2], CALL)

    def kept(max_bytes: int) -> list[str]:
        return [item["id"] for item in fit_items(items, max_bytes=max_bytes)]

    assert kept(10_000) == ["rs_1", "fc", "rs_1", "rs_2", "fc", "rs_3", "fc"]
    assert kept(3_000) == ["fc", "rs_1", "rs_2", "fc", "rs_3", "fc"]
    assert kept(10) == ["fc", "rs_1", "fc", "fc"]


def test_images_make_room_first_and_take_their_thoughts_with_them() -> None:
    image = {
        "type": "image_generation_call",
        "id": "ig",
        "status": "completed",
        "result": "A" * 999,
    }
    items = marked(OPEN["vllm"], image, OPEN["omlx"], CALL)

    assert [item["type"] for item in fit_items(items, max_bytes=800)] == [
        *("message", "reasoning", "function_call")
    ]
    assert [item["type"] for item in fit_items(items, max_bytes=10)] == ["message", "function_call"]


def test_no_mark_and_nothing_of_others_is_left_in_a_request() -> None:
    theirs = mark_open_reasoning([OPEN["omlx"]], OTHERS)
    items = [QUESTION, *marked(OPEN["vllm"]), *theirs, SEALED, CALL, "no item"]

    assert without_marks(items, OURS) == [QUESTION, OPEN["vllm"], SEALED, CALL, "no item"]
    assert without_marks(items, None) == [QUESTION, SEALED, CALL, "no item"]
