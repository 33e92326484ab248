"""Regular expressions in JSON schemas: matched as ever, but for those that would keep a process busy for years."""

import json

import pytest
from referencing.exceptions import Unresolvable

from agent_tooling import (
    AnswerSchema,
    DeclarationError,
    LinearPattern,
    RefusedArguments,
    Tool,
    find_findings,
    validate_schema,
)


HOSTILE = ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*b", r"^(\w+\s?)*$"]
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
LONG = "a" * 5_000 + "!"


def problem_of(schema, value):
    return AnswerSchema.parse(schema).check(json.dumps(value)).problem


def bind(schema, args):
    return Tool.from_schema("look", "Looks.", schema, print).bind(json.dumps(args))


@pytest.mark.parametrize("pattern", HOSTILE)
@pytest.mark.parametrize(
    "place",
    [
        lambda pattern: {"properties": {"c": {"pattern": pattern}}},
        lambda pattern: {"$schema": DRAFT_7, "properties": {"c": {"pattern": pattern}}},
        lambda pattern: {
            "properties": {"c": {"$ref": "#/$defs/c"}},
            "$defs": {"c": {"$schema": DRAFT_7, "pattern": pattern}},
        },
        lambda pattern: {
            "patternProperties": {pattern: {"type": "null"}},
            "additionalProperties": {"type": "null"},
        },
        lambda pattern: {
            "properties": {"c": {"$ref": "#/examples/0"}},
            "examples": [{"$schema": DRAFT_2019, "pattern": pattern}],
        },
        lambda pattern: {
            "properties": {"c": {"type": "null", "$ref": "#/default", "unevaluatedProperties": {}}},
            "default": {"patternProperties": {pattern: {}}, "unevaluatedProperties": False},
        },
    ],
    ids=["property", "draft", "reference", "names", "value", "unevaluated"],
)
def test_no_pattern_keeps_a_check_busy(pattern, place):
    """Python's own matching would take longer than the sun has."""
    assert problem_of(place(pattern), {"c": LONG, LONG: 1}) is not None
    assert isinstance(bind(place(pattern), {"c": LONG, LONG: 1}), RefusedArguments)


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"properties": {"c": {"pattern": "^a+$"}}}, {"c": "aa"}, None),
        ({"properties": {"c": {"pattern": "^a+$"}}}, {"c": 1}, None),
        (
            {"properties": {"c": {"pattern": "^a+$"}}},
            {"c": "ab"},
            "$.c: 'ab' does not match '^a+$'",
        ),
        (
            {"properties": {"c": {"pattern": "[01]*1[01]{50000}x"}}},
            {"c": "01" * 1_000},
            "$.c: a text too long to be matched by '[01]*1[01]{50000}x'",
        ),
        ({"patternProperties": {"^n": {"type": "integer"}}}, {"n": 1, "m": "x"}, None),
        (
            {"patternProperties": {"^n": {"type": "integer"}}},
            {"n": "1"},
            "$.n: '1' is not of type 'integer'",
        ),
        ({"patternProperties": {"^n": {"type": "integer"}}}, [1], None),
        (
            {
                "patternProperties": {"^n": {}},
                "properties": {"m": {}},
                "additionalProperties": False,
            },
            {"n": 1, "m": 1, "o": 1},
            "$: Additional properties are not allowed ('o' was unexpected)",
        ),
        (
            {"patternProperties": {"^n": {}}, "additionalProperties": {"type": "integer"}},
            {"n": "x", "o": "x"},
            "$.o: 'x' is not of type 'integer'",
        ),
        (
            {
                "properties": {"n": {"pattern": "x"}},
                "unevaluatedProperties": False,
            },
            {"n": "x", "o": "x"},
            "$: Unevaluated properties are not allowed ('o' was unexpected)",
        ),
        ({"$schema": DRAFT_7, "properties": {"n": {"pattern": "x"}}}, {"n": "x"}, None),
        ({"properties": {"$schema": {"pattern": "x"}}, "default": {"$schema": "y"}}, {}, None),
        ({"allOf": [{"properties": {"n": {"pattern": "x"}}}]}, {"n": "x"}, None),
    ],
)
def test_a_pattern_is_matched_as_json_schema_says(schema, value, problem):
    assert problem_of(schema, value) == problem


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {"properties": {"c": {"pattern": "^(?!x)"}}},
            r"^pattern '\^\(\?!x\)' of answer_schema must be a regular expression without look-around",
        ),
        (
            {"patternProperties": {"(?=x)": {}}},
            r"^pattern '\(\?=x\)' of answer_schema must be a regular expression without look-around",
        ),
        (
            {"patternProperties": {"x": {}}, "unevaluatedProperties": False},
            "^answer_schema must be without patternProperties where it has unevaluatedProperties",
        ),
    ],
)
def test_an_answer_schema_with_what_cannot_be_checked_so_is_refused(schema, message):
    with pytest.raises(DeclarationError, match=message):
        AnswerSchema.parse(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"c": {"pattern": "^(?!x)"}}},
        {"patternProperties": {"(?!x)": {"type": "null"}}, "additionalProperties": False},
        {
            "$schema": DRAFT_2019,
            "properties": {"c": {}},
            "patternProperties": {"^d": {}},
            "unevaluatedProperties": False,
        },
    ],
)
def test_a_tool_with_such_a_schema_can_be_called_for_it_checks_its_arguments_itself(schema):
    assert bind(schema, {"c": "x"}).ok


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a{3}", "aaa", True),
        ("(?:[ab]{2}|c){2,}", "abc", True),
        (r"^\p{Lu}\d{1,3}[^\]{]\{$", "A12-{", True),
        ("(a{1,100}){50}", "a" * 100_000, None),
        (".{1,1000}x", "a" * 100_000, None),
        ("a", "b" * 1_000_000, False),
    ],
)
def test_a_pattern_is_not_matched_where_that_could_take_long(pattern, text, found):
    assert LinearPattern(pattern).is_in(text) is found


@pytest.mark.parametrize("text", ["```json" + "\n" * 50_000 + "x", "```\n" * 50_000 + "x"])
def test_a_fence_that_never_ends_keeps_nothing_busy(text):
    assert problem_of({}, {}) is None
    assert AnswerSchema.parse({}).check(text).problem.startswith("it is no JSON")


@pytest.mark.parametrize(
    ("of_items", "items"),
    [
        (["^[a-z]{9}"] * 90, ["abcdefghi"] * 900),  # one, matched very often
        ([rf"^\w{{1,50}}|{n}" for n in range(50)], ["x"]),  # many, each of which takes long to read
        (["(?:a|b)*.{0,99}b"] * 20, ["ab" * 50_000]),
    ],
    ids=["often", "many", "long"],
)
def test_patterns_that_take_too_long_together_are_not_matched_to_the_end(
    of_items, items, run_out_of_steps
):
    run_out_of_steps({"items": {"allOf": [{"pattern": one} for one in of_items]}}, items)


def test_an_answer_schema_with_too_many_large_patterns_is_refused_by_name():
    patterns = [
        "(?=x)",
        *(rf"^\w{{1,50}}{n}" for n in range(50)),
    ]  # the first refused, but never read
    schema = {"properties": {f"p{n}": {"pattern": one} for n, one in enumerate(patterns)}}

    with pytest.raises(
        DeclarationError, match=r"^pattern '.*' of answer_schema must be one of fewer"
    ):
        AnswerSchema.parse(schema)


def test_all_findings_about_a_value_are_found_in_bounded_time():
    schema = {"properties": {"a": {"pattern": "(a+)+$"}, "b": {"$ref": "#/properties/a"}}}
    found = find_findings(schema, {"a": LONG, "b": LONG})

    assert [one.json_path for one in found] == ["$.a", "$.b"]
    many = {"items": {"properties": {str(n): {} for n in range(1_000)}}}
    with pytest.raises(RecursionError):
        find_findings(many, [{}] * 600)
    assert find_findings(many, [{}] * 600, most_steps=1_000_000) == []


def test_as_many_findings_are_looked_for_as_are_asked_for():
    wrong = [0] * 100_000

    assert len(find_findings({"items": {"type": "string"}}, wrong, most=3)) == 3
    # What was found before the steps ran out is a finding all the same.
    assert 0 < len(find_findings({"items": {"type": "string"}}, wrong, most_steps=110_000)) < 3_000


def test_a_reference_that_may_lead_out_is_an_error_once_a_value_is_checked_by_it():
    schema = {"properties": {"a": {"$ref": "https://elsewhere.example/a"}}}

    with pytest.raises(DeclarationError, match="a place in the schema"):
        validate_schema(schema, field="the schema")
    validate_schema(schema, field="the schema", may_lead_out=True)
    assert find_findings(schema, {"b": 1}) == []
    with pytest.raises(Unresolvable):
        find_findings(schema, {"a": 1})
