"""What holds for a tool of any function, whatever a model writes."""

import inspect
import json
from dataclasses import make_dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import Field, create_model

from agent_tooling import Tool


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


# A text that is no JSON of its own, and the values that types are easily mistaken for.
TEXTS = st.sampled_from(["", "a", "red", "x", "1", "true", "null", "1.5", "\u00e9\U0001f600"])
NUMBERS = st.sampled_from([-1, 0, 1, 2, 1.0, 1.5, -0.0, 1e18, 10**18])
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=6,
)


def field(annotation, *, is_required):
    return (annotation, ...) if is_required else (annotation, None)


def model_of(types, required):
    fields = {name: field(one, is_required=name in required) for name, one in types.items()}
    return create_model("Model", **fields)


def dataclass_of(types, required):
    ordered = sorted(types, key=lambda name: name not in required)
    members = [
        (name, types[name]) if name in required else (name, types[name], None) for name in ordered
    ]
    return make_dataclass("Data", members)


def typed_dict_of(types, _required):
    return TypedDict("Typed", types)


RECORDS = st.builds(
    lambda make, types, required: make(types, required),
    st.sampled_from([model_of, dataclass_of, typed_dict_of]),
    st.deferred(lambda: st.dictionaries(st.sampled_from("abc"), TYPES, min_size=1)),
    st.sets(st.sampled_from("abc")),
)
PLAIN = st.sampled_from(
    [
        *(int, float, bool, str, None, Any, list, dict, Colour),
        *(Literal["a", "red"], Literal["x"], Literal["x"] | None),
        *(Annotated[int, Field(ge=0)], Annotated[float, Field(lt=1.5)]),
        *(Annotated[str, Field(min_length=1, max_length=2)], Annotated[str, Field(pattern="^[a-z]$")]),
        *(Annotated[list[int], Field(max_length=1)], Annotated[int, Field(multiple_of=2)]),
    ]
)  # fmt: skip
TYPES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        inner.map(lambda one: list[one]),
        inner.map(lambda one: dict[str, one]),
        inner.map(lambda one: tuple[one, ...]),
        inner.map(lambda one: Optional[one]),  # noqa: UP045 - of a value, and not of an expression
        st.tuples(inner, inner).map(lambda both: tuple[both]),
        st.tuples(inner, inner).map(lambda both: Union[both]),  # noqa: UP007 - likewise
        RECORDS,
    ),
    max_leaves=4,
)


def to_function(types, required):
    def function(**values):
        return values

    function.__signature__ = inspect.Signature(
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=one,
            default=inspect.Parameter.empty if name in required else "default",
        )
        for name, one in types.items()
    )
    return function


TOOLS = st.builds(
    lambda types, required: Tool.from_function(to_function(types, required)),
    st.dictionaries(st.sampled_from(["a", "b", "schema"]), TYPES, max_size=2),
    st.sets(st.sampled_from(["a", "b"])),
)


@st.composite
def values(draw, schema, root):
    """Draw what a schema asks for, or, now and then, anything."""
    if draw(st.integers(0, 9)) == 0:
        return draw(JSON)
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        schema = draw(st.sampled_from(schema["anyOf"]))
        return draw(values(schema, root))
    if "enum" in schema or "const" in schema:
        return draw(st.sampled_from(schema.get("enum") or [schema["const"]]))
    match schema.get("type"):
        case "object":
            known = schema.get("properties", {})
            left_out = draw(st.sets(st.sampled_from([*known, "d"]), max_size=1))
            names = [*known, "d"][: len(known) + draw(st.integers(0, 1))]
            other = schema.get("additionalProperties", {})
            other = other if isinstance(other, dict) else {}
            return {
                name: draw(values(known.get(name, other), root))
                for name in names
                if name not in left_out
            }
        case "array":
            first = schema.get("prefixItems", [])
            more = [schema["items"]] * draw(st.integers(0, 0 if first else 2))
            return [draw(values(item, root)) for item in [*first, *more]]
        case kind:
            of = {"string": TEXTS, "null": st.none(), "boolean": st.booleans()}
            return draw(of.get(kind, NUMBERS if kind else JSON))


def hold_schema_and_binding_together(made, arguments):
    valid = Draft202012Validator(made.parameters).is_valid(arguments)
    bound = made.bind(json.dumps(arguments))
    assert bound.ok == valid, (made.parameters, arguments, bound.error)
    if bound.ok:
        output = made.invoke(bound.args)
        assert output.error is None
        assert bound.args == arguments


@pytest.mark.untraced
@given(st.data())
def test_the_schema_accepts_what_binding_accepts(data):
    made = data.draw(TOOLS)
    Draft202012Validator.check_schema(made.parameters)
    arguments = data.draw(values(made.parameters, made.parameters))
    hold_schema_and_binding_together(made, arguments if isinstance(arguments, dict) else {})


@pytest.mark.long
@settings(max_examples=20_000)
@given(st.data())
def test_the_schema_accepts_what_binding_accepts_at_length(data):
    made = data.draw(TOOLS)
    for _ in range(3):
        arguments = data.draw(values(made.parameters, made.parameters))
        hold_schema_and_binding_together(made, arguments if isinstance(arguments, dict) else {})


def take(number: int, names: list[str], where: dict[str, float] | None = None) -> str:
    """Take some."""
    return f"{number} {names} {where}"


SCHEMA = Tool.from_function(take).parameters
PARAMETERS = [{"name": "number", "type": "number"}, {"name": "names", "type": "array"}]
EACH_SOURCE = [
    Tool.from_function(take),
    Tool.from_schema("take", "", SCHEMA, take),
    Tool.from_declaration({"identity": {"name": "take"}, "parameters": PARAMETERS}, take),
]
PIECES = st.sampled_from([*'{}[]:,"\\', "number", "names", "where", '"', "1e999", "null", "9" * 25])


@pytest.mark.untraced
@pytest.mark.parametrize("made", EACH_SOURCE, ids=["function", "schema", "declaration"])
@given(
    text=st.one_of(
        st.text(),
        st.lists(PIECES).map("".join),
        st.dictionaries(st.sampled_from(["number", "names", "where", "x"]), JSON).map(json.dumps),
        JSON,
    )
)
def test_whatever_a_model_writes_is_bound_or_refused_with_a_sentence(made, text):
    bound = made.bind(text)

    assert bound.ok is (bound.error is None)
    if bound.ok:
        json.dumps(bound.args)
        assert made.bind(json.dumps(bound.args)) == bound
    else:
        assert bound.error.startswith("tool arguments ")
