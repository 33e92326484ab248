import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpt5_simulator import ResponsesSimulator


@pytest.fixture
def fill(server, ask, function_tool):
    """Return the arguments that a question gives a tool that has to be called."""

    def run(question, **parameters):
        tool = function_tool("handle_it", "", **parameters)
        choice = {"type": "function", "name": "handle_it"}
        response = ask(server, input=question, tools=[tool], tool_choice=choice)
        call = response.json()["output"][-1]
        jsonschema.validate(json.loads(call["arguments"]), tool["parameters"])
        return json.loads(call["arguments"])

    return run


STRING = {"type": "string"}
OPTIONAL = {"optional": True}


@pytest.mark.parametrize(
    ("question", "name", "schema", "value"),
    [
        ("Do something.", "text", STRING, "Do something."),
        ("Say “hello there”", "text", STRING, "hello there"),
        ("Say `hello`", "text", STRING, "hello"),
        ("It's the dog's", "text", STRING, "It's the dog's"),
        ("Wait 3.5 seconds", "delay", {"type": "number"}, 3.5),
        ("Wait -4 seconds", "delay", {"type": "integer"}, -4),
        ("Wait 4 seconds", "delay", {"type": "integer", "minimum": 10}, 10),
        ("Wait 14 seconds", "delay", {"type": "integer", "maximum": 10}, 10),
        ("Wait 14 seconds", "delay", {"type": "integer", "exclusiveMaximum": 10}, 9),
        ("Wait", "delay", {"type": "number", "exclusiveMinimum": 0}, 1),
        ("Between 3 and 4, with delay 5", "delay", {"type": "integer"}, 5),
        ("Make 7 calls, 12 max results", "max_results", {"type": "integer"}, 12),
        ("Order 7 came broken", "order", STRING, "7"),
        ("The 7 orders came", "order", STRING, "The 7 orders came"),
        ("In one word, blue", "colour", STRING | {"enum": ["on", "blue"]}, "blue"),
        ("In miles", "unit", STRING | {"enum": ["kilometre", "mile"]}, "mile"),
        ("Make it blue", "colour", STRING | {"enum": ["red", "blue"]}, "blue"),
        ("Make it", "colour", STRING | {"enum": ["red", "blue"]}, "red"),
        ("Make it", "kind", {"const": 5}, 5),
        ("Be quick", "verbose", {"type": "boolean"}, False),
        ("Weather in New York please", "city", STRING, "New York"),
        ("Weather in Paris", "location", STRING, "Paris"),
        ("Weather", "city", STRING, "Weather"),
        ("Hello", "text", STRING | {"maxLength": 3}, "Hel"),
        ("Hi", "text", STRING | {"minLength": 5}, "Hi..."),
        ("Add 3, 4", "numbers", {"type": "array", "items": {"type": "number"}}, [3]),
        ("Add 3", "numbers", {"type": "array", "items": {"type": "number"}, "minItems": 2}, [3, 0]),
        ("Add 3", "numbers", {"type": "array", "items": {"type": "number"}, "maxItems": 0}, []),
        ("Go", "nothing", {"type": "null"}, None),
        ("Go", "never", {"anyOf": [{"type": "null"}, {"type": "null"}]}, None),
        ("Go", "maybe", {"type": ["string", "null"]}, "Go"),
        ("Go to 5", "maybe", {"anyOf": [{"type": "null"}, {"type": "integer"}]}, 5),
        ("Go", "one", {"oneOf": [{"type": "integer"}, {"type": "string"}]}, 0),
        (
            "Go to 5",
            "deep",
            {"properties": {"x": {"type": "integer"}}, "required": ["x"]},
            {"x": 5},
        ),
    ],
)
def test_a_required_value_comes_from_the_text_or_is_the_least(fill, question, name, schema, value):
    assert fill(question, **{name: dict(schema)}) == {name: value}


@pytest.mark.parametrize(
    ("question", "arguments"), [("Go to “x” at 5", {}), ("In Tokyo", {"city": "Tokyo"})]
)
def test_an_optional_value_is_given_only_where_the_text_speaks_of_it(fill, question, arguments):
    parameters = {
        "note": STRING | OPTIONAL,
        "size": {"type": "integer"} | OPTIONAL,
        "city": STRING | OPTIONAL,
    }
    assert fill(question, **parameters) == arguments


def test_numbers_are_used_once_and_in_their_order(fill):
    sides = {"count": {"type": "integer"}, "sides": {"type": "integer"}}
    assert fill("Roll 3 dice with sides 20", **sides) == {"count": 3, "sides": 20}


def test_quotations_are_used_once(fill):
    assert fill("Send “a” to “b”", subject=dict(STRING), receiver=dict(STRING)) == {
        "subject": "a",
        "receiver": "b",
    }


def test_references_are_followed(server, ask):
    schema = {
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/a~1b"}},
        "required": ["node"],
        "$defs": {
            "a/b": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "next": {"anyOf": [{"$ref": "#/$defs/a~1b"}, {"type": "null"}]},
                },
                "required": ["size"],
            }
        },
    }
    tool = {"type": "function", "name": "handle_it", "parameters": schema}
    response = ask(server, input="handle it with 8", tools=[tool])
    arguments = json.loads(response.json()["output"][-1]["arguments"])
    assert arguments == {"node": {"size": 8}}


def test_an_answer_by_a_schema_whose_reference_leads_nowhere_is_anything(server, ask):
    schema = {"type": "object", "properties": {"a": {"$ref": "#/no/where"}}, "required": ["a"]}
    shape = {"type": "json_schema", "name": "a", "schema": schema, "strict": False}
    response = ask(server, input="handle it", text={"format": shape})
    text = response.json()["output"][-1]["content"][0]["text"]
    assert json.loads(text).keys() == {"a"}


def test_endless_schemas_come_to_an_end(server, ask):
    node = {
        "type": "object",
        "properties": {"child": {"$ref": "#/$defs/node"}},
        "required": ["child"],
    }
    loop = {"$ref": "#/$defs/loop"}
    twigs = {"type": "array", "items": {"$ref": "#/$defs/twigs"}, "minItems": 1}
    whole = {"$ref": "#"}
    for name, inner in (("node", node), ("loop", loop), ("twigs", twigs), ("root", whole)):
        schema = {
            "type": "object",
            "properties": {"x": inner},
            "required": ["x"],
            "$defs": {name: inner},
        }
        tool = {"type": "function", "name": "handle_it", "parameters": schema}
        assert ask(server, input="handle it", tools=[tool]).status_code == 200


_NAMES = st.sampled_from(["city", "text", "count", "url", "timezone", "items"])
_LEAVES = st.one_of(
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.builds(
        lambda low, span: {"type": "integer", "minimum": low, "maximum": low + span},
        st.integers(-9, 9),
        st.integers(0, 9),
    ),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low}, st.integers(-9, 9)),
    st.builds(
        lambda low, span: {"type": "string", "minLength": low, "maxLength": low + span},
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    st.builds(
        lambda values: {"enum": values},
        st.lists(st.integers() | st.text(max_size=3), min_size=1, max_size=3),
    ),
)
_SCHEMAS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.builds(
            lambda items, low: {"type": "array", "items": items, "minItems": low},
            inner,
            st.integers(0, 2),
        ),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(
            lambda parts: {
                "type": "object",
                "properties": parts,
                "required": sorted(parts),
                "additionalProperties": False,
            },
            st.dictionaries(_NAMES, inner, max_size=3),
        ),
    ),
    max_leaves=6,
)


@given(
    schema=_SCHEMAS,
    question=st.sampled_from(["Hello", "What is 17 * 23 in Tokyo?", "“a” 5 -3 true https://x.org"]),
)
def test_structured_output_is_valid_for_its_schema(server, ask, schema, question):
    root = {
        "type": "object",
        "properties": {"x": schema},
        "required": ["x"],
        "additionalProperties": False,
    }
    shape = {"type": "json_schema", "name": "x", "schema": root, "strict": True}
    response = ask(server, input=question, text={"format": shape})
    text = response.json()["output"][-1]["content"][0]["text"]
    jsonschema.validate(json.loads(text), root)


def test_a_parameter_that_allows_anything_gets_the_words(server, ask):
    schema = {"type": "object", "properties": {"x": True}, "required": ["x"]}
    tool = {"type": "function", "name": "handle_it", "parameters": schema}
    response = ask(server, input="handle it", tools=[tool])
    assert json.loads(response.json()["output"][-1]["arguments"]) == {"x": "handle it"}


def test_a_schema_need_not_be_an_object(ask):
    schema = {"type": "integer"}
    shape = {"type": "json_schema", "name": "x", "schema": schema, "strict": False}
    with ResponsesSimulator() as simulator:
        response = ask(simulator, input="Give 7", text={"format": shape})
    assert json.loads(response.json()["output"][-1]["content"][0]["text"]) == 7


def test_the_number_beside_the_name_is_that_parameters_alone(fill):
    number = {"type": "integer"}
    asked = "Order 7 came broken, refund my 30 euros 2 times."
    told = fill(asked, count=number, order=STRING, euros=number)
    assert told == {"count": 2, "order": "7", "euros": 30}
