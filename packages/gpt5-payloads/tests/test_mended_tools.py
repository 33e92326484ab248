"""Schemas as tools have them: what is sent is taken by the API, and takes whatever the original takes."""

import json
import re

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_payloads import function_tool, sendable_tools


TEXT = {"type": "string"}
DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
LOOK_AHEAD = r"^(?!\.)\w+@\w+$"


def sent(schema, **more):
    return function_tool({"name": "f", "parameters": schema, **more})


def tool_of(**properties):
    return {"type": "object", "properties": properties}


def of_a(schema, **more):
    """Return what is sent of the parameter `a`."""
    return sent(tool_of(a=schema) | more)["parameters"]["properties"]["a"]


def nested(levels):
    schema = TEXT
    for _ in range(levels):
        schema = tool_of(a=schema)
    return schema


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": ["string", "array"]}, {"type": ["string", "array"], "items": {}}),
        ({"type": "array", "items": None}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        (
            {"type": "array", "prefixItems": [TEXT]},
            {"type": "array", "prefixItems": [TEXT], "items": {}},
        ),
        (
            {"type": "array", "items": [TEXT], "additionalItems": {"type": "null"}},
            {"type": "array", "prefixItems": [TEXT], "items": {"type": "null"}},
        ),
        (True, {}),
        (None, {}),
        ({"type": "STRING", "title": None}, TEXT),
        ({"type": ["string", "String"]}, {"type": ["string"]}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, TEXT),
        ({"enum": ["x"], "nullable": True}, {"enum": ["x", None]}),
        (
            {"allOf": [TEXT], "nullable": True, "description": "A"},
            {"anyOf": [{"allOf": [TEXT], "description": "A"}, {"type": "null"}]},
        ),
        ({"type": "object", "required": None}, {"type": "object", "properties": {}}),
        (
            {"type": "object", "required": ["b", "b", 1]},
            {"type": "object", "properties": {}, "required": ["b"]},
        ),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ({"exclusiveMinimum": True}, {}),
        ({"type": "string", "id": "a b", "$id": "c d", "$comment": "C"}, TEXT | {"$comment": "C"}),
    ],
)
def test_what_can_be_said_as_the_api_wants_it_is_said_so(schema, expected):
    assert of_a(schema) == expected
    assert sent(tool_of(a=schema))["description"] == ""


@pytest.mark.parametrize(
    ("schema", "expected", "told"),
    [
        ({"type": "any", "title": "A"}, {"title": "A"}, 'a: type "any"'),
        ({"type": []}, {}, "a: type []"),
        (False, {}, "a: the schema false"),
        (TEXT | {"pattern": LOOK_AHEAD}, TEXT, f"a: pattern {json.dumps(LOOK_AHEAD)}"),
        (TEXT | {"pattern": r"\p{L}"}, TEXT, 'a: pattern "\\\\p{L}"'),
        (TEXT | {"pattern": r"(a)\1"}, TEXT, 'a: pattern "(a)\\\\1"'),
        (TEXT | {"pattern": "a{99999999999}"}, TEXT, "a: pattern"),
        (TEXT | {"pattern": 7}, TEXT, "a: pattern 7"),
        (
            {"patternProperties": {r"\z": TEXT, "x": TEXT}, "additionalProperties": False},
            {"patternProperties": {"x": TEXT}},
            "a: patternProperties",
        ),
        ({"$ref": "https://example.com/a.json"}, {}, "a: $ref"),
        ({"$ref": "#/$defs/missing"}, {}, "a: $ref"),
        ({"$ref": "#name", "$anchor": "name"}, {}, "a: $ref"),
        ({"$ref": "#/properties/a", "$id": "https://example.com/"}, {}, "a: $ref"),
        ({"$ref": 7}, {}, "a: $ref 7"),
        ({"items": False}, {"items": {}}, "a.items: the schema false"),
        ({"required": True}, {}, "a: required true"),
        ({"properties": ["b"]}, {}, "a: properties"),
        ({"anyOf": []}, {}, "a: anyOf []"),
        ({"dependentRequired": {"b": "c"}}, {}, "a: dependentRequired"),
        ({"dependencies": {"b": ["c"]}}, {}, "a: dependencies"),
        ({"unevaluatedProperties": False}, {}, "a: unevaluatedProperties false"),
        ({"minLength": -1, "minimum": "1", "multipleOf": 0}, {}, "a: minLength -1; a: minimum"),
        ({"uniqueItems": "yes", "enum": "a"}, {}, "a: uniqueItems"),
        ({"not": TEXT | {"pattern": LOOK_AHEAD}}, {}, "a: not"),
        ({"not": {"nullable": True, **TEXT}}, {}, "a: not"),
        ({"if": {"pattern": LOOK_AHEAD}, "then": TEXT, "else": TEXT}, {}, "a: if"),
        ({"oneOf": [{"pattern": LOOK_AHEAD}, TEXT]}, {"anyOf": [{}, TEXT]}, "a: oneOf"),
        ({"oneOf": [False], "anyOf": [TEXT]}, {"anyOf": [TEXT]}, "a: oneOf"),
        ({"contains": {"type": "any"}, "maxContains": 1}, {"maxContains": 1}, "a: contains"),
        ({"contains": {"type": "any"}}, {"contains": {}}, "a.contains: type"),
    ],
)
def test_what_is_loosened_is_told_in_the_description(schema, expected, told):
    assert of_a(schema) == expected

    described = sent(tool_of(a=schema), description="Do it.")["description"]
    assert described.startswith("Do it.\n\nThe arguments are also checked by: ")
    assert told in described


def test_a_description_of_what_is_loosened_stays_short():
    schema = tool_of(**{f"p{n}": TEXT | {"pattern": "(?=a)" + "b" * 1_000} for n in range(50)})

    described = sent(schema)["description"]

    assert len(described) < 3_000
    assert described.startswith("The arguments are also checked by: p0: pattern")
    assert described.endswith("...; and more")


A_OR_B = [{"required": ["a"]}, {"required": ["b"]}]


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (tool_of(a=TEXT, b=TEXT) | {"anyOf": A_OR_B}, tool_of(a=TEXT, b=TEXT)),
        ({"enum": [{"a": 1}]}, tool_of()),
        ({"const": {"a": 1}}, tool_of()),
        (
            tool_of(a=TEXT) | {"not": {"required": ["b"]}, "required": []},
            tool_of(a=TEXT) | {"required": []},
        ),
        (
            {"allOf": [tool_of(a=TEXT) | {"required": ["a"]}, tool_of(a={"minLength": 1}), True]},
            tool_of(a={"allOf": [TEXT, {"minLength": 1}]}) | {"required": ["a"]},
        ),
        (
            {
                "oneOf": [
                    tool_of(a=TEXT, b=TEXT),
                    tool_of(a={"type": "null"}),
                    {"type": "array"},
                    False,
                ]
            },
            tool_of(
                a={"anyOf": [TEXT, {"type": "null"}]},
                b={"description": 'In some cases: {"type": "string"}'},
            ),
        ),
        (
            {
                "anyOf": [
                    tool_of(a=TEXT) | {"additionalProperties": False, "required": ["a"]},
                    tool_of(a=TEXT, b=TEXT) | {"required": ["b", "a"]},
                ]
            },
            tool_of(a=TEXT, b=TEXT) | {"required": ["a"]},
        ),
        ({"anyOf": "all", "allOf": {}, "oneOf": [7]}, tool_of()),
        ({"type": None}, tool_of()),
        ({"type": "Object"}, tool_of()),
        ({"type": ["object", "null"]}, tool_of()),
        ({"type": "tool"}, tool_of()),
        ({"properties": None, "required": "a"}, tool_of()),
        (True, tool_of()),
        (
            {
                "$ref": "#/definitions/A",
                "definitions": {"A": tool_of(b=TEXT) | {"required": ["b"]}},
            },
            tool_of(b=TEXT)
            | {"required": ["b"], "definitions": {"A": tool_of(b=TEXT) | {"required": ["b"]}}},
        ),
        (
            tool_of(a=TEXT) | {"$ref": "#/$defs/A", "$defs": {"A": tool_of(b=TEXT)}},
            tool_of(a=TEXT, b=TEXT) | {"$defs": {"A": tool_of(b=TEXT)}},
        ),
    ],
)
def test_a_root_is_sent_as_the_schema_of_an_object_without_combinations(root, expected):
    parameters = sent(root)["parameters"]

    assert {**parameters, "type": "object"} == expected


@pytest.mark.parametrize(
    ("reference", "definitions"),
    [
        ("#/$defs/A", {"$defs": {"A": TEXT}}),
        ("#/definitions/A", {"definitions": {"A": TEXT}}),
        ("#/properties/b", {}),
        ("#/properties/c/anyOf/0", {}),
        ("#/$defs/A~1B", {"$defs": {"A/B": TEXT}}),
        ("#/$defs/A%20B", {"$defs": {"A B": TEXT}}),
    ],
)
def test_a_reference_leads_to_a_definition_of_the_same_schema(reference, definitions):
    schema = tool_of(a={"$ref": reference}, b=TEXT, c={"anyOf": [TEXT]}) | definitions
    parameters = sent(schema)["parameters"]

    found = parameters["properties"]["a"]
    while "$ref" in found:
        group, name = re.fullmatch(r"#/(\$defs|definitions)/(\w+)", found["$ref"]).groups()
        found = parameters[group][name]
    assert found == TEXT
    assert sent(schema)["description"] == ""


def test_a_schema_may_lead_back_into_itself():
    tree = tool_of(left={"$ref": "#"}, right={"$ref": "#/properties/left"})

    parameters = sent(tree)["parameters"]

    assert parameters["properties"]["left"] == {"$ref": "#"}
    assert jsonschema.Draft202012Validator(parameters).is_valid({"right": {"left": {}}})


@pytest.mark.parametrize(
    "circle",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
    ],
)
def test_a_root_that_is_a_circle_takes_anything(circle):
    assert sent(circle)["parameters"]["properties"] == {}


def test_what_is_deeper_than_the_published_limit_may_be_anything():
    assert sent(nested(10))["parameters"] == nested(10)
    assert sent(nested(10))["description"] == ""
    assert "a.a.a.a.a.a.a.a.a.a: what is deeper" in sent(nested(11))["description"]
    unions = TEXT
    for _ in range(400):
        unions = {"anyOf": [unions]}
    assert len(json.dumps(of_a(unions))) < 2_000


@pytest.mark.parametrize("strict", [None, True])
def test_what_was_loosened_or_is_too_large_is_strict_only_if_the_rest_is(strict):
    closed = {"additionalProperties": False}
    pattern = tool_of(a=TEXT | {"pattern": LOOK_AHEAD}) | closed
    large = tool_of(**{f"p{n}": TEXT for n in range(5_001)}) | closed

    assert sent(pattern | {"required": ["a"]}, strict=strict)["strict"] is True
    assert sent(pattern, strict=strict)["strict"] is False
    assert sent(large | {"required": [*large["properties"]]}, strict=strict)["strict"] is False
    assert sent(pattern | {"required": ["a"]}, strict=False)["strict"] is False


# Pairs: a schema as it may be found, and what it means by the standard.


def same(schema):
    return schema, schema


NAMES = st.sampled_from(["a", "b", "c"])
REFERENCES = ["#", "#/$defs/a", "#/definitions/b", "#/properties/a", "#/$defs/none", "#anchor"]
LEAVES = st.sampled_from(
    [
        *map(
            same, ({}, True, TEXT, {"type": ["object", "null"]}, {"type": "array"}, {"const": "x"})
        ),
        *map(same, ({"enum": ["x", None, 1]}, {"enum": []}, {"minimum": 1}, {"maxItems": 0})),
        *map(same, (TEXT | {"pattern": "^(?=x)"}, {"pattern": r"^\w"}, {"pattern": r"(x)\1"})),
        *map(same, ({"required": ["a"]}, {"minProperties": 1}, {"contains": {"type": "null"}})),
        same({"patternProperties": {"(?=a)": TEXT}, "additionalProperties": False}),
        same({"type": "array", "unevaluatedItems": False}),
        same({"dependentSchemas": {"a": {"required": ["b"]}}}),
        same({"$anchor": "anchor", "type": ["string", "integer"]}),
        same({"$id": "https://example.com/", "$ref": "#/x", "x": TEXT}),
        *(({"$ref": one}, {"$ref": one}) for one in REFERENCES if "none" not in one),
        ({"$ref": "#/$defs/none"}, {}),
        ({"$ref": "https://example.com/other"}, {}),
        (False, False),
        (None, {}),
        ({"type": "any"}, {}),
        (TEXT | {"nullable": True}, {"type": ["string", "null"]}),
        ({"enum": ["x"], "nullable": True}, {"enum": ["x", None]}),
        ({"type": "object", "required": None}, {"type": "object"}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"items": [TEXT], "additionalItems": False}, {"prefixItems": [TEXT], "items": False}),
        ({"pattern": r"^\p{L}"}, {}),
    ]
)


def with_word(word):
    return lambda pair: ({word: pair[0]}, {word: pair[1]})


def with_list(word):
    def build(pairs):
        return {word: [one for one, _ in pairs]}, {word: [one for _, one in pairs]}

    return build


def objects(children):
    def build(pairs, more):
        found, meant = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
        return {"properties": found, **more}, {"properties": meant, **more}

    extra = [{}, {}, {"additionalProperties": False}, {"required": ["a"]}, {"type": "object"}]
    extra += [{"unevaluatedProperties": False}, {"additionalProperties": TEXT}]
    return st.builds(build, st.dictionaries(NAMES, children, max_size=3), st.sampled_from(extra))


def merged(first, second):
    return {**first[0], **second[0]}, {**first[1], **second[1]}


def branches(children):
    one = st.one_of(
        *(
            st.builds(with_word(word), children)
            for word in ("not", "items", "additionalProperties")
        ),
        st.builds(with_word("if"), children),
        st.builds(with_word("then"), children),
        *(
            st.builds(with_list(word), st.lists(children, min_size=1, max_size=3))
            for word in ("anyOf", "oneOf", "allOf", "prefixItems")
        ),
        objects(children),
    )
    return one | st.builds(merged, one, one)


SCHEMAS = st.recursive(LEAVES, branches, max_leaves=8)
ROOTS = st.builds(
    lambda base, inner, a, b: (
        {**base[0], **inner[0], "$defs": {"a": a[0]}, "definitions": {"b": b[0]}},
        {**base[1], **inner[1], "$defs": {"a": a[1]}, "definitions": {"b": b[1]}},
    ),
    objects(SCHEMAS),
    branches(SCHEMAS),
    SCHEMAS,
    SCHEMAS,
)
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, 5, "", "x", "xx", "é"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)


@given(ROOTS, st.lists(st.dictionaries(NAMES, VALUES, max_size=3), max_size=6))
def test_what_is_sent_is_taken_by_the_api_and_takes_what_the_original_takes(pair, instances):
    found, meant = pair
    parameters = sent(found)["parameters"]
    kind = jsonschema.Draft202012Validator

    kind.check_schema(parameters, format_checker=kind.FORMAT_CHECKER)
    for instance in instances:
        if is_taken(meant, instance):
            kind(parameters).validate(instance)


def is_taken(schema, instance):
    try:
        return jsonschema.Draft202012Validator(schema).is_valid(instance)
    except Exception:  # noqa: BLE001  it leads nowhere, or back to itself
        return False


@pytest.mark.parametrize("draft", [DRAFT_4, DRAFT_7])
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/definitions/b", "minLength": 5},
        {"const": 1, "prefixItems": [False], "dependentRequired": {"a": ["b"]}},
        {"if": {}, "then": False},
        {"contains": False, "propertyNames": False},
        {"items": [TEXT], "additionalItems": False},
        {"type": "integer", "minimum": 1, "id": "b"},
        {"dependencies": {"a": ["b"]}},
    ],
)
def test_words_mean_what_they_mean_in_the_draft_of_their_schema(draft, schema):
    found = draft | tool_of(a=schema) | {"definitions": {"b": TEXT}}
    parameters = sent(found)["parameters"]
    original = jsonschema.validators.validator_for(found)(found)

    values = [1, "x", "xxxxx", ["x"], ["x", 1], {"a": 1}, {"a": 1, "b": 2}]
    for instance in ({"a": value} for value in values):
        if original.is_valid(instance):
            jsonschema.Draft202012Validator(parameters).validate(instance)


def test_tools_that_cannot_be_sent_are_named_and_the_others_are_as_they_were():
    tools = [
        {"name": "a", "parameters": tool_of(b={"type": "array"})},
        {"name": ""},
        {"name": "my tool"},
        {"name": "a"},
        {"name": "c", "parameters": {"type": "string"}},
        {"name": "x" * 129},
    ]

    sendable, left_out = sendable_tools(tools)

    assert sendable == tools[:1]
    assert {*left_out} == {"tool 2", "my tool", "a", "c", "x" * 64 + "..."}
    assert left_out["tool 2"] == "tool name is required"
    assert left_out["a"] == "tool 4 has the name of an earlier one"
    assert "must be a JSON schema of type 'object'" in left_out["c"]
