"""Which schemas an answer may have, and what is wrong with an answer."""

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import TypedDict

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from agent_tooling import AnswerSchema, DeclarationError


ROOM = {"type": "object", "properties": {"beds": {"type": "integer"}}, "required": ["beds"]}


@pytest.mark.parametrize(
    "raw",
    [
        ROOM,
        json.dumps(ROOM),
        {"name": "room", "schema": ROOM},
        {"name": "room", "strict": True, "schema": ROOM},
        {"type": "json_schema", "json_schema": {"name": "room", "schema": ROOM}},
    ],
    ids=range(5),
)
def test_a_schema_is_read_from_text_or_an_object_wrapped_or_not(raw):
    assert AnswerSchema.parse(raw).schema == ROOM


def test_a_property_that_is_called_schema_is_no_wrapping():
    schema = {"properties": {"schema": {"type": "object"}}, "schema": {"type": "string"}}
    assert AnswerSchema.parse(schema).schema == schema


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("{", "answer_schema must be a JSON schema, got Expecting property name"),
        ("[1]", "answer_schema must be a JSON schema object, got list"),
        ({"type": "room"}, "^type of answer_schema must be a valid JSON schema, got 'room'"),
        ({"$ref": "https://example.org/room"}, r"\$ref of answer_schema must be a place in"),
        ({"$ref": "#/$defs/none"}, r"\$ref of answer_schema must be a place in"),
    ],
)
def test_what_is_no_schema_is_refused_by_name(raw, message):
    with pytest.raises(DeclarationError, match=message):
        AnswerSchema.parse(raw)


def test_without_jsonschema_it_is_said_what_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jsonschema", None)
    with pytest.raises(DeclarationError, match=r"gpt5-agent-tooling\[schema\]"):
        AnswerSchema.parse(ROOM)


@pytest.mark.parametrize("again", ['{"beds": 2}', '\n{ "beds" : 2.0 }', '{"beds":2}{"beds":2}\n'])
def test_an_answer_that_comes_again_is_one_answer(again):
    checked = AnswerSchema.parse(ROOM).check('{"beds": 2}' + again)
    assert (checked.text, checked.value, checked.problem) == ('{"beds": 2}', {"beds": 2}, None)


@pytest.mark.parametrize(
    "text",
    [
        '{"beds": 2}',
        ' {"beds": 2}\n',
        '```json\n{"beds": 2}\n```',
        '```\n{"beds": 2}\n  ```\n',
    ],
)
def test_an_answer_that_fulfils_it_gives_its_value_and_its_json(text):
    checked = AnswerSchema.parse(ROOM).check(text)
    assert (checked.text, checked.value, checked.problem) == ('{"beds": 2}', {"beds": 2}, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is no JSON: Expecting value at line 1 column 1"),
        ("Two.", "it is no JSON: Expecting value at line 1 column 1"),
        ('It is {"beds": 2}', "it is no JSON: Expecting value at line 1 column 1"),
        ('{"beds": NaN}', "it is no JSON: "),
        ('{"beds": 2} {"beds": 3}', "it is no JSON: Extra data at line 1 column 13"),
        ('{"beds": 2} {"beds": 2', "it is no JSON: Extra data at line 1 column 13"),
        ('{"beds": NaN}{"beds": NaN}', "it is no JSON: "),
        ("[" * 100_000, "it is no JSON: "),
        ("{}", "$: 'beds' is a required property"),
        ('{"beds": "two"}', "$.beds: 'two' is not of type 'integer'"),
        (json.dumps({"beds": "x" * 1000}), "$.beds: 'xxx"),
    ],
)
def test_an_answer_that_does_not_is_told_why(text, problem):
    checked = AnswerSchema.parse(ROOM).check(text)
    assert checked.problem.startswith(problem)
    assert len(checked.problem) < 400


def test_a_reference_in_a_circle_breaks_nothing():
    checked = AnswerSchema.parse({"$ref": "#"}).check("{}")
    assert checked.problem == "the schema cannot be applied to it"


ARRAY_OR_NULL = AnswerSchema.parse({"type": ["array", "null"]})


@pytest.mark.untraced
@given(st.text() | st.recursive(st.none() | st.integers(), st.lists).map(json.dumps))
def test_whatever_a_model_writes_is_valid_or_has_a_problem(text):
    checked = ARRAY_OR_NULL.check(text)
    if checked.problem is None:
        assert json.loads(checked.text) == checked.value
        assert checked.value is None or isinstance(checked.value, list)


class Ticket(BaseModel):
    title: str
    due: dt.date = Field(description="The last day.")


@dataclass
class Room:
    beds: int
    doors: "list[Room]" = field(default_factory=list)


class Stay(TypedDict):
    nights: int


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (
            Ticket,
            '{"title": "Leak", "due": "2026-12-01"}',
            Ticket(title="Leak", due=dt.date(2026, 12, 1)),
        ),
        (Stay, '{"nights": 2}', {"nights": 2}),
        (list[Stay], '{"answer": [{"nights": 2}]}', [{"nights": 2}]),
        (int, '{"answer": 3}', 3),
        (Room, '{"beds": 1, "doors": [{"beds": 2}]}', Room(1, [Room(2)])),
    ],
    ids=["model", "typed dict", "list", "number", "recursive dataclass"],
)
def test_an_answer_of_a_type_is_a_value_of_it(kind, text, value):
    schema = AnswerSchema.from_type(kind)
    assert schema.check(text).value == value
    assert schema.schema["type"] == "object"
    jsonschema.validate(json.loads(text), schema.schema)
    assert schema.check(schema.to_text(value)).value == value


def test_a_value_that_json_cannot_express_becomes_its_text():
    schema = AnswerSchema.parse(ROOM)
    assert schema.to_text({"beds": 1}) == '{"beds": 1}'
    assert schema.to_text({1j: 2}) == "{1j: 2}"
    assert AnswerSchema.from_type(Ticket).to_text(object()).startswith("<object")


def test_the_schema_of_a_type_is_what_apis_take_as_strict():
    assert AnswerSchema.from_type(Ticket).schema == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "due": {"type": "string", "format": "date", "description": "The last day."},
        },
        "required": ["title", "due"],
        "additionalProperties": False,
    }


class Refusing(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def _refuse(cls, _: str) -> str:
        raise RuntimeError("sk-secret")


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (Ticket, '{"title": "Leak"}', "due: Field required"),
        (int, "3", "it must be an object with the key 'answer'"),
        (int, '{"answer": "many"}', "Input should be a valid integer, unable to parse"),
        (Refusing, '{"name": "Ann"}', "it could not be checked"),
    ],
)
def test_of_an_answer_that_is_not_of_its_type_it_is_said_what_is_wrong(kind, text, problem):
    checked = AnswerSchema.from_type(kind).check(text)
    assert checked.value is None
    assert checked.problem is not None
    assert checked.problem.startswith(problem)


@pytest.mark.parametrize("kind", [object(), type(lambda: None), "Ticket"])
def test_a_type_that_json_schema_cannot_say_is_refused_by_name(kind):
    with pytest.raises(DeclarationError, match=r"^answer must be a type that pydantic can check"):
        AnswerSchema.from_type(kind, field="answer")
