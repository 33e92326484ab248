"""Which schemas go out as strict, and which of those that a user wants strict are refused before the API does."""

import copy
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counting import is_linear
from gpt5_payloads import PayloadError, build_request, function_tool, json_schema_format


def closed(**properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def nested(levels, leaf):
    schema = leaf
    for _ in range(levels):
        schema = closed(inner=schema)
    return schema


def is_strict(schema):
    """Return whether a schema that says nothing goes out as strict: an answer's, and a tool's as it is sent."""
    strict = json_schema_format({"schema": schema})["strict"]
    if schema.get("type") == "object":
        tool = function_tool({"name": "f", "parameters": schema})
        assert tool["strict"] is json_schema_format({"schema": tool["parameters"]})["strict"]
        assert not strict or (tool["strict"] and tool["parameters"] == schema)
    return strict


def wanted_strict(schema):
    shape = json.dumps({"schema": schema, "strict": True})
    parameters = {"response_format": "json_schema", "json_schema": shape}
    return build_request(model="gpt-5.2", input="hi", parameters=parameters)["text"]["format"]


def refusal_of(schema):
    with pytest.raises(PayloadError) as caught:
        wanted_strict(schema)
    assert caught.value.field == "json_schema.schema"
    return str(caught.value)


TEXT = {"type": "string"}
NODE = closed(value=TEXT, next={"anyOf": [{"$ref": "#"}, {"type": "null"}]})


@pytest.mark.parametrize(
    "schema",
    [
        closed(),
        closed(a=TEXT),
        closed(a={"type": ["string", "null"], "description": "A", "title": "A"}),
        closed(a={"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3}),
        closed(a={"type": "integer", "minimum": 0, "exclusiveMaximum": 9.5, "multipleOf": 0.5}),
        closed(a={"type": "string", "format": "date-time"}),
        closed(a={"type": "string", "pattern": r"^(?:a|b)\d+$"}),
        closed(a={"type": "string", "enum": ["x", "y"]}, b={"type": "string", "const": "z"}),
        closed(a={"type": ["integer", "null"], "enum": [1, None]}),
        closed(a={"type": "boolean", "enum": [True]}, b={"type": "number", "enum": [1, 1.5]}),
        closed(a={"anyOf": [TEXT, {"type": "null"}], "description": "Or nothing."}),
        closed(a={"anyOf": [closed(x=TEXT), closed(y=TEXT)]}),
        closed(
            a={
                "anyOf": [
                    closed(kind={"type": "string", "const": "cat"}),
                    closed(kind={"type": "string", "const": "dog"}),
                ]
            }
        ),
        closed(a={"anyOf": [closed(), closed()]}),
        NODE,
        closed(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": closed(b={"$ref": "#/$defs/a"})}},
        closed(a={"$ref": "#/definitions/a"}) | {"definitions": {"a": TEXT}},
        nested(10, TEXT),
        closed(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": nested(10, TEXT)}},
        closed(**{f"p{number}": TEXT for number in range(5_000)}),
        closed(a={"type": "string", "enum": [f"value {number}" for number in range(1_000)]}),
    ],
)
def test_a_schema_that_follows_all_rules_is_strict(schema):
    assert is_strict(schema)


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "array", "items": TEXT}, "its root must be of type object"),
        ({"anyOf": [closed(a=TEXT)]}, "its root must be of type object"),
        (closed() | {"anyOf": [closed(a=TEXT)]}, "its root must not be anyOf"),
        ({"$ref": "#/$defs/a", "$defs": {"a": closed()}}, "its root must be of type object"),
        ({"type": "object", "properties": {}, "required": []}, "additionalProperties must be"),
        (closed(a=TEXT) | {"additionalProperties": True}, "additionalProperties must be false"),
        (closed(a=TEXT) | {"required": []}, "required must list every property"),
        (closed(a=TEXT) | {"required": ["a", "b"]}, "required must list every property"),
        (
            {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False},
            "required must list every property",
        ),
        (closed(a={"type": "object"}), "additionalProperties must be false (at properties.a)"),
        (
            closed(a={"type": "array", "items": closed(b=TEXT) | {"required": []}}),
            "required must list every property and nothing else (at properties.a.items)",
        ),
        (
            closed(a={"anyOf": [TEXT, {"type": "object", "properties": {}}]}),
            "additionalProperties must be false (at properties.a.anyOf.1)",
        ),
        (
            closed() | {"$defs": {"a": {"type": "object"}}},
            "additionalProperties must be false (at $defs.a)",
        ),
        (closed(a={}), "it must have a type (at properties.a)"),
        (closed(a={"description": "Anything"}), "it must have a type (at properties.a)"),
        (closed(a={"type": "array"}), "a list must say what its items are (at properties.a)"),
        (closed(a={"allOf": [TEXT]}), "the keyword allOf is not accepted (at properties.a)"),
        (closed(a={"oneOf": [TEXT], **TEXT}), "the keyword oneOf is not accepted"),
        (closed(a=TEXT) | {"not": {}}, "the keyword not is not accepted"),
        (closed(a={"type": "string", "format": "uri"}), "format has a value that is not"),
        (
            closed(a={"$ref": "#", "description": "A"}),
            "nothing may stand beside $ref (at properties.a)",
        ),
    ],
)
def test_what_the_api_refuses_is_told_where_a_user_wants_it_strict(schema, told):
    assert not is_strict(schema)
    assert json_schema_format({"schema": schema, "strict": False})["strict"] is False

    message = refusal_of(schema)
    assert message.startswith(f"json_schema.schema cannot be strict: {told}")
    assert message.endswith(". Correct it, or leave strict out.")


@pytest.mark.parametrize(
    "schema",
    [
        closed(a=TEXT | {"default": "x"}),
        closed(a=TEXT | {"minLength": 1}),
        closed(a=TEXT) | {"$schema": "https://json-schema.org/draft/2020-12/schema"},
        closed(a={"type": "string", "pattern": "(?=a)"}),
        closed(a={"type": "string", "pattern": "(?<!a)b"}),
        closed(a={"type": "string", "minimum": 1}),
        closed(a={"type": "integer", "minimum": "1"}),
        closed(a={"type": "integer", "multipleOf": 0}),
        closed(a={"type": "array", "items": TEXT, "minItems": -1}),
        closed(a={"type": "array", "items": TEXT, "maxItems": True}),
        closed(a={"type": "array", "items": [TEXT]}),
        closed(a={"type": "array", "items": True}),
        closed(a={"type": "string", "enum": []}),
        closed(a={"type": "string", "enum": "a"}),
        closed(a={"type": "string", "enum": ["a", 1]}),
        closed(a={"type": "object", "enum": [{}]} | closed()),
        closed(a={"type": "integer", "const": 1.5}),
        closed(a={"type": "integer", "const": True}),
        closed(a={"type": "string", "const": None}),
        closed(a={"enum": ["a"]}),
        closed(a={"const": "a"}),
        closed(a={"type": "text"}),
        closed(a={"type": ["string", "string"]}),
        closed(a={"type": []}),
        closed(a={"type": ["string", 1]}),
        closed(a={"type": None}),
        closed(a=True),
        closed(a={"anyOf": []}),
        closed(a={"anyOf": {}}),
        closed(a={"anyOf": [True]}),
        closed(a={"anyOf": [TEXT], "type": "string"}),
        closed(a={"anyOf": [closed(x=TEXT), closed(x=TEXT)]}),
        closed(a={"anyOf": [closed(x=TEXT), closed(x={"type": "string", "const": "a"})]}),
        closed(a={"anyOf": [closed(x={"type": "string", "const": "a"}), closed(x=TEXT)]}),
        closed(a={"anyOf": [{"$ref": "#/$defs/a"}, closed(x=TEXT)]})
        | {"$defs": {"a": closed(x=TEXT)}},
        closed(a={"anyOf": [{"$ref": "#/$defs/b"}, TEXT]}),
        closed(a={"$ref": "#/$defs/b"}) | {"$defs": {"a": TEXT}},
        closed(a={"$ref": "#/properties/b"}, b=TEXT),
        closed(a={"$ref": "https://example.com/a"}),
        closed(a={"$ref": 7}),
        closed(a={"$ref": "#/$defs/a~1b"}) | {"$defs": {"a~1b": TEXT}},
        closed(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": {"$ref": "#/$defs/a"}}},
        closed(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": True}},
        closed(a={"$ref": "#/$defs/a"}) | {"$defs": ["a"]},
        closed(a=closed() | {"$defs": {"a": TEXT}}),
        closed() | {"required": "a"},
        closed() | {"properties": []},
        closed(a=TEXT | {"title": 7}),
        closed(a=TEXT | {"description": None}),
        closed(a=TEXT) | {"required": ["a", "a"]},
        {"type": "object", "properties": {}, "additionalProperties": False},
        nested(11, TEXT),
        nested(10, {"type": "array", "items": TEXT}),
        closed(**{f"p{number}": TEXT for number in range(5_001)}),
        closed(a={"type": "integer", "enum": list(range(1_001))}),
        closed(**{"p" * 120_000: TEXT, "q": TEXT}),
        closed(a={"type": "string", "enum": ["x" * 60 + str(number) for number in range(251)]}),
    ],
)
def test_a_schema_in_doubt_is_not_strict_and_left_to_the_server_where_a_user_wants_it(schema):
    assert not is_strict(schema)
    assert wanted_strict(schema)["strict"] is True


@pytest.mark.parametrize("kind", ["array", "string", ["object", "null"]])
def test_a_root_that_is_no_object_is_refused_wherever_it_is_to_be_strict(kind):
    with pytest.raises(PayloadError, match="its root must be of type object") as caught:
        json_schema_format({"schema": {"type": kind, "items": TEXT}, "strict": "1"})

    assert caught.value.field == "json_schema.schema"


def test_a_refusal_does_not_repeat_a_schema():
    deep = closed(**{"a long name " * 50: {}})

    assert len(refusal_of(deep)) < 250


@pytest.mark.parametrize(
    ("leaf", "of"),
    [
        (TEXT, lambda inner: {"anyOf": [inner]}),
        (closed(), lambda inner: closed(a=inner)),
        (TEXT, lambda inner: {"type": "array", "items": inner}),
    ],
)
def test_deep_nesting_is_no_trouble(leaf, of):
    schema = leaf
    for _ in range(150):
        schema = of(schema)

    assert not is_strict(closed(a=schema))


def test_the_cost_does_not_grow_faster_than_the_schema():
    def send(size):
        variants = [closed(**{f"p{number}": TEXT, "q": TEXT}) for number in range(size)]
        json_schema_format(json.dumps(closed(a={"anyOf": variants})))

    assert is_linear(send, 100)


def test_the_schema_is_sent_as_it_stands():
    schema = NODE | {"title": "Node"}
    before = copy.deepcopy(schema)

    assert json_schema_format({"schema": schema})["schema"] == schema == before


NAMES = st.sampled_from(["a", "b", "c"])
LEAVES = st.sampled_from(
    [
        *({"type": name} for name in ("string", "integer", "null", "object", "array", "file")),
        *({"type": ["string", "null"]}, {"type": []}, {}, {"enum": ["a"]}, True, {"$ref": "#"}),
        *({"$ref": "#/$defs/a"}, {"$ref": "#/$defs/missing"}, {"$ref": "#", "title": "T"}),
        *(TEXT | more for more in ({"format": "date"}, {"format": "uri"}, {"pattern": "(?!x)"})),
        *(TEXT | more for more in ({"enum": ["x", 1]}, {"const": "x"}, {"default": 1}, {"x": 1})),
        *({"type": "integer", "minimum": low} for low in (0, "0", True)),
    ]
)


def objects(children):
    def build(properties, left_out, additional, more):
        schema = closed(**properties)
        schema["required"] = [name for name in properties if name not in left_out]
        schema["additionalProperties"] = additional
        return schema | more

    rarely = st.sampled_from([{}] * 12 + [{"allOf": []}, {"description": "D"}, {"$defs": {}}])
    return st.builds(
        build,
        st.dictionaries(NAMES, children, max_size=3),
        st.sampled_from([""] * 3 + ["a"]),
        st.sampled_from([False] * 6 + [True, None]),
        rarely,
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda children: (
        objects(children)
        | st.builds(lambda items: {"type": "array", "items": items}, children)
        | st.builds(lambda members: {"anyOf": members}, st.lists(children, max_size=3))
    ),
    max_leaves=6,
)
ROOTS = objects(SCHEMAS) | st.builds(
    lambda root, definition: root | {"$defs": {"a": definition}}, objects(SCHEMAS), objects(SCHEMAS)
)


@given(ROOTS)
def test_every_schema_that_is_sent_as_strict_fulfils_the_published_rules(schema):
    sent = json_schema_format({"schema": schema})

    assert sent["schema"] == schema
    assert not sent["strict"] or follows_the_rules(schema)


@given(ROOTS)
def test_a_strict_schema_may_always_be_wanted_strict(schema):
    if json_schema_format({"schema": schema})["strict"]:
        assert wanted_strict(schema)["strict"]


# The rules once more, read from OpenAI's guide on their own: as one recursive question with a yes or a no, about texts of JSON.


def follows_the_rules(schema):
    text = json.dumps(schema)
    banned = ("allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "default")
    return (
        schema.get("type") == "object"
        and "anyOf" not in schema
        and not any(re.search(rf'"{word}": [\[{{]', text) for word in banned)
        and all(_is_fine(one, schema) for one in (schema, *schema.get("$defs", {}).values()))
    )


def _is_fine(schema, root):
    match schema:
        case {"$ref": "#", **rest} | {"$ref": "#/$defs/a", **rest}:
            return not rest and (schema["$ref"] == "#" or "a" in root.get("$defs", {}))
        case {"anyOf": [_, *_] as members}:
            return all(_is_fine(member, root) for member in members)
        case {"type": "object", "properties": dict(properties), "required": list(required)}:
            return (
                schema.get("additionalProperties") is False
                and sorted(properties) == sorted(required)
                and all(_is_fine(child, root) for child in properties.values())
            )
        case {"type": "array", "items": items}:
            return _is_fine(items, root)
        case {"type": ["string", "null"]} | {"type": "integer" | "null" | "string"}:
            is_number = isinstance(schema.get("minimum", 0), int) and "minimum" in schema
            return (
                schema.get("format", "date") == "date"
                and "(?" not in schema.get("pattern", "")
                and all(isinstance(value, str) for value in schema.get("enum", []))
                and ("minimum" not in schema or (is_number and schema["type"] == "integer"))
                and "x" not in schema
            )
        case _:
            return False
