"""Input that is built on from request to request: it is what would be built at once, and only what is new is made."""

import copy
import json
import pickle
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import (
    ItemStore,
    KeptInput,
    MessageError,
    MessageItem,
    OtherItem,
    ToolOutputItem,
    build_input,
    build_items,
    read_item,
    replayable_items,
)


HISTORIES = Path(__file__).parent / "histories"
IDS = st.sampled_from(["c1", "c2", " c1", ""])
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
CONTENT = st.sampled_from(["words", "", [{"type": "text", "text": "a"}, PICTURE], [PICTURE]])


@st.composite
def _calls(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["function_call", "custom_tool_call", "shell_call"]))
    key = "input" if kind == "custom_tool_call" else "arguments"
    return {"type": kind, "call_id": draw(IDS), "name": "f", key: "{}"}


ITEMS = st.one_of(
    _calls(),
    st.builds(lambda kind, of: {"type": kind, "call_id": of, "output": "x"},
              st.sampled_from(["function_call_output", "custom_tool_call_output", "shell_call_output"]), IDS),
    st.sampled_from([
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {"type": "compaction", "encrypted_content": "z"},
        {"type": "mcp_approval_request", "id": "c1"},
        {"type": "mcp_approval_response", "approval_request_id": "c1", "approve": True},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "message", "role": "assistant", "content": "b"},
    ]),
)  # fmt: skip
CALLS = st.lists(
    st.builds(lambda of: {"id": of, "function": {"name": "f", "arguments": "{}"}}, IDS), max_size=2
)
MESSAGES = st.one_of(
    ITEMS,
    st.builds(lambda role, content: {"role": role, "content": content},
              st.sampled_from(["system", "user"]), CONTENT),
    st.builds(lambda content, calls: {"role": "assistant", "content": content, "tool_calls": calls}, CONTENT, CALLS),
    st.builds(lambda content, calls, items: {"role": "assistant", "content": content, "tool_calls": calls,
                                             "opaque_body": {"responses_output": items}},
              CONTENT, CALLS, st.lists(ITEMS, max_size=3)),
    st.builds(lambda content, of: {"role": "tool", "content": content, "tool_call_id": of}, CONTENT, IDS),
    st.just({"role": "user", "content": "A summary.", "replaces_earlier": True}),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Said:
    role: str
    content: object
    tool_calls: tuple[object, ...] = ()
    opaque_body: object = None


class Line(NamedTuple):
    role: str
    content: str


def grow(history: list[Any], kept: KeptInput) -> list[dict[str, Any]]:
    """Build the input of each request of a conversation whose messages come one by one, and return that of the last."""
    for count in range(len(history)):
        build_input(history[:count], kept=kept, lenient=True)
    return build_input(history, kept=kept, lenient=True)


@given(st.lists(MESSAGES, max_size=8))
def test_a_conversation_that_grows_is_built_as_it_would_be_at_once(history: list[Any]) -> None:
    assert grow(history, KeptInput()) == build_input(history, lenient=True)


@given(st.lists(ITEMS, max_size=10))
def test_items_that_come_one_by_one_are_built_as_they_would_be_at_once(items: list[Any]) -> None:
    kept = KeptInput()
    for count in range(len(items) + 1):
        built = build_items(items[:count], kept=kept)

    answered = {item["call_id"] for item in items if item["type"].endswith("_call_output")}
    assert built == replayable_items(items, answered=answered)


def test_what_was_built_before_comes_back_as_the_same_items() -> None:
    kept = KeptInput()
    asked = Said(role="user", content="words")
    answer = {
        "role": "assistant",
        "content": "b",
        "tool_calls": [{"id": "c1", "function": {"name": "f"}}],
    }
    first = build_input([asked], kept=kept)
    second = build_input([asked, answer, {"call_id": "c1", "content": "4"}], kept=kept)
    third = build_input(
        [asked, copy.deepcopy(answer), {"call_id": "c1", "content": "4"}, asked], kept=kept
    )

    assert second[0] is first[0]
    assert list(map(id, third[:-1])) == list(map(id, second))
    assert third == build_input([asked, answer, {"call_id": "c1", "content": "4"}, asked])


def change(of: Any, value: object, *path: str | int) -> None:
    """Change a value in place, at a path in it."""
    *outer, last = path
    for step in outer:
        of = of[step] if isinstance(of, dict | list | tuple) else getattr(of, str(step))
    if isinstance(of, dict):
        of[last] = value
    else:
        setattr(of, str(last), value)


PART = {"type": "text", "text": "a"}
NEW = {"type": "new_kind", "x": 1.0}


@pytest.mark.parametrize(
    ("message", "value", "path"),
    [
        ({"role": "user", "content": "a"}, "b", ["content"]),
        ({"role": "user", "content": [PART]}, "b", ["content", 0, "text"]),
        (Said(role="user", content=(PART,)), "b", ["content", 0, "text"]),
        (SimpleNamespace(role="user", content="a"), "b", ["content"]),
        (SimpleNamespace(role="user", content="a", of=lambda: None), "b", ["content"]),
        ({"role": "user", "content": [PICTURE]}, "https://a.example/b.png", ["content", 0, "image_url", "url"]),
        (Said(role="assistant", content="", opaque_body={"responses_output": [NEW]}), 1, ["opaque_body", "responses_output", 0, "x"]),
        (NEW, True, ["x"]),
    ],
)  # fmt: skip
def test_a_message_that_is_changed_in_place_goes_out_as_it_is_now(
    message: Any, value: object, path: list[str | int]
) -> None:
    kept, message = KeptInput(), copy.deepcopy(message)
    before = json.dumps(build_input([message], kept=kept))
    change(message, value, *path)
    after = json.dumps(build_input([message], kept=kept))

    assert after == json.dumps(build_input([message])) != before


def test_item_values_count_by_what_they_hold_now() -> None:
    kept = KeptInput()
    question, call = (
        MessageItem.of_text("user", "words"),
        read_item({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}", "status": "completed"}),
    )  # fmt: skip
    items = [question, call, ToolOutputItem(type="function_call_output", call_id="c1", output="4")]
    first = build_items(items, kept=kept)
    again = build_items([*items, OtherItem(wire={"type": "new_kind"})], kept=kept)
    change(call, "incomplete", "extra", "status")
    changed = build_items(items, kept=kept)

    assert list(map(id, again[:3])) == list(map(id, first))
    assert changed == build_items(items)
    assert changed[1]["status"] == "incomplete"


def test_another_conversation_and_another_model_begin_anew() -> None:
    kept = KeptInput()
    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "a"}], "made_by": "a"}  # fmt: skip
    for history, made_by in (
        ([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], None),
        ([{"role": "user", "content": "b"}], None),
        ([Line("user", "a")], None),
        ([Line("user", "b")], None),
        ([{"role": "user", "content": "b"}, thought, {"type": "message", "role": "assistant", "content": "c"}], "a"),
        ([{"role": "user", "content": "b"}, thought, {"type": "message", "role": "assistant", "content": "c"}], "b"),
    ):  # fmt: skip
        built = build_input(history, kept=kept, made_by=made_by)
        assert built == build_input(history, made_by=made_by)
        # What holds it may be copied, or stored, and what is kept stays behind.
        assert len(pickle.dumps(kept)) < 100
        assert build_input(history, kept=copy.deepcopy(kept), made_by=made_by) == built


def test_a_message_that_cannot_be_read_leaves_nothing_half_built() -> None:
    kept = KeptInput()
    said = {"role": "user", "content": "a"}
    build_input([said], kept=kept)
    with pytest.raises(MessageError, match=r"messages\[2\]"):
        build_input([said, said, {"role": "nobody", "content": "a"}], kept=kept)

    assert build_input([said, said], kept=kept) == build_input([said, said])


def test_what_was_recalled_once_stays_in_the_conversation() -> None:
    kept, store = KeptInput(), ItemStore()
    history: list[Any] = [{"role": "user", "content": "a"}]
    items = [
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    ]
    store.remember("scope", history, items)
    call = {"id": "c1", "function": {"name": "f", "arguments": "{}"}}
    history += [{"role": "assistant", "tool_calls": [call]}, {"call_id": "c1", "content": "4"}]
    first = build_input(history, kept=kept, recall=partial(store.recall, "scope"))
    history.append({"role": "user", "content": "b"})
    # The store may have forgotten them by now.
    second = build_input(history, kept=kept, recall=lambda _: None)

    assert first[1:3] == items
    assert second[:-1] == first


@pytest.mark.parametrize("name", ["openai_agents", "pydantic_ai", "langchain"])
def test_histories_of_other_libraries_grow_as_any(name: str) -> None:
    history = json.loads((HISTORIES / f"{name}.json").read_text(encoding="utf-8"))

    assert grow(history, KeptInput()) == build_input(history, lenient=True)
