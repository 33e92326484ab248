"""What the daemon's own Go types make of texts, recorded with langgenius/dify-plugin-daemon at bdb5642a and Go 1.26 in `go.jsonl`.

Each line has a text, the name of the type that decoded it (`a:` answers of plugins, `r:` requests, `b:` calls back), and what came of it.
"""

import json
import re
from pathlib import Path

import pytest

from dify_plugin_packager.declarations import (
    ANSWERS,
    CALLS,
    OBJECT,
    REQUESTS,
    TYPES,
    ShapeError,
    decode_into,
    dump_json,
    go_print,
    parse_first_json,
    parse_json,
    read_call,
    read_declaration,
    read_query,
    read_request,
    validate,
)


CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "go.jsonl").read_text(encoding="utf-8").splitlines()
]
# Go has the name twice, in two packages.
ANSWERS_BY_NAME = {shape.name: shape for shape in ANSWERS.values()} | {
    "ToolValidateCredentialsResult": ANSWERS["validate_tool_credentials"],
    "ValidateCredentialsResult": ANSWERS["validate_model_credentials"],
}


def read_answer(name, text):
    shape = ANSWERS_BY_NAME[name]
    value = decode_into(shape, parse_json(text))
    validate(shape, value)
    data = shape.encode(value)
    if name == "LLMResultChunk":
        data["prompt_messages"] = []
    return {"code": 0, "message": "success", "data": data}


def read_body(name, text):
    body = read_request(REQUESTS[name], parse_first_json(text), tenant_id="t")
    told = ("app_id", "context", "conversation_id", "data", "endpoint_id", "message_id", "user_id")
    return {**{key: body[key] for key in told}, "data": dict(sorted(body["data"].items()))}


def read_callback(kind, text):
    try:
        given = decode_into(OBJECT, parse_json(text))
    except ShapeError as error:
        raise ShapeError(f"map: {error}") from None
    shape = CALLS[kind].shape
    value = read_call(shape, {**given, "tenant_id": "t", "user_id": "u", "type": "x"})
    try:
        return shape.encode(value)
    except ShapeError as error:
        raise ShapeError(f"marshal: {error}") from None


# Go's own words that no exchange with the daemon has: each is left out, or what comes before it.
LEFT_OUT = [
    (r"\.alias\b", ""),
    (r"of type (struct \{.*|plugin_entities\.ModelDeclaration)", "of type struct"),
    (r"(for type json\.RawMessage): .*", r"\1"),
    (r": too many \.s$", ""),
]


def in_our_words(error):
    for pattern, shorter in LEFT_OUT:
        error = re.sub(pattern, shorter, error)
    return error


READERS = {"a": read_answer, "r": read_body, "b": read_callback}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{n}-{case['shape']}") for n, case in enumerate(CASES)]
)
def test_a_text_is_read_as_go_reads_it(case):
    kind, _, name = case["shape"].partition(":")
    if "error" in case:
        with pytest.raises(ShapeError) as caught:
            READERS[kind](name, case["text"])
        assert in_our_words(str(caught.value)) == in_our_words(case["error"])
    else:
        assert dump_json(READERS[kind](name, case["text"])) == case["json"]


def test_a_value_is_printed_as_go_prints_it():
    text = (
        '{"b": [1e-5, null, true, "x", {}], "a": 1000000, "c": {"z": -1.5, "y": 123456789, "w": 0}}'
    )
    value = parse_json(text)
    assert go_print(value) == (
        "map[a:1e+06 b:[1e-05 <nil> true x map[]] c:map[w:0 y:1.23456789e+08 z:-1.5]]"
    )
    assert go_print(value, strings_only=True) == (
        "map[a:%!s(float64=1e+06) b:[%!s(float64=1e-05) <nil> %!s(bool=true) x map[]]"
        " c:map[w:%!s(float64=0) y:%!s(float64=1.23456789e+08) z:%!s(float64=-1.5)]]"
    )


def test_half_a_character_is_replaced_but_stays_in_what_is_handed_on_verbatim():
    message = r'{"role": "user", "content": "a\ud800b", "opaque_body": "a\ud800b"}'
    text = f'{{"model": "m", "delta": {{"index": 0, "message": {message}}}}}'
    written = dump_json(read_answer("LLMResultChunk", text))
    assert '"content":"a\ufffdb"' in written
    assert r'"opaque_body":"a\ud800b"' in written


def test_what_is_no_number_in_json_is_written_as_null():
    assert dump_json([float("nan"), float("inf")]) == "[null,null]"


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", "{", "1 2"])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match=r"nested too deeply|no JSON|Expecting|Extra"):
        parse_json(text)


def test_numbers_beyond_all_bounds_are_refused():
    text = '{"model": "m", "usage": {"unit_price": "1e100001"}}'
    with pytest.raises(ShapeError, match="fractional part too long"):
        read_answer("TextEmbeddingResult", text)
    with pytest.raises(ShapeError, match="of type float64"):
        decode_into(ANSWERS["invoke_rerank"], {"docs": [{"score": 10**400}]})


def test_a_price_is_written_out_beyond_the_digits_that_python_prints():
    shape = ANSWERS_BY_NAME["TextEmbeddingResult"]
    answer = shape.encode(decode_into(shape, {"usage": {"unit_price": "1e5000"}}))
    assert answer["usage"]["unit_price"] == "1" + "0" * 5000


def test_a_query_has_texts_and_numbers():
    assert read_query(TYPES["_.Page"], {"page": "2", "page_size": "+10"}) == {
        "page": 2,
        "page_size": 10,
    }
    asked = {"plugin_unique_identifier": f"a/b:0.0.1@{'0' * 64}", "language": "en_US"}
    assert read_query(TYPES["_.Readme"], {**asked, "other": "1"}) == asked
    assert (
        read_query(TYPES["_.Readme"], {name: [value, "second"] for name, value in asked.items()})
        == asked
    )


@pytest.mark.parametrize(
    ("tags", "found"),
    [({}, None), ({"tags": "rag"}, ["rag"]), ({"tags": ["rag", "weather"]}, ["rag", "weather"])],
)
def test_a_query_has_lists(tags, found):
    expected = {"page": 1, "page_size": 9, "query": "", "tags": found, "language": ""}
    assert (
        read_query(
            TYPES["controllers.listPluginsByCategoryRequest"],
            {"page": "1", "page_size": "9", **tags},
        )
        == expected
    )


@pytest.mark.parametrize(
    "query", [{"page": "x", "page_size": "1"}, {"page": "1", "page_size": "257"}, {"page": "1"}]
)
def test_a_query_that_breaks_a_rule_is_refused_in_the_daemons_words(query):
    with pytest.raises(ShapeError, match=r"'Page(Size)?' failed on the '(required|max)' tag"):
        read_query(TYPES["_.Page"], query)


def test_of_a_declaration_what_does_not_fit_is_left_empty():
    kind = TYPES["plugin_entities.PluginDeclaration"]
    assert read_declaration(kind, {"name": "n", "version": "1"})["name"] == "n"
    assert read_declaration(kind, {"name": 5})["name"] == ""
