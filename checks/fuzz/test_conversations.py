"""Conversations of any shape: items that can be sent, nothing of another conversation, and errors that name their field."""

import json
import re
from contextlib import suppress
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpt5_audit import AuditLog
from gpt5_messages import (
    ItemStore,
    MessageError,
    build_input,
    drop_orphan_outputs,
    read_item,
    replayable_items,
    without_reasoning,
)
from gpt5_payloads import PayloadError, build_request, count_tokens
from shapes import BODIES, LEAVES, TEXTS, VALUES, mutated


IDS = st.sampled_from(["call_0", "call_1", "c2", ""]) | TEXTS
PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "input_text", "document"]) | LEAVES},
    optional={"data": TEXTS | LEAVES, "text": TEXTS, "opaque_body": VALUES, "url": TEXTS},
)
OUTPUTS = st.sampled_from(
    [body["output"] for body in BODIES if isinstance(body.get("output"), list)]
)
BODIES_CARRIED = st.fixed_dictionaries(
    {"responses_output": (OUTPUTS.flatmap(mutated)) | VALUES}, optional={"carry": TEXTS}
)
MESSAGES = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool", "system", "PromptMessageRole.USER"])
        | LEAVES
    },
    optional={
        "content": TEXTS | st.lists(PARTS, max_size=3) | LEAVES,
        "tool_calls": st.lists(
            st.fixed_dictionaries(
                {
                    "id": IDS | LEAVES,
                    "function": st.fixed_dictionaries(
                        {
                            "name": IDS | LEAVES,
                            "arguments": st.sampled_from(["{}", "{", '{"a":1}']) | VALUES,
                        }
                    )
                    | LEAVES,
                }
            ),
            max_size=3,
        )
        | LEAVES,
        "tool_call_id": IDS | LEAVES,
        "opaque_body": BODIES_CARRIED | VALUES,
    },
)
MODELS = (
    st.sampled_from(["gpt-5", "gpt-5.2", "gpt-5-codex", "gpt-5.2-pro", "my-deployment"]) | TEXTS
)
PARAMETERS = st.dictionaries(
    st.sampled_from(
        [
            "max_output_tokens",
            "reasoning_effort",
            "reasoning_summary",
            "verbosity",
            "response_format",
            "json_schema",
            "tool_choice",
            "parallel_tool_calls",
            "enable_stream",
        ]
    ),
    st.sampled_from(["auto", "low", "none", "json_schema", "f", '{"schema": {}}', "8192", "true"])
    | st.fixed_dictionaries(
        {"schema": VALUES}, optional={"name": TEXTS, "strict": LEAVES, "description": LEAVES}
    )
    | VALUES,
    max_size=4,
)
TOOLS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["f", "g"]) | LEAVES},
        optional={"description": LEAVES, "parameters": VALUES},
    )
    | LEAVES,
    max_size=2,
)


def build_or_name(messages: list[Any], recall: Any) -> list[dict[str, Any]]:
    """Build the items; nothing where the error names the place of what cannot be read."""
    try:
        return build_input(messages, recall=recall)
    except MessageError as error:
        assert re.match(r"messages\[\d\]", error.field)
        return []


@given(st.lists(MESSAGES, max_size=5), st.booleans())
def test_any_conversation_becomes_items_that_can_be_sent(
    messages: list[Any], recalls: bool
) -> None:
    before = repr(messages)
    store = ItemStore()
    items = build_or_name(messages, recall=partial(store.recall, "s") if recalls else None)

    assert repr(messages) == before
    json.dumps(items)
    answered = [
        item.get("call_id") for item in items if str(item.get("type")).endswith("_call_output")
    ]
    made = [
        item.get("call_id")
        for item in items
        if item.get("type") in ("function_call", "custom_tool_call")
    ]
    assert all(call_id in answered for call_id in made)
    for changed in (drop_orphan_outputs(items), without_reasoning(items), replayable_items(items)):
        json.dumps(changed)
        assert count_tokens(changed) >= 0
    for item in items:
        assert read_item(item).to_wire() == item


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]), st.lists(MESSAGES, max_size=3), OUTPUTS.flatmap(mutated)
        ),
        max_size=4,
    ),
    st.lists(MESSAGES, max_size=4),
)
def test_what_is_recalled_is_only_what_was_remembered_there(
    remembered: list[Any], messages: list[Any]
) -> None:
    store = ItemStore(max_bytes=200_000)
    for scope, history, items in remembered:
        if isinstance(items, list):
            with suppress(MessageError):
                store.remember(scope, history, [item for item in items if isinstance(item, dict)])

    def recall(turn: Any) -> Any:
        found = store.recall("a", turn)
        owned = [items for scope, _, items in remembered if scope == "a"]
        assert found is None or any(
            json.dumps(found) == json.dumps([item for item in items if isinstance(item, dict)])
            for items in owned
            if isinstance(items, list)
        )
        return found

    build_or_name(messages, recall=recall)


@given(MODELS | LEAVES, PARAMETERS | VALUES, TOOLS, st.lists(TEXTS, max_size=2), TEXTS)
def test_any_parameters_make_a_request_or_name_their_field(
    model: Any, parameters: Any, tools: list[Any], stop: list[str], user: str
) -> None:
    if not isinstance(parameters, dict):
        parameters = {"json_schema": parameters, "response_format": "json_schema"}
    lines: list[str] = []
    audit = AuditLog(lines.append)
    try:
        body = build_request(
            model=model,
            input="x",
            parameters=parameters,
            tools=tools,
            stop=stop,
            safety_identifier=user,
        )
    except PayloadError as error:
        assert error.field
        assert len(str(error)) < 2_000
        audit.error(error, model=model)
    else:
        json.dumps(body, allow_nan=False)
        audit.request(body, base_url=user)
    assert all("\n" not in line for line in lines)
    assert lines


@given(VALUES, VALUES)
def test_anything_may_be_given_to_the_audit_log(event: Any, fact: Any) -> None:
    lines: list[str] = []
    log = AuditLog(lines.append)
    body = event if isinstance(event, dict) else {"input": event, "model": fact, "tools": fact}
    audit_id = log.request(body, base_url=str(fact))
    log.error(body, audit_id=audit_id, model=str(fact))
    log.success(audit_id, model=str(fact), request_id=str(fact))

    assert len(lines) == 3
    assert all(len(line) < 2_000 and line.isprintable() for line in lines)
