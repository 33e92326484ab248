import json
from types import MappingProxyType

import pytest

from gpt5_payloads import PayloadError, json_schema_format


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLOSED = SCHEMA | {"additionalProperties": False}


def test_a_named_schema_becomes_the_format():
    actual = json_schema_format({"name": "place", "schema": SCHEMA, "strict": False})

    assert actual == {"type": "json_schema", "name": "place", "schema": SCHEMA, "strict": False}


def test_name_and_strict_have_defaults():
    assert json_schema_format({"schema": SCHEMA}) == {
        "type": "json_schema",
        "name": "structured_output",
        "schema": SCHEMA,
        "strict": False,
    }


@pytest.mark.parametrize(("schema", "strict"), [(SCHEMA, False), (CLOSED, True)])
def test_a_schema_that_says_nothing_is_strict_where_the_api_takes_it_so(schema, strict):
    """What Dify sends: without strict, with optional fields as often as not."""
    assert json_schema_format({"schema": schema, "name": "llm_response"})["strict"] is strict
    assert json_schema_format(json.dumps(schema))["strict"] is strict


@pytest.mark.parametrize("said", [True, "true", 1, False, "0"])
def test_what_the_user_wrote_of_strict_counts(said):
    wanted = said in (True, "true")

    assert json_schema_format({"schema": CLOSED, "strict": said})["strict"] is wanted


@pytest.mark.parametrize(
    "schema",
    [
        SCHEMA,
        {"properties": {"schema": {"type": "object"}}},
        {"type": "array", "items": {"type": "string"}},
        {"type": ["object", "null"]},
        {"$ref": "#/$defs/a", "$defs": {"a": SCHEMA}},
        {"anyOf": [SCHEMA]},
        {"enum": ["a", "b"]},
    ],
)
def test_a_schema_alone_is_named_as_dify_names_it(schema):
    wrapped = {"name": "llm_response", "schema": schema}

    for raw in (schema, json.dumps(schema), {"type": "json_schema", "json_schema": schema}):
        assert json_schema_format(raw) == json_schema_format(wrapped)


@pytest.mark.parametrize("name", [None, "", "  "])
def test_a_blank_name_counts_as_none(name):
    assert json_schema_format({"name": name, "schema": SCHEMA})["name"] == "structured_output"


def test_text_is_read_as_json():
    given = {"name": "place", "schema": SCHEMA, "strict": "false"}

    assert json_schema_format(json.dumps(given)) == json_schema_format(given | {"strict": False})


def test_the_shape_of_chat_completions_is_unwrapped():
    inner = {"name": "place", "schema": SCHEMA, "strict": True}

    assert json_schema_format({"type": "json_schema", "json_schema": inner}) == json_schema_format(
        inner
    )


def test_the_shape_that_is_sent_is_accepted_again():
    once = json_schema_format({"name": "place", "schema": SCHEMA})

    assert json_schema_format(once) == once


def test_a_description_is_kept():
    actual = json_schema_format({"schema": SCHEMA, "description": "Where it is."})

    assert actual["description"] == "Where it is."


def test_any_kind_of_mapping_will_do():
    given = MappingProxyType({"schema": MappingProxyType(SCHEMA)})

    assert json_schema_format(given)["schema"] == SCHEMA


def test_the_schema_is_a_copy():
    given = {"schema": {"type": "object", "properties": {}}}
    json_schema_format(given)["schema"]["properties"]["added"] = {}

    assert given == {"schema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("raw", [None, "", " \n"])
def test_a_missing_schema_is_named(raw):
    with pytest.raises(PayloadError) as caught:
        json_schema_format(raw)

    assert str(caught.value) == "json_schema is required when response_format is json_schema"
    assert caught.value.field == "json_schema"


@pytest.mark.parametrize("raw", ["[]", '"text"', "7", "null", 7, ["schema"]], ids=repr)
def test_what_is_no_object_is_refused(raw):
    with pytest.raises(PayloadError) as caught:
        json_schema_format(raw)

    assert str(caught.value) == "json_schema must be a JSON object"
    assert caught.value.field == "json_schema"


@pytest.mark.parametrize(
    "raw",
    [
        *({}, {"schema": None}, {"schema": "{}"}, {"schema": []}, {"schema": None} | SCHEMA),
        *({"name": "place", "strict": True}, {"type": "json_schema"}, {"type": ["place", 1]}),
    ],
    ids=repr,
)
def test_what_is_no_schema_lacks_the_schema_field(raw):
    with pytest.raises(PayloadError) as caught:
        json_schema_format(raw)

    assert str(caught.value) == "json_schema must include an object field named 'schema'"
    assert caught.value.field == "json_schema"


@pytest.mark.parametrize("raw", ["{", "{'schema': {}}", '{"schema": {}} trailing'])
def test_broken_json_is_located_and_not_quoted(raw):
    with pytest.raises(
        PayloadError, match=r"^json_schema must be valid JSON: .* at line 1 column"
    ) as caught:
        json_schema_format(raw)

    assert "trailing" not in str(caught.value)
    assert caught.value.field == "json_schema"


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_lacks_are_refused(constant):
    with pytest.raises(PayloadError, match=f"must be valid JSON: {constant} is not JSON$"):
        json_schema_format(f'{{"schema": {{"maximum": {constant}}}}}')


def test_absurd_nesting_is_refused():
    with pytest.raises(PayloadError, match="expected at most 200 levels of nesting"):
        json_schema_format("[" * 500_000)


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}, b"bytes"])
def test_values_that_json_lacks_are_refused(value):
    with pytest.raises(PayloadError, match="only JSON values") as caught:
        json_schema_format({"schema": {"default": value}})

    assert caught.value.field == "json_schema.schema"


@pytest.mark.parametrize("name", ["two words", "x" * 65, "näme", 7])
def test_a_name_that_the_api_refuses_is_refused(name):
    with pytest.raises(PayloadError, match="1 to 64 letters") as caught:
        json_schema_format({"name": name, "schema": SCHEMA})

    assert caught.value.field == "json_schema.name"


@pytest.mark.parametrize("strict", [None, "yes", 2, ""])
def test_strict_is_read_strictly(strict):
    with pytest.raises(PayloadError) as caught:
        json_schema_format({"schema": SCHEMA, "strict": strict})

    assert str(caught.value) == "json_schema.strict must be a boolean-like value"
    assert caught.value.field == "json_schema.strict"
