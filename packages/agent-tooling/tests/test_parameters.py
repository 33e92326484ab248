import copy
from enum import Enum
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import DeclarationError, ToolParameter, merge_parameters


class Kind(Enum):
    SELECT = "select"


class Form(Enum):
    HIDDEN = "form"


def test_a_parameter_is_read_from_a_mapping():
    raw = {
        "name": "unit",
        "type": "select",
        "form": "form",
        "required": True,
        "default": "km",
        "llm_description": "Unit of length",
        "options": [{"value": "km"}, {"value": 5}, {"label": "no value"}, "mi"],
        "min": 1,
        "max": 2.5,
        "label": {"en_US": "Unit"},
    }

    assert ToolParameter.from_raw(raw) == ToolParameter(
        name="unit",
        type="select",
        form="form",
        required=True,
        default="km",
        llm_description="Unit of length",
        options=("km", "5", "mi"),
        minimum=1,
        maximum=2.5,
    )


def test_a_parameter_is_read_from_an_object_with_enums():
    raw = SimpleNamespace(name="unit", type=Kind.SELECT, form=Form.HIDDEN, options=None)

    assert ToolParameter.from_raw(raw) == ToolParameter(name="unit", type="select", form="form")


def test_a_parameter_that_was_read_stays_as_it_is():
    parameter = ToolParameter(name="unit")

    assert ToolParameter.from_raw(parameter) is parameter


@pytest.mark.parametrize("options", [None, "km", {"value": "km"}, 5])
def test_options_that_are_no_list_count_as_none(options):
    assert ToolParameter.from_raw({"name": "unit", "options": options}).options == ()


@pytest.mark.parametrize("bound", [None, True, "1", float("nan"), float("inf")])
def test_a_bound_that_is_no_finite_number_counts_as_none(bound):
    parameter = ToolParameter.from_raw({"name": "n", "min": bound, "max": bound})

    assert (parameter.minimum, parameter.maximum) == (None, None)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "parameter name must be text that is not empty, got NoneType"),
        ({"name": ""}, "parameter name must be text that is not empty, got str"),
        ("q", "parameter name must be text that is not empty, got NoneType"),
        ({"name": "q", "type": 5}, "parameter type must be text, got int"),
        (
            {"name": "q", "form": "model"},
            "parameter form must be 'schema', 'form' or 'llm', got str",
        ),
        (
            {"name": "q", "input_schema": ["x"]},
            "parameter input_schema must be a JSON schema object, got list",
        ),
    ],
)
def test_a_declaration_that_cannot_be_read_is_refused_by_field(raw, message):
    with pytest.raises(DeclarationError, match=f"^{message}$"):
        ToolParameter.from_raw(raw)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "parameter name must be text that is not empty, got str"),
        ({"name": None}, "parameter name must be text that is not empty, got NoneType"),
        ({"type": None}, "parameter type must be text, got NoneType"),
        ({"form": "model"}, "parameter form must be 'schema', 'form' or 'llm', got str"),
        ({"form": ["llm"]}, "parameter form must be text, got list"),
        ({"llm_description": 3}, "parameter llm_description must be text, got int"),
        ({"input_schema": "{}"}, "parameter input_schema must be a JSON schema object, got str"),
        ({"options": "ab"}, "parameter options must be a tuple of texts, got str"),
        ({"options": ("a", 1)}, "parameter option must be text, got int"),
    ],
)
def test_the_constructor_refuses_what_the_factory_does(fields, message):
    with pytest.raises(DeclarationError, match=f"^{message}$"):
        ToolParameter(**{"name": "q", **fields})


def declare(name, text=""):
    return {"name": name, "llm_description": text}


def test_a_runtime_parameter_replaces_the_declared_one_as_a_whole_and_in_place():
    declared = [{**declare("a", "old"), "required": True}, declare("b")]

    assert merge_parameters(declared, [declare("a", "new")]) == [declare("a", "new"), declare("b")]


def test_new_runtime_parameters_are_appended_in_order():
    merged = merge_parameters([declare("a")], [declare("c"), declare("b"), declare("c", "later")])

    assert merged == [declare("a"), declare("c", "later"), declare("b")]


def test_nothing_to_merge_gives_an_empty_list():
    assert merge_parameters(None, None) == []


def test_merging_keeps_the_shape_of_each_parameter():
    parameter = SimpleNamespace(name="a", options=[SimpleNamespace(value="x")])

    [merged] = merge_parameters([parameter], None)
    merged.options[0].value = "changed"

    assert parameter.options[0].value == "x"


PARAMETERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.text(min_size=1, max_size=2), "x": st.lists(st.integers(), max_size=2)}
    ),
    max_size=6,
)


@given(PARAMETERS, PARAMETERS)
def test_merging_changes_neither_side_and_shares_nothing(declared, runtime):
    before = copy.deepcopy((declared, runtime))

    for parameter in merge_parameters(declared, runtime):
        parameter["x"].append("changed")

    assert (declared, runtime) == before


@given(PARAMETERS, PARAMETERS)
def test_merging_gives_every_name_once_and_the_last_word_to_the_runtime(declared, runtime):
    merged = merge_parameters(declared, runtime)
    last = {parameter["name"]: parameter for parameter in [*declared, *runtime]}

    assert {parameter["name"]: parameter for parameter in merged} == last
    assert [parameter["name"] for parameter in merged] == list(last)


def test_what_is_null_in_a_declaration_counts_as_left_out():
    bare = ToolParameter(name="unit")
    nulls = ("type", "form", "required", "default", "llm_description", "input_schema", "options")
    assert ToolParameter.from_raw({"name": "unit", **dict.fromkeys(nulls), "min": None}) == bare
    for options in ([None], [None, {"value": None}], [{}]):
        assert ToolParameter.from_raw({"name": "unit", "options": options}) == bare
    some = ToolParameter.from_raw({"name": "unit", "options": [None, {"value": "km"}, "m"]})
    assert some.options == ("km", "m")


@pytest.mark.parametrize("kind", [[], {}, 5, True])
def test_a_type_that_is_no_text_is_refused_by_its_field(kind):
    with pytest.raises(DeclarationError, match="type"):
        ToolParameter.from_raw({"name": "unit", "type": kind})
