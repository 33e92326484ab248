import asyncio
import functools
import json
import math
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from types import SimpleNamespace

import pytest
from pydantic import BaseModel, SecretStr

from agent_tooling import (
    TOOL_FAILED,
    DeclarationError,
    FailureMemory,
    ResultBudget,
    Tool,
    ToolError,
    ToolOutput,
    tool,
)
from counting import count_steps, is_linear


DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
IMAGE = {"type": "image", "image_url": "data:image/png;base64,AAAA"}


class Person(BaseModel):
    name: str
    key: SecretStr = SecretStr("hunter2")


@dataclass
class Point:
    x: int
    y: object = None


class Unit(Enum):
    C = "c"


def returning(value):
    return Tool.from_schema("t", "", {}, lambda: value)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        (None, ""),
        (3, "3"),
        (True, "true"),
        (1.5, "1.5"),
        (Unit.C, "c"),
        ({"a": [1, "ä"]}, '{"a": [1, "ä"]}'),
        ([], "[]"),
        (["a", "b"], '["a", "b"]'),
        ((1, 2), "[1, 2]"),
        ({3, 1, 2}, "[1, 2, 3]"),
        ({"a": 1}.keys(), '["a"]'),
        (range(3), "[0, 1, 2]"),
        ([LookupError("password hunter2")], '["<LookupError>"]'),
        (Person(name="Ada"), '{"name": "Ada", "key": "**********"}'),
        ([Point(1, b"abc")], '[{"x": 1, "y": "<3 bytes>"}]'),
        (Point(1, object()), '{"x": 1, "y": "<object>"}'),
        (Point(1, Point), '{"x": 1, "y": "<Point>"}'),
        (Point(1, Unit.C), '{"x": 1, "y": "c"}'),
        ({"when": datetime(2026, 11, 22, tzinfo=UTC)}, '{"when": "2026-11-22T00:00:00+00:00"}'),
        ({"price": Decimal("1.50")}, '{"price": "1.50"}'),
        ([math.inf, -math.inf, math.nan, 1.5], '["Infinity", "-Infinity", "NaN", 1.5]'),
        (PurePosixPath("/a"), '"/a"'),
        ("half \ud83d", "half ?"),
        ([{"type": "file", "name": "a.txt"}], '[{"type": "file", "name": "a.txt"}]'),
        ([{"type": []}], '[{"type": []}]'),
        (IMAGE, (IMAGE,)),
        ([IMAGE], (IMAGE,)),
        (["See:", IMAGE], ({"type": "text", "text": "See:"}, IMAGE)),
        (
            [{"type": "file", "data": b"abc", "filename": "a\ud83d"}],
            ({"type": "file", "data": "YWJj", "filename": "a?"},),
        ),
        ([IMAGE, 3], json.dumps([IMAGE, 3])),
        ({"type": "input_image", "file_id": "f"}, ({"type": "image", "file_id": "f"},)),
        ({"type": "image_url", "image_url": {"url": "u"}}, ({"type": "image", "image_url": "u"},)),
        ([{"type": "input_file", "file_id": "f"}], ({"type": "file", "file_id": "f"},)),
        ([{"type": "input_text", "text": "t"}], ({"type": "text", "text": "t"},)),
    ],
)
def test_what_a_tool_returns_is_text_json_or_content_parts(value, content):
    output = returning(value).invoke({})

    assert (output.content, output.error, output.cause) == (content, None, None)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"abc", "the tool returned bytes, which cannot be read as text"),
        (memoryview(b"abc"), "the tool returned bytes, which cannot be read as text"),
        ({(1, 2): 3}, "the tool returned a value that cannot be read as JSON"),
    ],
)
def test_what_no_model_can_read_is_a_failure_that_says_so(value, said):
    output = returning(value).invoke({})

    assert (output.content, output.error) == (said, said)


def failing(error):
    def fail():
        raise error

    return Tool.from_schema("t", "", {}, fail)


def test_of_an_exception_the_model_reads_nothing_and_the_log_everything():
    error = LookupError("password hunter2")

    output = failing(error).invoke({})

    assert (output.content, output.error, output.cause) == (TOOL_FAILED, TOOL_FAILED, error)
    assert "hunter2" not in repr(output)


def test_of_a_tool_error_the_model_reads_the_text():
    output = failing(ToolError("There is no such city.")).invoke({})

    assert output.content == output.error == "There is no such city."


@pytest.mark.parametrize(("text", "said"), [("", TOOL_FAILED), ("half \ud83d", "half ?")])
def test_a_tool_error_always_says_something_that_can_be_carried(text, said):
    output = failing(ToolError(text)).invoke({})

    assert output.content == output.error == said


def test_what_is_no_exception_is_raised():
    with pytest.raises(KeyboardInterrupt):
        failing(KeyboardInterrupt()).invoke({})


def test_a_generator_yields_its_result_in_pieces_which_stay_when_it_fails():
    def some(*, fails):
        yield "one "
        yield {"two": 2}
        if fails:
            raise RuntimeError("secret")

    whole = Tool.from_schema("t", "", {}, some, hidden={"fails": False})
    assert whole.invoke({}).content == 'one {"two": 2}'
    assert whole.with_hidden(fails=True).invoke({}).content == f'one {{"two": 2}}\n{TOOL_FAILED}'


def test_a_failure_after_parts_is_a_part_too():
    def some():
        yield IMAGE
        raise ToolError("no more")

    output = Tool.from_schema("t", "", {}, some).invoke({})

    assert output.content == (IMAGE, {"type": "text", "text": "no more"})
    assert output.error == "no more"


@pytest.mark.parametrize("make", [iter, lambda source: (item for item in source)])
def test_an_endless_result_ends_when_nobody_waits_any_more(make):
    taken = []

    def endless():
        return make(iter(lambda: taken.append(1) or "x", None))

    Tool.from_schema("t", "", {}, endless).invoke({}, is_over=lambda: len(taken) == 3)

    assert len(taken) == 3


async def greet(name: str) -> str:
    """Greet."""
    await asyncio.sleep(0)
    return f"Hello {name}"


async def count(to: int):
    for number in range(to):
        yield str(number)
    if to > 3:
        raise ToolError("too far")


async def awaited(made, **arguments):
    bound = made.bind(json.dumps(arguments))
    return await made.ainvoke(bound.args)


async def test_an_async_function_is_awaited():
    made = tool(greet)

    assert made.is_async
    assert (await awaited(made, name="Ada")).content == "Hello Ada"


def hello(name: str):
    return f"Hello {name}"


def in_a_thread(inner):
    @functools.wraps(inner)
    async def outer(**arguments):
        return await asyncio.to_thread(inner, **arguments)

    return outer


def in_pieces(inner):
    @functools.wraps(inner)
    async def outer(**arguments):
        yield inner(**arguments)

    return outer


def handed_on(inner):
    @functools.wraps(inner)
    def outer(**arguments):
        return inner(**arguments)

    return outer


@pytest.mark.parametrize(
    "function",
    [
        in_a_thread(hello),
        in_pieces(hello),
        functools.partial(in_a_thread(hello)),
        handed_on(in_a_thread(hello)),
        handed_on(greet),
    ],
    ids=["thread", "pieces", "partial", "twice", "handed on"],
)
async def test_a_function_is_awaited_where_any_of_its_decorators_makes_it_async(function):
    made = Tool.from_function(function)

    assert made.is_async
    assert (await awaited(made, name="Ada")).content == "Hello Ada"


async def test_an_async_generator_yields_its_result_in_pieces():
    made = tool(count)

    assert made.is_async
    assert (await awaited(made, to=3)).content == "012"
    assert (await awaited(made, to=4)).content == "0123\ntoo far"


async def test_a_tool_without_async_can_be_awaited_too():
    assert (await awaited(returning("x"))).content == "x"


def test_what_a_function_hands_on_is_awaited_by_whoever_can_wait():
    async def look() -> str:
        return "here"

    def hand_on() -> object:
        """Look."""
        return look()

    made = Tool.from_function(hand_on)
    assert made.invoke({}, wait=asyncio.run).content == "here"
    # Closed, for Python would warn of a coroutine that is never awaited.
    assert made.invoke({}, wait=asyncio.run, is_over=lambda: True).error is not None
    assert made.invoke({}).error == TOOL_FAILED


@pytest.mark.parametrize(("function", "arguments"), [(greet, {"name": "x"}), (count, {"to": 1})])
def test_calling_an_async_tool_without_await_fails_and_says_so_in_the_log(function, arguments):
    output = tool(function).invoke(arguments)

    assert output.error == TOOL_FAILED
    assert "await ainvoke()" in str(output.cause)


async def test_a_cancelled_tool_is_not_a_failed_one():
    async def sleep() -> None:
        await asyncio.sleep(60)

    task = asyncio.create_task(tool(sleep).ainvoke({}))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_json_schema_is_a_tool_that_takes_what_it_says():
    made = Tool.from_schema("weather", "Weather.", SCHEMA, lambda city: f"in {city}")

    assert made.parameters == {**SCHEMA, "additionalProperties": False}
    assert made.invoke(made.bind('{"city": "Oslo"}').args).content == "in Oslo"
    assert made.bind("{}").error.endswith(": missing required parameter 'city'")
    assert made.bind('{"city": "x", "b": 1}').error.endswith(": unknown parameters ['b']")
    assert made.bind('{"city": 1}').error.endswith(": parameter 'city' must be string, got 1")
    assert "additionalProperties" not in SCHEMA


@pytest.mark.parametrize(
    ("wanted", "fits", "does_not"),
    [
        ("integer", [1, 1.0, -3], [1.5, True, "1", None]),
        ("number", [1, 1.5], [True, "1"]),
        ("boolean", [True], [1, "true"]),
        ("array", [[]], [{}, "[]"]),
        ("object", [{}], [[]]),
        ("null", [None], [0, ""]),
        (["string", "null"], ["", None], [1]),
    ],
)
@pytest.mark.parametrize("has_library", [True, False])
def test_simple_types_are_checked_with_and_without_jsonschema(
    wanted, fits, does_not, has_library, monkeypatch
):
    if not has_library:
        monkeypatch.setitem(__import__("sys").modules, "jsonschema", None)
    made = Tool.from_schema("t", "", {"properties": {"a": {"type": wanted}}}, print)

    assert all(made.bind(json.dumps({"a": value})).ok for value in fits)
    assert not any(made.bind(json.dumps({"a": value})).ok for value in does_not)


@pytest.mark.parametrize(
    ("inner", "value", "said"),
    [
        ({"type": "array", "items": {"type": "integer"}}, [1, "b"], "parameter 'a[1]': 'b' is not of type 'integer'"),
        ({"enum": ["x", "y"]}, "z", "parameter 'a': 'z' is not one of ['x', 'y']"),
        ({"type": "integer", "minimum": 1}, 0, "parameter 'a': 0 is less than the minimum of 1"),
        ({"$ref": "#/properties/a"}, 1, "the arguments could not be checked"),
    ],
)  # fmt: skip
def test_with_jsonschema_all_that_a_schema_says_is_checked(inner, value, said):
    made = Tool.from_schema("t", "", {"properties": {"a": inner}}, print)

    assert made.bind(json.dumps({"a": value})).error.endswith(f": {said}")


@pytest.mark.parametrize(
    ("reference", "more"), [("$ref", {"$schema": DRAFT_2020}), ("$dynamicRef", {})]
)
def test_references_that_multiply_keep_no_check_busy(reference, more, run_out_of_steps):
    levels = {
        f"L{level}": {"anyOf": [{reference: f"#/$defs/L{level + 1}"}] * 2, **more}
        for level in range(40)
    }
    schema = {
        "properties": {"a": {reference: "#/$defs/L0"}},
        "$defs": {**levels, "L40": {"type": "string"}},
    }
    made = Tool.from_schema("t", "", schema, print)

    if reference == "$ref":
        assert made.bind('{"a": 1}').error.endswith(": the arguments could not be checked")
    run_out_of_steps(schema, {"a": 1})


@pytest.mark.parametrize("keyword", ["unevaluatedProperties", "unevaluatedItems"])
def test_unevaluated_parts_within_each_other_keep_no_check_busy(keyword, run_out_of_steps):
    inner = {"type": "object"}
    for _ in range(25):
        inner = {keyword: False, "allOf": [inner]}

    run_out_of_steps(inner, {} if keyword == "unevaluatedProperties" else [])


NUMBERS = list(range(2_000))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"anyOf": [*[{"type": "null"}] * 500, {}]}}, NUMBERS),
        ({"anyOf": [{"contains": {}, "maxItems": 0}] * 400}, NUMBERS),
        ({"anyOf": [{"uniqueItems": True, "maxItems": 0}] * 200}, NUMBERS),
        ({"items": {"enum": [[0] * 60 + [n] for n in range(60)]}}, [[0] * 61] * 200),
        ({"anyOf": [{"const": {"a": [0] * 999 + [1]}}] * 600}, {"a": [0] * 1_000}),
        ({"items": {"properties": {f"p{n}": {} for n in range(900)}}}, [{}] * 600),
        ({"unevaluatedItems": False, "anyOf": [{"prefixItems": [{}]}] * 300}, NUMBERS),
        ({"anyOf": [{"type": "null"}] * 500}, ["text" * 100_000]),  # quoted by each error
    ],
)
def test_what_schema_and_arguments_multiply_keeps_no_check_busy(schema, value, run_out_of_steps):
    """A check that goes on for minutes holds up whoever shares the process, and its errors fill the memory."""
    run_out_of_steps(schema, value)


def test_what_is_wrong_very_often_is_told_once():
    made = Tool.from_schema("t", "", {"properties": {"a": {"items": {"type": "string"}}}}, print)

    told = made.bind(json.dumps({"a": [0] * 60_000})).error
    assert told.endswith(": parameter 'a[0]': 0 is not of type 'string'")


def test_a_reference_to_an_anchor_is_not_looked_for_in_all_of_a_schema_each_time():
    def steps(anchors):
        named = {f"d{n}": {"$anchor": f"d{n}"} for n in range(anchors)}
        schema = {"properties": {"a": {"items": {"$ref": f"#d{anchors - 1}"}}}, "$defs": named}
        made = Tool.from_schema("t", "", schema, print)
        assert made.bind('{"a": [0]}').ok
        return count_steps(lambda: made.bind(json.dumps({"a": [0] * 100})))

    assert steps(200) < 1.1 * steps(100)


def test_a_list_that_cannot_be_sorted_is_looked_through_once_for_what_is_there_twice():
    unique = {"properties": {"a": {"uniqueItems": True}}}
    made = Tool.from_schema("t", "", unique, print)

    def look(size):
        many = [*map(str, range(size)), 1]
        listed = {"$schema": DRAFT_4, "properties": {"a": {"enum": many}}}
        assert made.bind(json.dumps({"a": [*many, True, 1.5]})).ok
        assert Tool.from_schema("t", "", listed, print).bind('{"a": 1}').ok

    assert is_linear(look, 200)
    assert (
        "non-unique"
        in made.bind(json.dumps({"a": [{"x": 1, "y": [2]}, {"y": [2.0], "x": 1}]})).error
    )


def test_with_jsonschema_what_the_whole_schema_says_is_checked():
    made = Tool.from_schema("t", "", {"minProperties": 1, "properties": {"a": {}}}, print)

    assert made.bind("{}").error.endswith(": the arguments: {} should be non-empty")


def test_a_schema_that_takes_other_names_says_so():
    free = Tool.from_schema("t", "", {"additionalProperties": True}, dict, hidden={"key": 1})
    composed = Tool.from_schema("t", "", {"allOf": [{"properties": {"a": {}}}]}, dict)

    assert free.invoke(free.bind('{"a": 1}').args).content == '{"a": 1, "key": 1}'
    assert composed.bind('{"a": 1}').ok
    assert free.bind('{"key": 2}').error.endswith(": unknown parameters ['key']")


def test_a_hidden_property_is_taken_out_of_the_schema():
    schema = {"properties": {"a": {}, "key": {}}, "required": ["key", "a"]}

    made = Tool.from_schema("t", "", schema, dict, hidden={"key": 1})

    assert (list(made.parameters["properties"]), made.parameters["required"]) == (["a"], ["a"])
    assert list(schema["properties"]) == ["a", "key"]


USER = {"type": "object", "properties": {"id": {"type": "string"}}}
NAMED = {"properties": {"key": {}}}


@pytest.mark.parametrize(
    ("schema", "hidden", "said"),
    [
        (
            {"properties": {"user": USER}},
            "user.id",
            "a parameter of its own, got a path into 'user'",
        ),
        (
            {"properties": {"a": {"items": {}}}},
            "a[0]",
            "a parameter of its own, got a path into 'a'",
        ),
        ({"allOf": [NAMED]}, "key", "named in `properties` alone"),
        ({"anyOf": [{"required": ["key"]}, {}]}, "key", "named in `properties` alone"),
        ({"oneOf": [{"allOf": [NAMED]}]}, "key", "named in `properties` alone"),
        ({"not": {"required": ["key"]}}, "key", "named in `properties` alone"),
        ({"if": {}, "then": NAMED}, "key", "named in `properties` alone"),
        ({"$ref": "#/$defs/A", "$defs": {"A": NAMED}}, "key", "named in `properties` alone"),
        ({"dependentRequired": {"a": ["key"]}}, "key", "named in `properties` alone"),
        ({"dependentSchemas": {"key": {}}}, "key", "named in `properties` alone"),
        ({"dependencies": {"a": NAMED}}, "key", "named in `properties` alone"),
        ({}, 5, "name of a hidden parameter must be text, got int"),
    ],
)
def test_a_value_that_cannot_be_hidden_is_an_error(schema, hidden, said):
    with pytest.raises(DeclarationError, match=re.escape(said)):
        Tool.from_schema("t", "", schema, dict, hidden={hidden: 1})


def test_a_value_is_hidden_whatever_stands_elsewhere():
    schema = {
        "properties": {
            "user": USER,
            "user.id": {},
            "kind": {"enum": ["key"], "description": "key"},
        },
        "anyOf": [
            {"required": ["user"]},
            {"required": ["kind"]},
            {"$ref": "#/allOf/0"},
            {"$ref": "#"},
        ],
        "allOf": [{"properties": {"user": {"properties": {"key": {}}}}}],
    }

    made = Tool.from_schema("t", "", schema, dict, hidden={"key": 1, "user.id": 2, "id": 3})

    assert list(made.parameters["properties"]) == ["user", "kind"]
    assert made.invoke(made.bind('{"kind": "key"}').args).content == (
        '{"kind": "key", "key": 1, "user.id": 2, "id": 3}'
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#"}}},
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}},
        {"properties": {"a": {"$ref": "#/$defs/A%20%22b%22"}}, "$defs": {'A "b"': {}}},
        {"properties": {"a": {"$ref": "#/$defs/a~1b~0c"}}, "$defs": {"a/b~c": {}}},
        {"properties": {"a": {"$ref": "#/allOf/0"}}, "allOf": [{}]},
        {"properties": {"a": {"$ref": "#room"}}, "$defs": {"A": {"$anchor": "room"}}},
        {"properties": {key: {"$ref": "#room"} for key in "ab"}, "$defs": {"A": {"$anchor": "room"}}},
        {"properties": {"a": {"$ref": "#ro%6Fm"}}, "$defs": {"A": {"$anchor": "room"}}},
        {"properties": {"a": {"$dynamicRef": "#room"}}, "$defs": {"A": {"$dynamicAnchor": "room"}}},
        {"$schema": DRAFT_7, "properties": {"a": {"$ref": "#room"}}, "definitions": {"A": {"$id": "#room"}}},
        {"properties": {"a": {"const": {"$ref": "#/nowhere"}, "default": [{"$ref": "https://x"}]}}},
        {"$defs": {"A": {"$id": "https://x.example/a", "items": {"$ref": "#/$defs/B"}, "$defs": {"B": {}}}}},
        {"properties": {"$ref": {"type": "string"}}},
    ],
)  # fmt: skip
def test_references_inside_a_schema_lead_somewhere(schema):
    assert Tool.from_schema("t", "", schema, print).parameters["type"] == "object"


def test_parameters_that_were_checked_before_are_taken_as_they_are():
    made = Tool.from_schema("t", "", {}, dict)
    odd = {
        "properties": {"a": {"minimum": "0", "$ref": "#/nowhere"}, "b": {"$ref": "#/properties/b"}}
    }

    assert made.with_parameters(odd, is_checked=True).parameters["properties"] == odd["properties"]
    assert made.with_parameters(odd, is_checked=True).bind('{"a": 1}').ok
    told = made.with_parameters(odd, is_checked=True).bind('{"a": 1, "b": 1}').error
    assert told.endswith(": the arguments could not be checked")
    with pytest.raises(DeclarationError, match="'object'"):
        made.with_parameters({"type": "string"}, is_checked=True)


def test_what_is_hidden_can_be_referred_to_by_nobody():
    schema = {"properties": {"a": {"$ref": "#/properties/key"}, "key": {}}}

    with pytest.raises(DeclarationError, match="got '#/properties/key'"):
        Tool.from_schema("t", "", schema, dict, hidden={"key": 1})


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([], "tool parameters must be a JSON schema object, got list"),
        ({"type": "string"}, "type of the tool parameters must be 'object', got 'string'"),
        ({"type": ["array", "null"]}, "type of the tool parameters must be 'object', got ['array', 'null']"),
        ({"default": object()}, "tool parameters must be JSON, got TypeError"),
        ({"type": object()}, "tool parameters must be JSON, got TypeError"),
        ({"required": {1}}, "tool parameters must be JSON, got TypeError"),
        ({"properties": b"{}"}, "tool parameters must be JSON, got TypeError"),
        ({"default": math.nan}, "tool parameters must be JSON, got ValueError"),
    ],
)  # fmt: skip
def test_what_is_no_schema_of_an_object_is_an_error(schema, said):
    with pytest.raises(DeclarationError) as caught:
        Tool.from_schema("t", "", schema, print)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"anyOf": [{"$ref": "https://x.example/s"}]}, "$ref of the tool parameters must be a place in the schema"),
        ({"properties": {"a": {"$ref": "#/$defs/Room"}}}, "$ref of the tool parameters must be a place in the schema, got '#/$defs/Room'"),
        ({"$ref": "#/definitions/A"}, "$ref of the tool parameters must be a place in the schema, got '#/definitions/A'"),
        ({"properties": {"a": {"items": {"$dynamicRef": "#room"}}}}, "$ref of the tool parameters must be a place in the schema, got '#room'"),
        ({"properties": {"a": {"$ref": "#room"}}, "$defs": {"A": {"$id": "room"}}}, "$ref of the tool parameters must be a place in the schema, got '#room'"),
        ({"allOf": [{}], "anyOf": [{"$ref": "#/allOf/1"}]}, "$ref of the tool parameters must be a place in the schema, got '#/allOf/1'"),
        ({"allOf": [{}], "anyOf": [{"$ref": "#/allOf/x/y"}]}, "$ref of the tool parameters must be a place in the schema, got '#/allOf/x/y'"),
        ({"$defs": {"A": {"$id": "https://x.example/a", "items": {"$ref": "#/$defs/A"}}}}, "$ref of the tool parameters must be a place in the schema"),
        ({"properties": {"default": {"$ref": "#/$defs/A"}}}, "$ref of the tool parameters must be a place in the schema"),
    ],
)  # fmt: skip
def test_where_a_value_is_hidden_each_reference_leads_somewhere(schema, said):
    with pytest.raises(DeclarationError) as caught:
        Tool.from_schema("t", "", schema, print, hidden={"key": 1})
    assert str(caught.value).startswith(said)


LOST = {"$ref": "https://x.example/s"}


@pytest.mark.parametrize(
    ("a", "fits", "does_not"),
    [
        ({"type": "strin"}, [1, "x"], []),
        ({"type": "any", "enum": ["x"]}, ["x"], [1]),
        ({"type": None, "minLength": 2}, ["xx"], ["x"]),
        ({"type": ["string", "any"]}, [1], []),
        ({"type": "string", "nullable": True}, ["x", None], [1]),
        ({"type": "string", "nullable": False}, ["x"], [None]),
        ({"type": "array", "items": {"enum": ["x"], "nullable": True}}, [["x", None]], [["y"]]),
        ({"minimum": 1, "exclusiveMinimum": True}, [2], [1]),
        ({"minimum": 1, "exclusiveMinimum": True, "type": "any"}, [2], [1]),
        ({"type": "array", "items": [{"type": "string"}], "additionalItems": False}, [["x"]], [[1], ["x", 1]]),
        ({"type": "object", "properties": [], "required": None, "minProperties": 1}, [{"x": 1}], [{}]),
        ({"properties": {"b": None}, "required": ["b", 1]}, [{"b": 1}], []),
        ({"allOf": [None, {"type": "string"}]}, ["x"], [1]),
        ({"required": True, "maxLength": 1}, ["x"], ["xx"]),
        ({**LOST, "type": "string"}, ["x"], [1]),
        ({"anyOf": [LOST, {"type": "string"}]}, [1], []),
        ({"$ref": "#/$defs/missing"}, [1], []),
        ({"type": "string", "pattern": r"^\p{Lu}"}, ["É"], ["é"]),
        ({"type": "string", "pattern": r"^(?!x)"}, ["x"], [1]),
        ({"items": [{"type": "string"}], "type": ["array"], "not": {"type": "any", "minItems": 2}}, [["x"]], [[1], ["x", 1]]),
        ({"type": "object", "dependencies": {"x": ["y"], "y": {"maxProperties": 1}, "z": 3}}, [{"y": 1}], [{"x": 1}, {"y": 1, "z": 1}]),
        ({"not": {"type": "string"}}, [1], ["x"]),
        ({"not": LOST}, [1], []),
        ({"not": {**LOST, "type": "string"}, "maximum": 1}, ["x", 1], [2]),
        ({"not": {"not": "string"}}, [1], []),
        ({"not": {"required": True}}, [{}], []),
        ({"not": {"enum": "x", "type": ["integer"]}}, ["x", 1], []),
        ({"not": {"dependencies": {"x": 3}}}, [{"x": 1}], []),
        ({"not": {"pattern": "^(?!x)"}, "type": "string"}, ["x", "y"], [1]),
        ({"not": {"patternProperties": {"^(?!x)": False}}}, [{"x": 1}, {"y": 1}], [1]),
        ({"oneOf": [LOST, {"type": "string"}]}, [1, "x"], []),
        ({"oneOf": [{**LOST, "type": "string"}, {"minLength": 2, "type": "string"}]}, ["x", "xx"], [1]),
        ({"if": LOST, "then": {"type": "string"}, "else": {"type": "integer"}}, ["x", 1, []], []),
        ({"if": {**LOST, "type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}, ["x", 2], [1]),
        ({"type": "array", "contains": {**LOST, "type": "string"}, "maxContains": 1}, [["x", "y"]], [[1]]),
        ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}, ["xx", 2], ["x", 1]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2.5], [2, 1.5]),
        ({"type": "array", "contains": {"type": "string"}}, [["x", 1]], [[], [1]]),
        (True, [1], []),
        (None, [1], []),
        (False, [], [1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_checked", [False, True])
def test_of_a_schema_as_it_is_found_all_is_checked_that_can_be_read(a, fits, does_not, is_checked):
    schema = {"type": ["object", "null"], "properties": {"a": a}, "required": ["a", 1]}
    made = Tool.from_schema("t", "", schema, print)
    # Nothing is lost by who has checked it before.
    made = made.with_parameters(made.parameters, is_checked=is_checked)

    assert all(made.bind(json.dumps({"a": value})).ok for value in fits)
    assert is_checked or not any(made.bind(json.dumps({"a": value})).ok for value in does_not)
    assert made.bind("{}").error.endswith(": missing required parameter 'a'")
    assert (made.parameters["type"], made.parameters["required"]) == ("object", ["a"])


@pytest.mark.parametrize("draft", [4, None, ["x"], "urn:of-nobody", DRAFT_4])
def test_whatever_draft_is_named_all_is_checked_that_can_be_read(draft):
    others = {"type": "any", "enum": ["x"]}
    schema = {
        "$schema": draft,
        "properties": {"a": {"type": "integer"}, "n": {"type": "string", "nullable": True}},
        "additionalProperties": others,
        "exclusiveMinimum": 2,
        "exclusiveMaximum": True,
    }
    made = Tool.from_schema("t", "", schema, print)

    assert made.bind('{"a": 1, "b": "x", "n": null}').ok
    assert not made.bind('{"a": "x"}').ok
    assert not made.bind('{"b": 1}').ok
    assert not made.bind('{"n": 1}').ok


@pytest.mark.parametrize(("draft", "counts"), [(DRAFT_4, False), (DRAFT_7, False), (None, True)])
def test_what_stands_beside_a_reference_counts_where_its_draft_says_so(draft, counts):
    schema = {
        "$schema": draft,
        "properties": {"a": {"$ref": "#/definitions/b", "type": "object"}},
        "definitions": {"b": {"minProperties": 1, "minLength": 2}},
    }
    made = Tool.from_schema("t", "", schema, print)

    assert made.bind('{"a": {"x": 1}}').ok
    assert made.bind('{"a": "xx"}').ok is not counts
    assert not made.bind('{"a": {}}').ok


@pytest.mark.parametrize("levels", [120, 2_000])
def test_of_a_deep_schema_is_checked_what_can_be_reached(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}

    if levels > 1_000:
        with pytest.raises(DeclarationError, match="must be less deep"):
            Tool.from_schema("t", "", schema, print)
    else:
        made = Tool.from_schema("t", "", schema, print)
        assert made.bind('{"a": {"a": {}}}').ok
        assert not made.bind('{"a": {"a": 1}}').ok


@pytest.mark.parametrize("root", [{"properties": []}, {"properties": None, "required": "a"}])
def test_a_root_that_names_nothing_takes_nothing(root):
    made = Tool.from_schema("t", "", root, print)

    assert made.parameters["properties"] == {}
    assert made.bind("{}").ok
    assert not made.bind('{"a": 1}').ok


@pytest.mark.parametrize("has_library", [True, False])
def test_without_jsonschema_unknown_types_take_anything(has_library, monkeypatch):
    if not has_library:
        monkeypatch.setitem(__import__("sys").modules, "jsonschema", None)
    schema = {"properties": {"a": {"type": "any"}, "b": {"type": "string", "nullable": True}}}
    made = Tool.from_schema("t", "", schema, print)

    assert made.bind('{"a": 1, "b": null}').ok
    assert not made.bind('{"b": 1}').ok


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "no spaces"}, "tool name must be 1 to 64 letters"),
        ({"name": "x" * 65}, "tool name must be 1 to 64 letters"),
        ({"name": None}, "tool name must be 1 to 64 letters"),
        ({"description": None}, "tool description must be text, got NoneType"),
        ({"function": "print"}, "tool function must be something that can be called"),
        ({"parameters": None}, "tool parameters must be a JSON schema object"),
        ({"hidden": {"key"}}, "hidden must be values by the names of their parameters, got set"),
        ({"hidden": {"city": "Oslo"}}, "parameter 'city' must be hidden or shown, got both"),
    ],
)
def test_the_constructor_checks_what_the_factories_check(fields, said):
    given = {"name": "t", "description": "", "parameters": SCHEMA, "function": print} | fields

    with pytest.raises(DeclarationError) as caught:
        Tool(**given)
    assert str(caught.value).startswith(said)


def test_a_tool_cannot_be_changed():
    made = Tool(name="t", description="", parameters=SCHEMA, function=print)

    with pytest.raises(AttributeError):
        made.name = "other"
    assert {made: 1}[made] == 1


def test_a_changed_copy_checks_the_schema_that_it_shows():
    made = Tool.from_function(greet)

    named = replace(made, name="other")
    changed = replace(made, parameters=SCHEMA)

    assert named.bind('{"name": 1}').error.endswith("a valid string, got 1")
    assert changed.bind('{"city": "Oslo"}').ok
    assert not changed.bind('{"name": "Ada"}').ok


DECLARATION = {
    "identity": {"name": "weather", "provider": "author/plugin/weather"},
    "description": {"llm": "Look up the weather."},
    "parameters": [
        {"name": "city", "type": "string", "form": "llm", "required": True},
        {"name": "api_base", "type": "string", "form": "form"},
    ],
    "runtime_parameters": {"api_base": "https://safe.example"},
}


def said(text):
    return {"type": "text", "message": {"text": text}}


def test_a_declaration_of_dify_is_a_tool():
    def call(city, api_base):
        yield said(f"{city} from ")
        yield said(api_base)

    made = Tool.from_declaration(DECLARATION, call)

    assert (made.name, made.description) == ("weather", "Look up the weather.")
    assert list(made.parameters["properties"]) == ["city"]
    bound = made.bind('{"city": "Oslo"}')
    assert made.invoke(bound.args).content == "Oslo from https://safe.example"
    given = made.bind('{"city": "Oslo", "api_base": "x"}')
    assert (given.args, given.dropped) == (bound.args, ("api_base",))
    assert "safe.example" not in repr(made)


@pytest.mark.parametrize("returned", [[said("a"), said("b")], "ab"])
def test_the_messages_of_a_tool_of_dify_come_in_any_shape(returned):
    made = Tool.from_declaration(DECLARATION, lambda **_: returned, name="other")

    assert (made.name, made.invoke({}).content) == ("other", "ab")


@pytest.mark.parametrize(
    "broken",
    [
        {"identity": {}},
        {"runtime_parameters": ["a"]},
        {"parameters": [{}]},
        {"description": "Look up."},
        {"description": ["Look up."]},
        {"description": {"llm": 5}},
    ],
)
def test_a_declaration_that_cannot_be_read_is_an_error(broken):
    with pytest.raises(DeclarationError):
        Tool.from_declaration(DECLARATION | broken, print)


@pytest.mark.parametrize("description", [None, {}, {"llm": None}, SimpleNamespace(llm=None)])
def test_a_declaration_needs_no_description(description):
    made = Tool.from_declaration(DECLARATION | {"description": description}, print)
    assert made.description == ""


def sum_up(messages):
    return ToolOutput(content=f"{len(messages)} messages", artifact=list(messages))


def test_who_declares_a_tool_may_say_what_the_model_reads_and_what_is_for_others():
    def fail(**_):
        yield "a"
        raise OSError("secret")

    told = Tool.from_declaration(DECLARATION, lambda **_: iter("ab"), reader=sum_up).invoke({})
    failed = Tool.from_declaration(DECLARATION, fail, reader=sum_up).invoke({})

    assert told == ToolOutput(content="2 messages", artifact=["a", "b"])
    assert (failed.content, failed.artifact) == (f"1 messages\n{TOOL_FAILED}", ["a"])


def test_a_repeated_call_with_parts_gets_them_again():
    memory = FailureMemory(identical_successes=1)
    memory.record_success("t", {}, (IMAGE,))

    told, image = memory.recall("t", {})

    assert told["text"].startswith("this call was already made")
    assert image == IMAGE


def text_of(parts):
    return [part.get("text", part) for part in parts]


def test_the_texts_among_parts_share_the_budget_of_one_result():
    parts = tuple({"type": "text", "text": letter * 900} for letter in "abc")

    shortened = ResultBudget(per_result=1_000).fit((*parts, IMAGE))
    fitted = ResultBudget(per_result=1_000).fit((*parts, IMAGE))

    assert shortened == fitted
    assert [text.count(letter) for text, letter in zip(text_of(fitted), "abc", strict=False)] == [
        900,
        100,
        2,  # of the notice
    ]
    assert fitted[3] == IMAGE


def test_an_image_that_is_too_large_is_left_out_and_said_to_be():
    large = {"type": "image", "data": "x" * 5_000}
    budget = ResultBudget(per_run_bytes=3_000)

    fitted = budget.fit((IMAGE, large, IMAGE))

    assert text_of(fitted) == [
        IMAGE,
        "[... a part of type image with 5,029 bytes left out here ...]",
        IMAGE,
    ]


def test_parts_without_end_end_where_the_budget_does():
    fitted = ResultBudget(per_run_bytes=3_000).fit((IMAGE,) * 10_000)

    assert len(json.dumps(fitted)) < 4_000
    assert text_of(fitted)[-1].endswith(" parts left out here ...]")


@pytest.mark.parametrize("name", ["per_result", "per_run", "per_run_bytes"])
def test_a_budget_of_nothing_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        ResultBudget(**{name: 0})
