import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import llm_json_schema


def parameter(name="p", **fields):
    return {"name": name, "type": "string", "form": "llm", "required": False, **fields}


def property_schema(**fields):
    portable = fields.pop("portable", False)
    return llm_json_schema([parameter(**fields)], portable=portable)["properties"]["p"]


@pytest.mark.parametrize("parameters", [None, [], [parameter(form="form")]])
def test_a_tool_with_nothing_for_the_model_has_an_empty_object_schema(parameters):
    assert llm_json_schema(parameters) == {"type": "object", "properties": {}, "required": []}


@pytest.mark.parametrize("kind", ["file", "files", "system-files"])
def test_files_are_neither_shown_nor_required(kind):
    schema = llm_json_schema([parameter(type=kind, required=True)])

    assert (schema["properties"], schema["required"]) == ({}, [])


def test_required_parameters_are_listed_in_the_order_of_their_declaration():
    parameters = [parameter("z", required=True), parameter("a"), parameter("b", required=True)]

    schema = llm_json_schema(parameters)

    assert schema["required"] == ["z", "b"]
    assert list(schema["properties"]) == ["z", "a", "b"]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("string", "string"),
        ("number", "number"),
        ("boolean", "boolean"),
        ("select", "string"),
        ("secret-input", "string"),
        ("checkbox", "string"),
        ("date", "string"),
        ("hologram", "string"),
        ("array", "array"),
        ("object", "object"),
        ("any", "any"),
        ("dynamic-select", "dynamic-select"),
        ("model-selector", "model-selector"),
    ],
)
def test_a_type_is_shown_as_difys_normal_type(kind, shown):
    assert property_schema(type=kind, llm_description="What") == {
        "type": shown,
        "description": "What",
    }


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("any", {}),
        ("dynamic-select", {"type": "string"}),
        ("model-selector", {"type": "object"}),
        ("app-selector", {"type": "object"}),
        ("array", {"type": "array", "items": {}}),
        ("number", {"type": "number"}),
        ("integer", {"type": "integer"}),
        ("boolean", {"type": "boolean"}),
        ("object", {"type": "object"}),
        ("string", {"type": "string"}),
        ("secret-input", {"type": "string"}),
        ("a type of tomorrow", {"type": "string"}),
    ],
)
def test_a_portable_schema_holds_only_json_schema_types(kind, shown):
    assert property_schema(type=kind, portable=True) == {**shown, "description": ""}


def test_a_date_range_is_an_object_with_two_ends():
    assert property_schema(type="date-range")["properties"].keys() == {"start", "end"}


def test_options_become_an_enum():
    schema = property_schema(type="select", options=[{"value": "a"}, {"value": 2}])

    assert schema["enum"] == ["a", "2"]


def test_a_multiple_select_is_a_list_of_its_options():
    schema = property_schema(type="select", multiple=True, options=[{"value": "a"}])

    assert schema == {
        "type": "array",
        "description": "",
        "items": {"type": "string", "enum": ["a"]},
    }


def test_several_of_the_options_that_a_plugin_fetches_are_a_list():
    schema = property_schema(type="dynamic-select", multiple=True, default=["a"])

    assert schema == {
        "type": "array",
        "description": "",
        "items": {"type": "string"},
        "default": ["a"],
    }


def test_only_choices_can_be_several():
    assert property_schema(type="string", multiple=True)["type"] == "string"


def test_bounds_and_default_are_shown():
    schema = property_schema(type="number", min=0, max=10, default=5, llm_description="How many")

    assert json.dumps(schema) == json.dumps(
        {"type": "number", "description": "How many", "minimum": 0, "maximum": 10, "default": 5}
    )


def test_an_input_schema_is_taken_over_with_its_own_description():
    given_schema = {"type": "array", "items": {"type": "integer"}, "description": "Its own"}

    assert property_schema(input_schema=given_schema, llm_description="Ours") == given_schema


def test_an_input_schema_without_description_gets_the_parameters():
    assert property_schema(input_schema={}, llm_description="Ours") == {"description": "Ours"}


def test_options_are_laid_over_an_input_schema():
    schema = property_schema(type="select", input_schema={"type": "string"}, options=["a"])

    assert schema["enum"] == ["a"]


def test_the_schema_shares_nothing_with_the_declaration():
    declared = [
        parameter("a", input_schema={"properties": {"x": {}}}),
        parameter("b", type="array", default=[1]),
    ]

    schema = llm_json_schema(declared, portable=True)
    schema["properties"]["a"]["properties"]["x"]["changed"] = True
    schema["properties"]["b"]["default"].append(2)
    schema["properties"]["b"]["items"]["changed"] = True

    assert declared[0]["input_schema"] == {"properties": {"x": {}}}
    assert declared[1]["default"] == [1]
    assert llm_json_schema(declared, portable=True)["properties"]["b"]["items"] == {}


PARAMETERS = st.lists(
    st.builds(
        parameter,
        st.text(min_size=1, max_size=10),
        type=st.sampled_from(["string", "select", "array", "any", "file"]),
        form=st.sampled_from(["llm", "form"]),
        required=st.booleans(),
        options=st.lists(st.text(max_size=5), max_size=3),
    ),
    max_size=6,
)


@given(PARAMETERS, st.booleans())
def test_the_same_parameters_give_the_same_bytes_and_require_only_what_is_shown(
    parameters, portable
):
    schema = llm_json_schema(parameters, portable=portable)

    assert json.dumps(schema) == json.dumps(llm_json_schema(parameters, portable=portable))
    assert set(schema["required"]) <= schema["properties"].keys()
