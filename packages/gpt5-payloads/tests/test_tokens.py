import json

from hypothesis import given
from hypothesis import strategies as st

from gpt5_payloads import count_tokens, estimate_text_tokens, function_tool


def message(text: str) -> dict[str, object]:
    return {"role": "user", "content": [{"type": "input_text", "text": text}]}


def test_latin_text_has_four_characters_to_a_token() -> None:
    assert estimate_text_tokens("word" * 100) == 100


def test_other_scripts_have_a_token_to_a_character() -> None:
    assert estimate_text_tokens("日本語") == 3


def test_what_the_model_reads_is_counted_and_what_it_does_not_is_not() -> None:
    read: list[str] = []

    def count(text: str) -> int:
        read.append(text)
        return 10

    call = {"type": "function_call", "id": "x", "call_id": "c", "name": "f", "arguments": "{}"}
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "secret", "n": 1}

    assert count_tokens([message("Hello"), call, thought], count=count) == 3 * 14
    assert read == ["userHello", "f{}", ""]


def test_a_generated_image_counts_as_an_image_and_not_as_its_base64() -> None:
    image = {"type": "image_generation_call", "id": "ig_1", "result": "A" * 1_000_000}
    program = {"type": "program", "code": "abcd", "fingerprint": "x" * 1_000}

    assert 500 < count_tokens([image], model="gpt-5.6") < 5_000
    assert count_tokens([{**image, "result": None}]) == 4
    assert count_tokens([program]) == 5


def test_tools_count_as_their_json() -> None:
    tool = function_tool({"name": "lookup", "description": "Look up", "parameters": {}})

    assert count_tokens([], [tool], count=len) == 4 + len(json.dumps(tool))


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(first: str, second: str) -> None:
    assert count_tokens([message(first + second)]) >= count_tokens([message(first)]) >= 4
