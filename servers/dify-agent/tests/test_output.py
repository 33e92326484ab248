import pytest
from pydantic import ValidationError
from pydantic_ai import Agent, ModelRetry, UserError
from pydantic_ai.models.test import TestModel

from dify_agent.layers.output import OutputLayer, OutputLayerConfig


SCHEMA = {
    "type": "object",
    "properties": {"age": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["age"],
}


def a_layer(**schema: object) -> OutputLayer:
    return OutputLayer.from_config(
        OutputLayerConfig.model_validate({"json_schema": SCHEMA | schema})
    )


def test_an_answer_that_fits_passes():
    assert a_layer().validate_output({"age": 3}) == {"age": 3}


def test_an_answer_that_does_not_fit_goes_back_with_what_is_wrong():
    with pytest.raises(ModelRetry) as caught:
        a_layer().validate_output({"name": 1})
    assert str(caught.value) == (
        "$: 'age' is a required property\n$.name: 1 is not of type 'string'"
    )


def test_only_the_first_ten_problems_go_back():
    layer = a_layer(additionalProperties={"type": "string"})
    with pytest.raises(ModelRetry) as caught:
        layer.validate_output({"age": 1} | {f"x{n}": n for n in range(20)})
    assert len(str(caught.value).splitlines()) == 10


def test_a_pattern_of_a_caller_keeps_no_server_busy():
    layer = a_layer(properties={"age": {"type": "integer"}, "name": {"pattern": "^(a+)+$"}})
    assert layer.validate_output({"age": 3, "name": "a" * 40}) == {"age": 3, "name": "a" * 40}
    with pytest.raises(ModelRetry, match=r"\$.name: 'a+!' does not match"):
        layer.validate_output({"age": 3, "name": "a" * 40 + "!"})


def test_references_of_a_caller_that_multiply_keep_no_server_busy():
    levels = {f"L{n}": {"anyOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 2} for n in range(40)}
    layer = a_layer(
        properties={"age": {"$ref": "#/$defs/L0"}},
        **{"$defs": {**levels, "L40": {"type": "string"}}},
    )
    with pytest.raises(ModelRetry, match="could not be checked"):
        layer.validate_output({"age": 3})


def test_a_schema_may_refer_to_its_own_parts():
    layer = a_layer(
        properties={"age": {"$ref": "#/$defs/age"}, "$ref": {"type": "string"}},
        **{"$defs": {"age": {"allOf": [{"type": "integer"}]}}},
    )
    assert layer.validate_output({"age": 3, "$ref": "x"}) == {"age": 3, "$ref": "x"}


def test_asking_for_an_answer_leaves_the_configuration_as_it_is():
    config = OutputLayerConfig.model_validate(
        {
            "json_schema": SCHEMA
            | {
                "properties": {"age": {"$ref": "#/$defs/age"}},
                "$defs": {"age": {"type": "integer"}},
            },
            "name": "person",
            "description": "Whom it is about",
        }
    )
    before = config.model_copy(deep=True)
    assert Agent(TestModel(), output_type=OutputLayer.from_config(config).output_type)
    assert config == before


def test_a_schema_that_leads_to_itself_cannot_be_asked_for():
    layer = a_layer(
        properties={"parent": {"$ref": "#/$defs/person"}},
        **{
            "$defs": {
                "person": {"type": "object", "properties": {"parent": {"$ref": "#/$defs/person"}}}
            }
        },
    )
    with pytest.raises(UserError, match="recursive"):
        _ = layer.output_type


def test_the_draft_is_the_one_that_the_schema_names():
    draft_4 = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"age": {"type": "integer", "minimum": 3, "exclusiveMinimum": True}},
    }
    with pytest.raises(ModelRetry, match="3 is less than or equal to the minimum of 3"):
        a_layer(**draft_4).validate_output({"age": 3})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, "expected a JSON Schema of type 'object'"),
        ({"type": "string"}, "expected a JSON Schema of type 'object'"),
        ({"type": "object", "$schema": 7}, r"expected \$schema to be the address of a draft"),
        (
            {"type": "object", "required": "age"},
            "required of the JSON Schema must be a valid JSON schema, got 'age' is not of type",
        ),
        (
            {"type": "object", "properties": {"a": {"pattern": "(?=a)"}}},
            r"pattern '\(\?=a\)' of the JSON Schema must be a regular expression without look-around",
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "https://example.org/a.json"}}},
            r"\$ref of the JSON Schema must be a place in the schema, got 'https://example.org/a.json'",
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}},
            r"\$ref of the JSON Schema must be a place in the schema, got '#/\$defs/a'",
        ),
    ],
)
def test_what_is_no_usable_schema_is_refused(schema, message):
    with pytest.raises(ValidationError, match=message):
        OutputLayerConfig(json_schema=schema)
