"""Conversations that the server has made shorter on its way."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_messages import (
    HostedProgress,
    ItemDone,
    ItemStore,
    StreamDecoder,
    build_input,
    read_response,
    without_compacted,
)


SYSTEM = {"role": "system", "content": "Be brief."}
COMPACTION = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "4"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "content": parts}


def answer(text: str, *items: dict[str, Any], **body: Any) -> dict[str, Any]:
    opaque = {"responses_output": list(items), **body} if items else None
    return {"role": "assistant", "content": text, "opaque_body": opaque}


def kinds(items: list[dict[str, Any]]) -> list[str]:
    return [
        item["role"] if item.get("role") in ("system", "user") else item["type"] for item in items
    ]


def told(items: list[dict[str, Any]]) -> str:
    return str(items)


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ((said("B"), COMPACTION), ["compaction"]),  # as recorded
        ((COMPACTION, said("B")), ["compaction", "message"]),  # as documented
        ((REASONING, COMPACTION, REASONING, said("B")), ["compaction", "reasoning", "message"]),
    ],
)
def test_what_a_compaction_stands_for_goes_out_no_more(
    output: tuple[dict[str, Any], ...], kept: list[str]
) -> None:
    messages = [SYSTEM, user("A"), answer("B", *output), user("C")]

    assert kinds(build_input(messages)) == ["system", *kept, "user"]


def test_only_the_newest_compaction_counts() -> None:
    newer = {**COMPACTION, "id": "cmp_2", "encrypted_content": "gBBB"}
    messages = [user("A"), answer("B", COMPACTION), user("C"), answer("D", newer), user("E")]

    assert told(build_input(messages)).count("compaction") == 1
    assert "gBBB" in told(build_input(messages))


def test_calls_that_are_answered_behind_a_compaction_stay_before_it() -> None:
    """The server refuses an output without its call, and a call without its reasoning."""
    called = answer("", said("x"), REASONING, CALL, COMPACTION)
    called["tool_calls"] = [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]
    result = {"role": "tool", "tool_call_id": "c1", "content": "4"}

    assert kinds(build_input([user("A"), called, result])) == [
        *("message", "reasoning", "function_call", "compaction", "function_call_output")
    ]


def test_answered_calls_and_instructions_in_the_middle_go() -> None:
    items = [SYSTEM, user("A"), CALL, OUTPUT, SYSTEM, said("B"), COMPACTION, user("C")]

    assert kinds(without_compacted(items)) == ["system", "compaction", "user"]
    assert without_compacted(items[:5]) == items[:5]


def test_a_window_of_the_compact_call_goes_out_as_it_is() -> None:
    window = read_response({"output": [{**user("A"), "type": "message"}, COMPACTION]})
    message = {"role": "assistant", "content": "", "opaque_body": window.opaque_body}

    assert kinds(build_input([SYSTEM, message, user("B")])) == [
        *("system", "user", "compaction", "user")
    ]
    assert kinds(build_input([*window.items, user("B")])) == ["user", "compaction", "user"]


def test_a_compaction_of_somebody_else_is_not_used() -> None:
    mine = [user("A"), answer("B", COMPACTION, said("B"), made_for="me"), user("C")]
    nobodys = [user("A"), answer("B", COMPACTION, said("B")), user("C")]

    assert kinds(build_input(mine, made_for="me")) == ["compaction", "message", "user"]
    for messages, made_for in ((mine, "you"), (nobodys, "me")):
        assert kinds(build_input(messages, made_for=made_for)) == ["user", "message", "user"]


def test_a_conversation_goes_out_whole_where_compactions_are_not_wanted() -> None:
    messages = [user("A"), answer("B", said("B"), COMPACTION), user("C")]

    assert kinds(build_input(messages, compacted=False)) == ["user", "message", "user"]


def test_a_compaction_comes_back_where_the_platform_drops_it() -> None:
    store, asked = ItemStore(), [user("A")]
    store.remember("me", asked, [said("B"), COMPACTION])
    messages = [*asked, answer("B"), user("C")]

    assert kinds(build_input(messages, recall=partial(store.recall, "me"))) == [
        *("compaction", "user")
    ]
    assert "compaction" not in told(build_input(messages, recall=partial(store.recall, "you")))
    assert "compaction" not in told(
        build_input(messages, recall=partial(store.recall, "me"), compacted=False)
    )


def test_of_two_answers_that_look_alike_no_compaction_is_recalled() -> None:
    store, asked = ItemStore(), [user("A")]
    messages = [*asked, answer("B"), user("C")]
    for token in ("one", "two"):
        store.remember("me", asked, [said("B"), {**COMPACTION, "encrypted_content": token}])

    assert "compaction" not in told(build_input(messages, recall=partial(store.recall, "me")))
    assert len(store) == 1


def test_a_compaction_is_decoded_wherever_it_comes() -> None:
    decoder = StreamDecoder()
    done = {"type": "response.output_item.done", "output_index": 0, "item": COMPACTION}
    compacting = {"type": "response.compaction.compacting", "output_index": 0}

    assert decoder.feed(compacting) == [
        HostedProgress(output_index=0, type="compaction", stage="compacting")
    ]
    assert decoder.feed(done) == [ItemDone(output_index=0, item=COMPACTION)]


def test_what_a_server_says_of_its_cache_is_read() -> None:
    told = {"type": "cache_miss", "reason": "context_compacted", "cache_missed_tokens": 9}

    assert read_response({"output": [], "prompt_cache_diagnostics": told}).cache_diagnostics == told
    assert read_response({"output": []}).cache_diagnostics is None


@given(
    st.lists(
        st.sampled_from([SYSTEM, user("A"), said("B"), REASONING, CALL, OUTPUT, COMPACTION]),
        max_size=12,
    )
)
def test_no_result_loses_its_call_and_nothing_new_is_lost(items: list[dict[str, Any]]) -> None:
    kept = without_compacted(items)
    newest = max((index for index, item in enumerate(items) if item is COMPACTION), default=0)

    assert kept[len(kept) - len(items) + newest :] == items[newest:]
    assert without_compacted(kept) == kept
    if OUTPUT in items[newest:] and CALL in items[:newest] and OUTPUT not in items[:newest]:
        assert CALL in kept


def of_pydantic_ai(part: dict[str, Any], kind: str = "response") -> list[dict[str, Any]]:
    """Return a history in which a part stands for what came before it."""

    def response(*parts: dict[str, Any]) -> dict[str, Any]:
        return {"kind": "response", "parts": list(parts)}

    def request(*parts: dict[str, Any]) -> dict[str, Any]:
        return {"kind": "request", "parts": list(parts)}

    made = {"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": "c1"}
    returned = {**made, "part_kind": "tool-return", "content": "4"}
    system = {"part_kind": "system-prompt", "content": "Be brief."}
    compacted = {"part_kind": "compaction", **part}
    return [
        request(system, {"part_kind": "user-prompt", "content": "old question"}),
        response({"part_kind": "text", "content": "old answer"}, made),
        request(returned),
        *([request(compacted)] if kind == "request" else []),
        response(
            {"part_kind": "text", "content": "before"},
            *([compacted] if kind == "response" else []),
            {"part_kind": "text", "content": "after"},
            {**made, "tool_call_id": "c2"},
        ),
        request({**returned, "tool_call_id": "c2"}),
    ]


def test_a_history_of_pydantic_ai_goes_on_from_openais_compaction() -> None:
    details = {**COMPACTION, "created_by": None, "pydantic_ai": True}
    part = {"content": None, "provider_name": "openai", "provider_details": details}
    history = of_pydantic_ai(part)
    system, compaction, said_after, *call = build_input(history)
    assert (system["role"], compaction) == ("system", COMPACTION)
    assert said_after["content"] == "after"
    assert kinds(call) == ["function_call", "function_call_output"]
    whole = build_input(history, compacted=False)
    assert "old question" in told(whole)
    assert COMPACTION not in whole


@pytest.mark.parametrize("provider_details", [None, {"signature": "s", "encrypted_content": "e"}])
def test_the_summary_of_another_provider_replaces_what_it_sums_up(provider_details: Any) -> None:
    part = {"provider_name": "anthropic", "provider_details": provider_details}
    built = build_input(of_pydantic_ai({**part, "content": "They met."}))
    assert kinds(built) == ["system", "user", "message", "function_call", "function_call_output"]
    assert built[1]["content"] == [{"type": "input_text", "text": "They met."}]
    assert "old" not in told(built)


def test_a_summary_of_the_application_stands_beside_what_the_application_has_kept() -> None:
    built = build_input(of_pydantic_ai({"content": "They met."}, "request"))
    assert "old question" in told(built)
    assert "They met." in told(built)


def test_a_compaction_that_nobody_else_can_read_replaces_nothing() -> None:
    part = {"provider_name": "anthropic", "provider_details": {"encrypted_content": "e"}}
    built = build_input(of_pydantic_ai({**part, "content": None}))
    assert "old question" in told(built)
    assert "input_text', 'text': ''" not in told(built)
