import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import ArgumentError, cast_value, missing_hidden_parameters, prepare_arguments


def parameter(name="p", **fields):
    return {"name": name, "type": "string", "form": "llm", "required": False, **fields}


TEXT_TYPES = ["string", "secret-input", "select", "checkbox", "dynamic-select"]


@pytest.mark.parametrize("kind", TEXT_TYPES)
@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), ("", ""), ("x", "x"), (True, "True"), (1.0, "1.0"), ({"a": 1}, "{'a': 1}")],
)
def test_text_types_make_text_of_anything(kind, value, text):
    assert cast_value(parameter(type=kind), value) == text


@pytest.mark.parametrize(
    "value", ["true", "YES", "y", "1", True, 2, [0], "something", "off", " no "]
)
def test_these_values_are_true(value):
    assert cast_value(parameter(type="boolean"), value) is True


@pytest.mark.parametrize("value", ["false", "No", "n", "0", "", None, False, 0.0, [], {}])
def test_these_values_are_false(value):
    assert cast_value(parameter(type="boolean"), value) is False


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        (2.5, 2.5),
        (True, True),
        ("7", 7),
        (" 7 ", 7),
        ("1_000", 1000),
        ("1.", 1.0),
        ("1.5e3", 1500.0),
        ("", ""),
        (None, None),
        ([1], [1]),
    ],
)
def test_numbers_in_text_become_numbers_and_the_rest_stays(value, number):
    assert repr(cast_value(parameter(type="number"), value)) == repr(number)


@pytest.mark.parametrize("text", ["1e5", "nan", "0x10", "1,5", "seven"])
def test_other_text_is_no_number(text):
    with pytest.raises(ArgumentError) as caught:
        cast_value(parameter(type="number"), text)

    assert str(caught.value) == f"invalid literal for int() with base 10: {text!r}"
    assert caught.value.parameter == "p"


@pytest.mark.parametrize("kind", ["files", "system-files"])
@pytest.mark.parametrize(("value", "files"), [([1], [1]), ([], []), ("f", ["f"]), (None, [None])])
def test_files_are_a_list(kind, value, files):
    assert cast_value(parameter(type=kind), value) == files


@pytest.mark.parametrize(("value", "file"), [(["f"], "f"), ("f", "f"), (None, None)])
def test_a_file_may_stand_alone_in_a_list(value, file):
    assert cast_value(parameter(type="file"), value) == file


@pytest.mark.parametrize("value", [[], ["f", "g"]])
def test_a_file_is_exactly_one(value):
    with pytest.raises(ArgumentError, match="only accepts one file but got multiple files"):
        cast_value(parameter(type="file"), value)


@pytest.mark.parametrize("kind", ["model-selector", "app-selector"])
def test_a_selector_is_a_dictionary(kind):
    assert cast_value(parameter(type=kind), {"a": 1}) == {"a": 1}
    with pytest.raises(ArgumentError, match=r"^The selector must be a dictionary\.$"):
        cast_value(parameter(type=kind), "a")


@pytest.mark.parametrize("value", [None, "x", 1, 1.5, True, [1], {"a": 1}])
def test_any_json_value_passes_as_any(value):
    assert cast_value(parameter(type="any"), value) == value


def test_what_json_does_not_know_is_not_any():
    with pytest.raises(ArgumentError, match="must be a string, dictionary, list or number"):
        cast_value(parameter(type="any"), object())


@pytest.mark.parametrize(
    ("value", "array"),
    [
        ([1], [1]),
        ("[1, 2]", [1, 2]),
        ("x", ["x"]),
        ('{"a": 1}', ['{"a": 1}']),
        ("9" * 5000, ["9" * 5000]),
        ("[" * 100_000, ["[" * 100_000]),
        (5, [5]),
        (None, [None]),
    ],
)
def test_an_array_is_a_list_json_text_or_a_single_item(value, array):
    assert cast_value(parameter(type="array"), value) == array


@pytest.mark.parametrize(
    ("value", "mapping"),
    [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), ("x", {}), ("[1]", {}), (None, {}), ([1], {})],
)
def test_an_object_is_a_dictionary_or_json_text_or_else_empty(value, mapping):
    assert cast_value(parameter(type="object"), value) == mapping


@pytest.mark.parametrize("kind", ["select", "dynamic-select"])
@pytest.mark.parametrize(
    ("value", "chosen"),
    [
        (["a", "b"], ["a", "b"]),
        ([1, True, None], ["1", "True", ""]),
        ([], []),
        ('["a", "b"]', ["a", "b"]),
        ("a", ["a"]),
        ("a, b", ["a, b"]),
        (3, ["3"]),
        ("", []),
        (None, []),
    ],
)
def test_several_choices_are_a_list(kind, value, chosen):
    assert cast_value(parameter(type=kind, multiple=True), value) == chosen


@pytest.mark.parametrize("kind", ["string", "number", "hologram"])
def test_only_choices_can_be_several(kind):
    assert cast_value(parameter(type=kind, multiple=True), "7") in {"7", 7}


@pytest.mark.parametrize(
    ("value", "day"), [("2024-02-29", "2024-02-29"), ("", ""), (None, ""), ("0001-01-01",) * 2]
)
def test_a_date_is_a_day_of_the_calendar(value, day):
    assert cast_value(parameter(type="date"), value) == day


@pytest.mark.parametrize(
    "value", ["a", "2024-02-30", "20240229", "2024-W09-4", " 2024-02-29", 2024, [], "٢٠٢٤-٠٢-٢٩"]
)
def test_anything_else_is_no_date(value):
    for kind, wrong in [("date", value), ("date-range", {"end": value}), ("date-range", value)]:
        if not wrong:
            continue
        with pytest.raises(ArgumentError, match=r"^The date must be a day of the calendar"):
            cast_value(parameter(type=kind), wrong)


@pytest.mark.parametrize(
    ("value", "days"),
    [
        (
            {"start": "2024-01-01", "end": "2024-01-01"},
            {"start": "2024-01-01", "end": "2024-01-01"},
        ),
        ('{"start": "2024-01-01", "end": ""}', {"start": "2024-01-01"}),
        ({"end": "2024-01-02", "note": 3}, {"end": "2024-01-02"}),
        ("2024-01-01", {"start": "2024-01-01"}),
        ("{}", {}),
        ({}, {}),
        ("", {}),
        (None, {}),
    ],
)
def test_a_date_range_may_be_open(value, days):
    assert cast_value(parameter(type="date-range"), value) == days


@pytest.mark.parametrize("form", [dict, str])
def test_a_date_range_ends_after_it_starts(form):
    days = {"start": "2024-01-02", "end": "2024-01-01"}
    value = days if form is dict else json.dumps(days)
    with pytest.raises(ArgumentError, match="must not end before it starts"):
        cast_value(parameter(type="date-range"), value)


@pytest.mark.parametrize(("value", "text"), [(5, "5"), (None, ""), ("x", "x"), (True, "True")])
def test_an_unknown_type_is_text(value, text):
    assert cast_value(parameter(type="hologram"), value) == text


def test_an_integer_is_a_number():
    assert cast_value(parameter(type="integer"), "7") == 7


def test_configured_values_give_way_to_the_models_and_defaults_to_both():
    parameters = [parameter(name, default="default") for name in "abc"]

    prepared = prepare_arguments(parameters, {"a": "configured", "b": "configured"}, {"a": "given"})

    assert prepared == {"a": "given", "b": "configured", "c": "default"}


def test_the_model_may_replace_a_hidden_value_here():
    """Contract C22 gives the model this precedence; `bind_arguments` does not."""
    prepared = prepare_arguments([parameter(form="form")], {"p": "configured"}, {"p": "given"})

    assert prepared == {"p": "given"}


def test_values_and_defaults_are_cast():
    parameters = [parameter("n", type="number", default="2"), parameter("f", type="boolean")]

    assert prepare_arguments(parameters, None, {"f": "no"}) == {"n": 2, "f": False}


def test_undeclared_values_follow_the_declared_ones_uncast():
    prepared = prepare_arguments([parameter("b")], {"z": 1}, {"a": None, "b": 2})

    assert list(prepared.items()) == [("b", "2"), ("z", 1), ("a", None)]


def test_a_null_that_is_present_is_cast_and_hides_the_default():
    assert prepare_arguments([parameter(default="d")], {"p": None}, {}) == {"p": ""}


def test_an_optional_parameter_without_a_value_is_left_out():
    assert prepare_arguments([parameter()], None, None) == {}


def test_a_required_parameter_without_a_value_is_refused():
    with pytest.raises(ArgumentError, match="tool parameter p not found in tool config") as caught:
        prepare_arguments([parameter(required=True)], {}, {})

    assert isinstance(caught.value, ValueError)


def test_hidden_parameters_that_nobody_can_supply_are_named_in_order():
    parameters = [
        parameter("z", form="form", required=True),
        parameter("a", form="schema", required=True, type="file"),
        parameter("shown", required=True),
        parameter("optional", form="form"),
        parameter("falsy", form="form", required=True, default=0),
        parameter("given", form="form", required=True),
    ]

    assert missing_hidden_parameters(parameters, {"given": None}) == ["a", "z"]
    assert missing_hidden_parameters(None, None) == []


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=5,
)
KINDS = st.sampled_from(
    [*TEXT_TYPES, "boolean", "number", "array", "object", "files", "any", "date", "date-range"]
)


@given(KINDS, st.booleans(), JSON_VALUES | st.dates().map(str))
def test_casting_twice_is_casting_once(kind, multiple, value):
    declared = parameter(type=kind, multiple=multiple)
    try:
        once = cast_value(declared, value)
    except ArgumentError:
        return

    assert cast_value(declared, once) == once


@pytest.mark.untraced
@given(
    st.dictionaries(st.sampled_from("abc"), JSON_VALUES),
    st.dictionaries(st.sampled_from("abc"), JSON_VALUES),
)
def test_preparing_changes_none_of_its_arguments(runtime, arguments):
    parameters = [parameter("a", type="array", default=[1]), parameter("b", type="object")]
    before = copy.deepcopy((parameters, runtime, arguments))

    prepare_arguments(parameters, runtime, arguments)
    prepare_arguments(parameters, {}, {})["a"].append(2)

    assert (parameters, runtime, arguments) == before
