import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_payloads import (
    count_tokens,
    estimate_text_tokens,
    function_tool,
    namespace_tool,
    web_search_tool,
)


CALL = {"type": "function_call", "id": "x", "call_id": "c", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "4"}
THOUGHT = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Why"}]}


def message(text: str, role: str = "user") -> dict[str, object]:
    return {"role": role, "content": [{"type": "input_text", "text": text}]}


def texts_of(*tools: dict[str, Any]) -> list[str]:
    """Return the texts that are counted for tools."""
    read: list[str] = []
    count_tokens([], tools, count=lambda text: len(read.append(text) or text))
    return read


def test_latin_text_has_four_characters_to_a_token() -> None:
    assert estimate_text_tokens("word" * 100) == 100


def test_other_scripts_have_a_token_to_a_character() -> None:
    assert estimate_text_tokens("日本語") == 3


def test_what_the_model_reads_is_counted_and_what_it_does_not_is_not() -> None:
    read: list[str] = []

    def count(text: str) -> int:
        read.append(text)
        return 10

    assert count_tokens([message("Hello"), CALL, OUTPUT, THOUGHT], count=count) == (
        2 + (4 + 10) + (11 + 10) + (9 + 10)
    )
    assert read == ["Hello", "f{}", "4"]


@pytest.mark.parametrize(
    ("model", "items", "instructions", "recorded"),
    [
        # What the API said of requests of which all texts together have so many tokens less.
        ("gpt-5", [message("")], None, 6),
        ("gpt-5.5", [message("")], "", 6),
        ("gpt-5.5", [message("")], "x" * 4, 10 + 1),
        ("gpt-5.3-codex", [message("", "system"), message("")], None, 10),
        ("gpt-6-astra", [message(""), message("", "assistant"), message("")], None, 16),
        ("gpt-4o", [message("")], None, 7),
        ("gpt-4.1", [message("")], "x" * 4, 11 + 1),
        ("gpt-4o", [message(""), message("", "assistant"), message("")], None, 15),
    ],
)
def test_what_stands_around_messages_is_what_servers_count(
    model: str, items: list[dict[str, object]], instructions: str | None, recorded: int
) -> None:
    assert count_tokens(items, model=model, instructions=instructions) == recorded


def test_nothing_has_no_tokens() -> None:
    assert count_tokens([], model="gpt-5") == 0


def test_encrypted_reasoning_counts_by_its_length_where_the_model_reads_it() -> None:
    thought = {**THOUGHT, "encrypted_content": "g" * 3_172}
    turn = [message("Go"), thought, CALL, OUTPUT]
    without = [message("Go"), CALL, OUTPUT]

    def more(model: str, *then: dict[str, object]) -> int:
        return count_tokens([*turn, *then], model=model) - count_tokens(
            [*without, *then], model=model
        )

    assert 250 < more("gpt-5") < 400
    assert more("gpt-5", message("On")) == 0
    assert more("gpt-5.6", message("On")) == more("gpt-5")
    assert count_tokens([{**thought, "encrypted_content": "short"}]) == 0


def test_reasoning_in_plain_text_counts_by_its_text() -> None:
    aloud = {"type": "reasoning", "summary": [], "content": [{"text": "One two three"}]}
    sealed = {**aloud, "encrypted_content": "g" * 3_172}
    alone = count_tokens([message("Go")], count=len)

    for item in (aloud, sealed):
        assert count_tokens([message("Go"), item], count=len) == alone + len("One two three")


def test_a_schema_of_the_answer_counts() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    told = {"type": "json_schema", "name": "person", "schema": schema}
    more = count_tokens([message("x")], text_format=told) - count_tokens([message("x")])

    assert more == pytest.approx(len(json.dumps(schema)) / 4, rel=0.3)
    assert count_tokens([message("x")], text_format={"type": "text"}) == count_tokens(
        [message("x")]
    )


def test_a_generated_image_counts_as_an_image_and_not_as_its_base64() -> None:
    image = {"type": "image_generation_call", "id": "ig_1", "result": "A" * 1_000_000}
    program = {"type": "program", "code": "abcd", "fingerprint": "x" * 1_000}

    assert 500 < count_tokens([image], model="gpt-5.6") < 5_000
    assert count_tokens([{**image, "result": None}]) == 6
    assert count_tokens([program]) == 7


def test_a_function_counts_as_the_declaration_that_the_model_reads() -> None:
    place = {"type": "object", "properties": {"city": {"$ref": "#/$defs/city"}}}
    parameters = {
        "type": "object",
        "properties": {
            "where": {"description": "Where to look", **place},
            "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            "days": {"type": "array", "items": {"type": "integer"}},
            "much": {"type": ["number", "null"]},
            "either": {"anyOf": [{"type": "boolean"}, {"type": "object"}]},
            "free": {"title": "Anything"},
        },
        "required": ["unit"],
        "$defs": {"city": {"type": "string"}},
    }
    weather = function_tool({"name": "weather", "description": "Tell it", "parameters": parameters})

    (text,) = texts_of({**weather, "parameters": parameters})

    assert text == (
        "// Tell it\n"
        "type weather = (_: {\n"
        "// Where to look\nwhere?: {\ncity?: string,\n},\n"
        'unit: "c" | "f", // default: "c"\n'
        "days?: number[],\n"
        "much?: number | null,\n"
        "either?: boolean | {},\n"
        "free?: any,\n"
        "}) => any;\n\n"
    )
    assert texts_of({"type": "function", "name": "now"}) == ["type now = () => any;\n\n"]


def test_functions_of_a_namespace_count_and_other_tools_as_their_json() -> None:
    inner = {"type": "function", "name": "find", "description": "Find"}
    space, search = namespace_tool("crm", "Customers", [inner]), web_search_tool()

    assert texts_of(space)[0] == "crm Customers"
    assert "type find" in texts_of(space)[1]
    assert texts_of(search) == [json.dumps(search)]


def test_a_schema_that_holds_itself_is_written_out_once() -> None:
    node = {
        "type": "object",
        "properties": {side: {"$ref": "#/$defs/node"} for side in ("left", "right")},
    }
    parameters = {**node, "$defs": {"node": node}}
    (text,) = texts_of({"type": "function", "name": "f", "parameters": parameters})

    assert text.count("left?") == 2
    assert text.count("node") == 3


def test_a_schema_is_read_down_to_a_depth() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        deep = {"type": ["object", "object", "null"], "properties": {"in": deep}}
    (text,) = texts_of({"type": "function", "name": "f", "parameters": deep | {"type": "object"}})

    assert 10 < text.count("in?") < 50
    assert "any," in text


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(first: str, second: str) -> None:
    assert count_tokens([message(first + second)]) >= count_tokens([message(first)]) >= 4
