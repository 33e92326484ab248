from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import Turn, build_input, carried_items


def call(call_id: str = "c1", name: str = "f", arguments: object = "{}") -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(
    content: object = "", *calls: dict[str, object], **fields: object
) -> dict[str, object]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **fields}


def tool(call_id: object = "c1", content: object = "result") -> dict[str, object]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def function_call(call_id: str = "c1", arguments: str = "{}") -> dict[str, object]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": arguments}


def output(call_id: str = "c1", text: str = "result") -> dict[str, object]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
ITEMS = [REASONING, {**function_call(), "id": "fc_1", "status": "completed"}]
OPAQUE = {"responses_output": ITEMS}


@pytest.mark.parametrize("role", ["user", "system", "developer"])
def test_text_becomes_an_input_text_part_under_its_role(role: str) -> None:
    assert build_input([{"role": role, "content": "Hi"}]) == [
        {"type": "message", "role": role, "content": [{"type": "input_text", "text": "Hi"}]}
    ]


@pytest.mark.parametrize("role", ["PromptMessageRole.SYSTEM", "Role.System"])
def test_a_role_with_the_name_of_its_enum_is_that_role(role: str) -> None:
    (item,) = build_input([{"role": role, "content": "Hi"}])

    assert item["role"] == "system"


@pytest.mark.parametrize("content", ["", None, []])
def test_a_message_without_text_is_left_out(content: object) -> None:
    assert build_input([{"role": "user", "content": content}, assistant(content)]) == []


def test_content_parts_are_joined_by_line_breaks() -> None:
    content = [
        {"type": "text", "data": "one"},
        {"type": "input_text", "text": "two"},
        "three",
        {"type": "text", "data": None},
    ]

    (item,) = build_input([{"role": "user", "content": content}])

    assert item["content"][0]["text"] == "one\ntwo\nthree"


@pytest.mark.parametrize(
    "refused",
    [
        {"content": [{"type": "refusal", "refusal": "No."}]},
        {"content": None, "refusal": "No."},
        {"content": "", "refusal": "No."},
    ],
    ids=str,
)
def test_a_refusal_goes_back_as_what_the_model_said(refused: dict[str, object]) -> None:
    items = [{"type": "message", "role": "assistant", "content": "No."}]
    assert build_input([{"role": "assistant", **refused}]) == items
    assert build_input([SimpleNamespace(role="assistant", **refused)]) == items


def test_content_of_another_kind_is_written_out() -> None:
    (item,) = build_input([{"role": "user", "content": 42}])

    assert item["content"][0]["text"] == "42"


def test_a_call_and_its_output_are_paired() -> None:
    assert build_input([assistant("Let me see.", call(arguments='{"a":1}')), tool()]) == [
        {"type": "message", "role": "assistant", "content": "Let me see."},
        function_call(arguments='{"a":1}'),
        output(),
    ]


def test_an_empty_tool_result_still_answers_its_call() -> None:
    assert build_input([assistant("", call()), tool(content="")])[-1] == output(text="")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [({"a": "é"}, '{"a": "é"}'), (None, "{}"), ("", "{}"), ("{bad", "{bad")],
)
def test_arguments_are_sent_as_text(arguments: object, expected: str) -> None:
    first, _ = build_input([assistant("", call(arguments=arguments)), tool()])

    assert first["arguments"] == expected


def test_a_call_without_its_output_is_never_sent() -> None:
    assert build_input([assistant("Hi", call("c1"), call("c2")), tool("c2")]) == [
        {"type": "message", "role": "assistant", "content": "Hi"},
        function_call("c2"),
        output("c2"),
    ]


@pytest.mark.parametrize("broken", [call(call_id=""), call(name=""), {}])
def test_a_call_without_id_or_name_is_left_out(broken: object) -> None:
    assert build_input([{"role": "assistant", "content": "Hi", "tool_calls": [broken]}]) == [
        {"type": "message", "role": "assistant", "content": "Hi"}
    ]


@pytest.mark.parametrize("content", ["", "4"])
@pytest.mark.parametrize("call_id", [None, "", " ", 7])
def test_a_tool_message_without_its_call_id_ends_nothing_where_that_is_asked_for(
    call_id: object, content: str
) -> None:
    messages = [{"role": "user", "content": "Hi"}, tool(call_id, content)]

    assert build_input(messages, lenient=True) == build_input(messages[:1])


@pytest.mark.parametrize("call_id", [None, ""])
def test_a_tool_message_without_its_call_id_and_without_content_says_nothing(
    call_id: object,
) -> None:
    assert build_input([tool(call_id, "")]) == []


def test_thoughts_are_not_sent_back_as_answers() -> None:
    """D6 of the official plugin."""
    assert build_input([assistant("<think>\nPlan\n</think>42")]) == [
        {"type": "message", "role": "assistant", "content": "42"}
    ]


def test_list_content_of_the_assistant_is_sent_as_its_text() -> None:
    """D7 of the official plugin: the parts went out as input_text, which the API refuses."""
    assert build_input([assistant([{"type": "text", "data": "42"}])]) == [
        {"type": "message", "role": "assistant", "content": "42"}
    ]


@pytest.mark.parametrize(
    "message",
    [
        assistant("shown", call(), opaque_body=OPAQUE),
        assistant([{"type": "text", "data": "shown", "opaque_body": OPAQUE}], call()),
        assistant(
            [{"type": "text", "data": ""}, {"type": "text", "data": "", "opaque_body": OPAQUE}],
            call(),
        ),
    ],
)
def test_items_that_travel_with_a_message_go_back_verbatim(message: dict[str, object]) -> None:
    assert build_input([message, tool()]) == [*ITEMS, output()]


def test_items_are_recalled_by_the_calls_when_nothing_travelled() -> None:
    asked: list[tuple[str, ...]] = []

    def recall(turn: Turn) -> list[dict[str, object]]:
        asked.append(turn.call_ids)
        return ITEMS

    assert build_input([assistant("", call()), tool()], recall=recall) == [*ITEMS, output()]
    assert asked == [("c1",)]


def test_a_message_is_rebuilt_when_nothing_is_known_of_it() -> None:
    built = build_input([assistant("", call()), tool()], recall=lambda _: None)

    assert built == [function_call(), output()]


def test_a_message_without_calls_is_looked_up_too_for_it_may_have_compacted() -> None:
    assert build_input([assistant("Hi")], recall=lambda _: None) == [
        {"type": "message", "role": "assistant", "content": "Hi"}
    ]


@pytest.mark.parametrize(
    "edited",
    [call("other"), call(name="g"), call(arguments='{"changed":1}'), call(arguments="{bad")],
)
def test_items_that_are_not_of_this_message_are_not_sent(edited: dict[str, object]) -> None:
    items = build_input([assistant("", edited, opaque_body=OPAQUE), tool(edited["id"])])

    assert [item["type"] for item in items] == ["function_call", "function_call_output"]
    assert items[0]["name"] == edited["function"]["name"]


def test_arguments_written_differently_are_still_the_same_call() -> None:
    items = [{**function_call(arguments='{"a":1,"b":2}')}]
    message = assistant(
        "", call(arguments='{"b": 2, "a": 1}'), opaque_body={"responses_output": items}
    )

    assert build_input([message, tool()]) == [*items, output()]


@pytest.mark.parametrize(
    "opaque", [None, {}, {"responses_output": []}, {"responses_output": "x"}, "x"]
)
def test_an_opaque_body_of_another_plugin_is_ignored(opaque: object) -> None:
    assert carried_items(assistant("Hi", opaque_body=opaque)) is None


def test_a_custom_tool_call_is_answered_as_one() -> None:
    items = [{"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "raw"}]
    message = assistant("", call(arguments="raw"), opaque_body={"responses_output": items})

    assert build_input([message, tool()])[-1]["type"] == "custom_tool_call_output"


def test_objects_are_read_like_mappings() -> None:
    class Role(Enum):
        TOOL = "tool"
        ASSISTANT = "assistant"

    @dataclass
    class Function:
        name: str = "f"
        arguments: str = "{}"

    @dataclass
    class Call:
        id: str = "c1"
        function: Function = field(default_factory=Function)

    @dataclass
    class Message:
        role: Role
        content: str = ""
        tool_calls: list[Call] = field(default_factory=list)
        tool_call_id: str | None = None

    history = [
        Message(Role.ASSISTANT, tool_calls=[Call()]),
        Message(Role.TOOL, "result", tool_call_id="c1"),
    ]

    assert build_input(history) == [function_call(), output()]


TEXT = st.text(max_size=10)
IDS = st.sampled_from(["c1", "c2"])
MESSAGES = st.lists(
    st.builds(lambda text: {"role": "user", "content": text}, TEXT)
    | st.builds(
        lambda text, ids: assistant(text, *map(call, ids)), TEXT, st.lists(IDS, unique=True)
    )
    | st.builds(tool, IDS, TEXT),
    max_size=8,
)


@given(MESSAGES)
def test_every_call_that_is_sent_has_an_output_and_nothing_is_changed(
    messages: list[dict[str, object]],
) -> None:
    before = repr(messages)
    items = build_input(messages)

    outputs = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
    calls = {item["call_id"] for item in items if item.get("type") == "function_call"}
    assert calls <= outputs
    assert repr(messages) == before
