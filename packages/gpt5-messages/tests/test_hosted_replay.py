"""What goes back of the items of hosted tools: carried by the message, remembered, or rebuilt from it."""

import copy
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpt5_messages import (
    ItemStore,
    Source,
    build_input,
    drop_orphan_outputs,
    fit_items,
    read_response,
    render_sources,
    replayable_items,
    without_reasoning,
)


QUESTION = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": "Noon."}],
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "4"}
SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "queries": ["x"], "sources": [{"type": "url", "url": "u"}]},
}
IMAGE = {
    "type": "image_generation_call",
    "id": "ig_1",
    "status": "completed",
    "result": "aGk=",
    "action": "generate",
    "background": "opaque",
    "output_format": "jpeg",
    "quality": "low",
    "revised_prompt": "A sun.",
    "size": "1024x1024",
}
SENT_IMAGE = {key: IMAGE[key] for key in ("id", "type", "status", "result")}
TOOLS = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "gh", "tools": [{"name": "f"}]}
MCP = {
    "type": "mcp_call",
    "id": "mcp_1",
    "server_label": "gh",
    "name": "f",
    "arguments": "{}",
    "output": "5",
    "error": None,
}
REQUEST = {"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "gh", "name": "f"}
LEAVE = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}
SHELL = {"type": "shell_call", "id": "sh_1", "call_id": "s1", "status": "completed", "action": {}}
SHELL_OUTPUT = {"type": "shell_call_output", "id": "sho_1", "call_id": "s1", "output": []}
PROGRAM = {"type": "program", "id": "cm_1", "call_id": "p1", "code": "1", "fingerprint": "x"}
CALLER = {"type": "program", "caller_id": "p1"}
SEARCHED = {"type": "tool_search_call", "call_id": None, "execution": "server", "arguments": {}}
FOUND = {"type": "tool_search_output", "call_id": None, "execution": "server", "tools": []}
COMPACTION = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c"}
UPDATE = {"type": "configuration_update", "reasoning": {"effort": "high"}}
MORE_TOOLS = {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]}


def carried(*items: dict[str, Any], text: str = "Noon.", **fields: object) -> dict[str, Any]:
    body = {"responses_output": list(items)}
    return {"role": "assistant", "content": text, "opaque_body": body, **fields}


@pytest.mark.parametrize(
    "items",
    [
        [REASONING, SEARCH, REASONING, SEARCH, MESSAGE],
        [TOOLS, REASONING, MCP, MESSAGE],
        [REASONING, SHELL, SHELL_OUTPUT, MESSAGE],
        [SEARCHED, FOUND, MESSAGE],
        [{**SEARCH, "status": "searching"}, MESSAGE],
        [{**SEARCH, "status": None}, {"type": "brand_new_call", "status": "odd"}, MESSAGE],
    ],
)
def test_what_the_server_did_by_itself_goes_back_verbatim_and_in_order(
    items: list[dict[str, Any]],
) -> None:
    assert build_input([QUESTION, carried(*items), QUESTION])[1:-1] == items


def test_of_an_image_only_itself_goes_back() -> None:
    assert build_input([carried(REASONING, IMAGE, MESSAGE)]) == [REASONING, SENT_IMAGE, MESSAGE]


def test_an_image_that_azure_calls_generating_is_completed() -> None:
    azure = {**IMAGE, "status": "generating"}

    assert replayable_items([azure]) == [SENT_IMAGE]


@pytest.mark.parametrize(
    "broken",
    [
        {**IMAGE, "status": "failed"},
        {**IMAGE, "result": None},
        {**IMAGE, "result": ""},
        {"type": "image_generation_call", "id": "ig_1"},
        {**SEARCH, "status": "failed"},
        {**SEARCH, "status": "in_progress"},
        {"type": "code_interpreter_call", "id": "ci_1", "status": "incomplete", "code": "1"},
        {**MCP, "error": "no answer"},
        {**MCP, "status": "failed"},
        {**TOOLS, "error": "no answer"},
        REQUEST,
        SHELL,
        {"type": "apply_patch_call", "call_id": "a1", "status": "completed", "operation": {}},
        {"type": "computer_call", "call_id": "a1", "status": "completed", "actions": []},
        {**SEARCHED, "call_id": "t1", "execution": "client"},
    ],
)
def test_what_failed_or_waits_for_an_answer_is_left_out_with_its_reasoning(
    broken: dict[str, Any],
) -> None:
    items = [REASONING, SEARCH, {**REASONING, "id": "rs_2"}, broken, MESSAGE]

    assert build_input([carried(*items)]) == [REASONING, SEARCH, MESSAGE]


def test_leave_goes_back_with_the_request_that_it_answers() -> None:
    items = [TOOLS, REASONING, REQUEST]

    assert build_input([QUESTION, *items, LEAVE]) == [QUESTION, *items, LEAVE]
    assert build_input([QUESTION, carried(*items), LEAVE]) == [QUESTION, *items, LEAVE]
    assert drop_orphan_outputs([TOOLS, LEAVE, FOUND]) == [TOOLS, FOUND]


def test_a_call_that_a_program_made_is_answered_under_its_name() -> None:
    made = {**CALL, "caller": CALLER, "namespace": "crm"}
    answer = carried(REASONING, PROGRAM, made, tool_calls=[_as_dify(made)])
    result = {"role": "tool", "tool_call_id": "c1", "content": "4"}

    assert build_input([QUESTION, answer, result])[1:] == [
        REASONING,
        PROGRAM,
        made,
        {**OUTPUT, "caller": CALLER},
    ]


def _as_dify(call: dict[str, Any]) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": call["arguments"]}
    return {"id": call["call_id"], "type": "function", "function": function}


def test_settings_in_the_middle_of_a_conversation_stay_where_they_are() -> None:
    items = [QUESTION, MESSAGE, UPDATE, MORE_TOOLS, COMPACTION, QUESTION]

    assert build_input(items) == items
    assert build_input([QUESTION, REASONING, UPDATE, QUESTION]) == [QUESTION, UPDATE, QUESTION]


def test_a_server_that_did_not_make_them_gets_none_of_them() -> None:
    made = {**CALL, "caller": CALLER, "namespace": "crm"}
    items = [REASONING, TOOLS, MCP, SEARCH, IMAGE, PROGRAM, made, OUTPUT, COMPACTION, REQUEST]

    kept = without_reasoning([QUESTION, *items, LEAVE, UPDATE])

    plain = {key: value for key, value in made.items() if key not in ("id", "caller")}
    bare = {key: value for key, value in COMPACTION.items() if key != "id"}
    assert kept == [QUESTION, plain, OUTPUT, bare, UPDATE]


def test_an_image_that_its_message_shows_too_is_sent_once() -> None:
    link = {"type": "image_url", "image_url": {"url": "https://example.org/ig_1.jpg"}}
    other = {"type": "image_url", "image_url": {"url": "https://example.org/other.png"}}
    answer = carried(IMAGE, MESSAGE)
    shown = {**answer, "content": [{"type": "text", "text": "Noon."}, link, other]}

    sent = build_input([QUESTION, shown])

    assert sent[1:3] == [SENT_IMAGE, MESSAGE]
    assert [part.get("image_url") for part in sent[3]["content"][1:]] == [other["image_url"]["url"]]
    rebuilt = build_input([QUESTION, {**shown, "opaque_body": None}])
    assert "ig_1.jpg" in json.dumps(rebuilt)


def test_of_the_images_that_a_message_shows_only_those_are_left_out_that_its_items_hold() -> None:
    items = fit_items([large("ig_1", 2_000), large("ig_2", 400), MESSAGE], max_bytes=1_500)
    urls = [f"data:image/jpeg;base64,{'A' * size}" for size in (2_000, 400)]
    shown = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    answer = {**carried(*items), "content": [{"type": "text", "text": "Noon."}, *shown]}

    sent = build_input([QUESTION, answer])

    assert [item.get("type") for item in sent[1:4]] == [
        "message",
        "image_generation_call",
        "message",
    ]
    assert [part["image_url"] for part in sent[4]["content"][1:]] == urls[:1]


def test_remembered_calls_bring_the_items_of_hosted_tools_with_them() -> None:
    store = ItemStore()
    items = [REASONING, SEARCH, IMAGE, MESSAGE, CALL]
    store.remember("key", [QUESTION], items)
    sources = render_sources([Source(title="A", url="https://a.org")])
    answer = {"role": "assistant", "content": "Noon." + sources, "tool_calls": [_as_dify(CALL)]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "4"}

    sent = build_input([QUESTION, answer, result], recall=partial(store.recall, "key"))

    assert sent[1:] == [REASONING, SEARCH, SENT_IMAGE, MESSAGE, CALL, OUTPUT]


def test_a_remembered_answer_without_calls_brings_the_items_of_hosted_tools_with_it() -> None:
    store = ItemStore()
    items = [REASONING, SEARCH, MESSAGE]
    store.remember("key", [QUESTION], items)
    sources = render_sources([Source(title="A", url="https://a.org")])
    answer = {"role": "assistant", "content": "Noon." + sources}

    assert build_input([QUESTION, answer], recall=partial(store.recall, "key"))[1:] == items


def large(name: str, size: int) -> dict[str, Any]:
    return {**IMAGE, "id": name, "result": "A" * size}


def test_images_that_do_not_fit_become_sentences_and_the_latest_stay() -> None:
    items = [large("ig_1", 3_000), REASONING, large("ig_2", 2_000), REASONING, SEARCH]
    items += [REASONING, large("ig_3", 1_000), MESSAGE]

    fitted = fit_items(items, max_bytes=2_500)

    assert [item["type"] for item in fitted] == [
        *("message", "message", "reasoning", "web_search_call", "reasoning"),
        *("image_generation_call", "message"),
    ]
    assert "2000 characters" in json.dumps(fitted[1])
    assert len(json.dumps(fitted)) < 2_500
    assert replayable_items(fitted)[4:] == [
        REASONING,
        {**SENT_IMAGE, "id": "ig_3", "result": "A" * 1_000},
        MESSAGE,
    ]


@pytest.mark.parametrize("items", [[], [MESSAGE], [large("ig_1", 100), MESSAGE]])
def test_items_that_fit_are_copied_as_they_are(items: list[dict[str, Any]]) -> None:
    fitted = fit_items(items, max_bytes=2_000)

    assert fitted == items
    assert not items or fitted[0] is not items[0]


def test_what_is_no_image_stays_however_large_it_is() -> None:
    search = {**SEARCH, "action": {"type": "search", "queries": ["x" * 1_000]}}

    assert fit_items([search, large("ig_1", 10), MESSAGE], max_bytes=100)[0] == search


def test_a_large_image_does_not_drive_others_out_of_the_memory() -> None:
    store = ItemStore(max_bytes=100_000)
    answer = {"role": "assistant", "content": "Noon.", "tool_calls": [_as_dify(CALL)]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "4"}
    store.remember("key", [QUESTION], [REASONING, large("ig_1", 200_000), MESSAGE, REASONING, CALL])

    sent = build_input([QUESTION, answer, result], recall=partial(store.recall, "key"))

    assert [item.get("type") for item in sent[1:]] == [
        *("message", "message", "reasoning", "function_call", "function_call_output")
    ]
    assert "[image omitted: 200000 characters" in json.dumps(sent[1])


# Every kind of item that a response can hold, whole and broken, calls answered and not.
KINDS = [
    *(SEARCH, IMAGE, TOOLS, MCP, REQUEST, SHELL, SHELL_OUTPUT, PROGRAM, SEARCHED, FOUND),
    *(COMPACTION, MESSAGE, CALL, {**CALL, "call_id": "lost"}, {**IMAGE, "result": None}),
    *({**SEARCH, "status": "failed"}, {**MCP, "error": "x"}, REASONING, REASONING),
    {"type": "reasoning", "id": "rs_0", "summary": []},
]
outputs = st.lists(st.sampled_from(KINDS), max_size=12).map(
    lambda items: [
        {**item, "id": f"{item.get('id')}_{number}"} for number, item in enumerate(items)
    ]
)


@given(items=outputs, is_answered=st.booleans())
@example(
    items=[SHELL_OUTPUT | {"id": "a"}, COMPACTION | {"id": "b"}, SHELL | {"id": "c"}],
    is_answered=False,
)  # no server puts an output before its call
def test_any_mixture_of_items_goes_back_as_a_part_of_itself(
    items: list[dict[str, Any]], *, is_answered: bool
) -> None:
    before = copy.deepcopy(items)
    completion = read_response({"status": "completed", "output": items})
    calls = [_as_dify(CALL)] if is_answered and any(i.get("call_id") == "c1" for i in items) else []
    answer = {**carried(*completion.items, text=completion.text), "tool_calls": calls}
    results = [{"role": "tool", "tool_call_id": "c1", "content": "4"}] if is_answered else []

    sent = build_input([QUESTION, answer, *results], lenient=True)
    made = [item for item in sent[1:] if "id" in item]

    assert items == before
    positions = [[one["id"] for one in items].index(item["id"]) for item in made]
    assert positions == sorted(set(positions))
    for item, position in zip(made, positions, strict=True):
        original = items[position]
        is_image = item["type"] == "image_generation_call"
        assert item == ({key: original[key] for key in SENT_IMAGE} if is_image else original)
        if item["type"] == "reasoning":
            following = made[made.index(item) + 1]
            assert positions[made.index(item) + 1] > position
            assert following["type"] != "shell_call_output"
    assert replayable_items(made, answered={"c1"} if is_answered else ()) == made
    assert not any(item.get("call_id") == "lost" for item in sent)


@given(items=outputs, room=st.integers(0, 5_000))
def test_fitted_items_are_the_same_but_for_images(items: list[dict[str, Any]], room: int) -> None:
    fitted = fit_items(items, max_bytes=room)
    others = [item for item in fitted if item["type"] not in ("image_generation_call", "message")]

    assert [item for item in items if item in others] == others
    assert fit_items(fitted, max_bytes=10**9) == fitted
    images = [item for item in fitted if item["type"] == "image_generation_call"]
    rest = sum(len(json.dumps(item)) for item in fitted if item not in images)
    assert not images or rest + sum(len(json.dumps(item)) for item in images) <= max(room, rest)


@pytest.mark.parametrize(
    ("kind", "key", "given", "written"),
    [
        ("function_call", "arguments", None, "{}"),
        ("function_call", "arguments", {"a": 1}, '{"a": 1}'),
        ("function_call", "arguments", 7, "{}"),
        ("custom_tool_call", "input", None, ""),
    ],
)
def test_what_a_call_was_given_goes_back_as_text(
    kind: str, key: str, given: object, written: str
) -> None:
    call = {"type": kind, "call_id": "c1", "name": "f", key: given}

    assert replayable_items([call]) == [call | {key: written}]
    assert replayable_items([call | {"call_id": "c2", key: "x"}])[0][key] == "x"
