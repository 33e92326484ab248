import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import (
    ConversationItem,
    MessageItem,
    OtherItem,
    ReasoningItem,
    ToolCallItem,
    ToolOutputItem,
    read_item,
)


TEXT = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
EXTRA = st.dictionaries(st.sampled_from(["id", "status", "phase", "metadata"]), JSON, max_size=3)
PARTS = st.lists(st.dictionaries(TEXT, JSON, max_size=2), max_size=3).map(tuple)
ITEMS = st.one_of(
    st.builds(
        MessageItem,
        role=st.sampled_from(["user", "system", "developer", "assistant"]),
        content=TEXT | PARTS,
        extra=EXTRA,
    ),
    st.builds(
        ReasoningItem,
        text=TEXT,
        summary=st.lists(TEXT, max_size=3).map(tuple),
        encrypted_content=st.none() | TEXT,
        extra=EXTRA,
    ),
    st.builds(
        ToolCallItem,
        type=st.sampled_from(["function_call", "custom_tool_call"]),
        call_id=TEXT,
        name=TEXT,
        arguments=TEXT,
        extra=EXTRA,
    ),
    st.builds(
        ToolOutputItem,
        type=st.sampled_from(["function_call_output", "custom_tool_call_output"]),
        call_id=TEXT,
        output=TEXT | PARTS,
        extra=EXTRA,
    ),
)
KEYS = (
    "type",
    "role",
    "content",
    "summary",
    "encrypted_content",
    "call_id",
    "name",
    "arguments",
    "input",
    "output",
    "text",
)
TYPES = (
    "message",
    "reasoning",
    "function_call",
    "custom_tool_call",
    "function_call_output",
    "web_search_call",
)


@given(ITEMS)
def test_an_item_survives_the_way_to_the_wire_and_back(item: ConversationItem) -> None:
    assert read_item(item.to_wire()) == item


@given(st.dictionaries(st.sampled_from(KEYS), JSON | st.sampled_from(TYPES), max_size=6))
def test_whatever_is_on_the_wire_survives_the_way_to_an_item_and_back(
    wire: dict[str, object],
) -> None:
    assert read_item(wire).to_wire() in (wire, {"type": "message", **wire})


def test_a_recorded_reasoning_item_is_read_with_its_fields() -> None:
    wire = {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "A"}],
        "content": [{"type": "reasoning_text", "text": "raw"}],
        "encrypted_content": "e",
        "status": "completed",
    }

    assert read_item(wire) == ReasoningItem(
        text="raw",
        summary=("A",),
        encrypted_content="e",
        extra={"id": "rs_1", "status": "completed"},
    )


def test_a_message_knows_its_text() -> None:
    parts = ({"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "b"}, {"text": 1})

    assert MessageItem(role="assistant", content=parts).text == "ab"
    assert MessageItem(role="user", content="Hi").text == "Hi"


@pytest.mark.parametrize(
    ("role", "content"),
    [("user", [{"type": "input_text", "text": "Hi"}]), ("assistant", "Hi")],
)
def test_a_text_goes_out_in_the_form_that_all_servers_take(role: str, content: object) -> None:
    wire = MessageItem.of_text(role, "Hi").to_wire()

    assert wire == {"type": "message", "role": role, "content": content}


def test_a_message_without_a_type_is_read_and_goes_out_with_it() -> None:
    item = read_item({"role": "user", "content": "Hi"})

    assert item == MessageItem(role="user", content="Hi")
    assert item.to_wire() == {"type": "message", "role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    "wire",
    [
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "reasoning", "summary": [{"type": "new", "text": "A"}]},
        {"type": "reasoning", "summary": None},
        {"type": "message", "role": "tool", "content": "x"},
        {"type": "message", "role": "user", "content": 7},
        {"type": "function_call", "name": "f"},
        {"type": "function_call_output", "call_id": "c", "output": None},
        {},
    ],
)
def test_what_does_not_fit_its_type_is_kept_as_it_is(wire: dict[str, object]) -> None:
    assert read_item(wire) == OtherItem(wire=wire)


def test_to_wire_gives_out_copies() -> None:
    wire = {"type": "new", "x": 1}

    read_item(wire).to_wire()["x"] = 2

    assert wire == {"type": "new", "x": 1}
