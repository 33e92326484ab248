import copy
import json
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_tooling import (
    AcceptedArguments,
    DeclarationError,
    RefusedArguments,
    bind_arguments,
    dropped_arguments_text,
    llm_json_schema,
    option_violation,
    parse_tool_arguments,
)
from counting import is_linear, not_for_ever


PREFIX = "tool arguments validation error: "
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=10,
)


def parameter(name="p", **fields):
    return {"name": name, "type": "string", "form": "llm", "required": False, **fields}


def bound(parameters, arguments, runtime_parameters=None):
    result = bind_arguments("search", parameters, arguments, runtime_parameters)
    assert result.ok, result.error
    return result.args


def refused(parameters, arguments, runtime_parameters=None):
    result = bind_arguments("search", parameters, arguments, runtime_parameters)
    assert (result.ok, result.args) == (False, {})
    assert result.error.startswith(PREFIX)
    return result.error.removeprefix(PREFIX)


def test_empty_text_stands_for_no_arguments():
    assert parse_tool_arguments("") == AcceptedArguments(args={})


def test_a_json_object_is_parsed():
    assert parse_tool_arguments(' {"q": "é", "n": [1, 2.5]} ') == AcceptedArguments(
        args={"q": "é", "n": [1, 2.5]}
    )


@pytest.mark.parametrize("value", [None, {}, {"q": 1}, b"{}", 0, ["{}"]])
def test_what_is_no_text_is_refused(value):
    assert parse_tool_arguments(value) == RefusedArguments(
        error="tool arguments must be a JSON object string"
    )


@pytest.mark.parametrize(
    "text",
    [
        " ",
        "{",
        '{"a": 1} x',
        '{"a": NaN}',
        '{"a": -Infinity}',
        "[" * 100_000,
        '{"a": "half of an emoji: \\ud83d"}',
        '{"\\ude00": 1}',
    ],
)
def test_what_is_no_valid_json_is_refused(text):
    assert parse_tool_arguments(text).error == "tool arguments must be valid JSON object"


@pytest.mark.parametrize("text", ["[1, 2]", "null", '"{}"', "3", "true"])
def test_json_that_is_no_object_is_refused(text):
    assert parse_tool_arguments(text).error == "tool arguments must be a JSON object"


def test_nesting_of_a_hundred_levels_is_accepted():
    assert parse_tool_arguments('{"a":' * 100 + "1" + "}" * 100).ok


@given(st.text() | st.binary() | JSON_VALUES | JSON_VALUES.map(json.dumps))
def test_parsing_never_raises_and_says_why_it_refused(value):
    result = parse_tool_arguments(value)

    assert bool(result) is result.ok is (result.error is None)
    assert result.ok or result.args == {}


@pytest.mark.untraced
@given(
    st.dictionaries(
        st.text(), st.integers(-(10**19) + 1, 10**19 - 1) | st.text() | st.lists(st.booleans())
    )
)
def test_every_json_object_comes_back_as_it_was(arguments):
    assert parse_tool_arguments(json.dumps(arguments)).args == arguments


def test_arguments_for_a_tool_without_parameters_are_refused():
    assert refused([], {"x": 1}) == "schema is required for tool 'search'"
    assert refused(None, {"x": 1}) == "schema is required for tool 'search'"


def test_a_tool_without_parameters_runs_with_what_was_configured():
    assert bound([], {}, {"site": "docs"}) == {"site": "docs"}


def test_unknown_names_are_refused_and_listed_in_order():
    assert refused([parameter()], {"z": 1, "p": "x", "a": 2}) == "unknown parameters ['a', 'z']"


@pytest.mark.parametrize("form", ["form", "schema"])
def test_a_hidden_parameter_is_out_of_the_model_s_reach(form):
    """Defect C6: an injected prompt could change a setting that the model never saw."""
    hidden = parameter("api_base", form=form)

    assert bound([hidden], {"api_base": "evil"}) == {}
    assert bound([{**hidden, "default": "own"}], {"api_base": "evil"}) == {"api_base": "own"}
    assert bound([hidden], {}, {"api_base": "ours"}) == {"api_base": "ours"}
    required = {**hidden, "required": True}
    assert refused([required], {"api_base": "evil"}) == "missing required parameter 'api_base'"


@pytest.mark.parametrize(
    ("configured", "zone"),
    [({"zone": "UTC"}, {"zone": "UTC"}), ({}, {}), ({"zone": None}, {})],
)
def test_an_argument_for_what_the_form_sets_is_dropped_and_named(configured, zone):
    hidden = parameter("zone", form="form")
    written = {"zone": "evil", "q": "x"}
    made = bind_arguments("search", [hidden, parameter("q")], written, configured)

    assert (made.args, made.dropped) == (zone | {"q": "x"}, ("zone",))
    assert dropped_arguments_text(made.dropped) == (
        "note: not used, because the app has set it already: zone\n"
    )
    null = bind_arguments("search", [hidden], {"zone": None}, {"zone": "UTC"})
    assert (null.args, null.dropped) == ({"zone": "UTC"}, ())
    assert refused([hidden, parameter("q")], written | {"z": 1}, {"zone": "UTC"}) == (
        "unknown parameters ['z']"
    )


@pytest.mark.parametrize("kind", ["file", "files", "system-files"])
def test_a_file_parameter_is_unknown_to_the_model(kind):
    assert refused([parameter(type=kind)], {"p": "x"}) == "unknown parameters ['p']"


@pytest.mark.parametrize("form", ["llm", "form", "schema"])
def test_a_missing_required_parameter_is_refused(form):
    assert refused([parameter(required=True, form=form)], {}) == "missing required parameter 'p'"


@pytest.mark.parametrize("form", ["llm", "form"])
def test_a_default_stands_in_for_a_required_parameter(form):
    """Defect 18: a required form parameter with a default was refused."""
    assert bound([parameter(required=True, form=form, default="d")], {}) == {"p": "d"}


def test_falsy_defaults_count():
    parameters = [
        parameter("text", default="", required=True),
        parameter("number", type="number", default=0, required=True),
        parameter("flag", type="boolean", default=False, required=True),
    ]

    assert bound(parameters, {}) == {"text": "", "number": 0, "flag": False}


def test_a_boolean_default_that_the_sdk_made_a_number_is_a_boolean_again():
    """Defect 27: YAML booleans arrive as 0 or 1."""
    assert bound([parameter(type="boolean", default=1)], {})["p"] is True
    assert bound([parameter(type="number", default=1)], {})["p"] == 1


def test_a_null_counts_as_not_given():
    parameters = [parameter("a"), parameter("b", default="d"), parameter("c", form="form")]

    assert bound(parameters, {"a": None, "b": None}, {"c": None}) == {"b": "d"}
    assert refused([parameter(required=True)], {"p": None}) == "missing required parameter 'p'"


def test_a_null_from_the_model_does_not_erase_a_configured_value():
    assert bound([parameter()], {"p": None}, {"p": "configured"}) == {"p": "configured"}


def test_the_model_may_replace_a_configured_value_that_it_is_shown():
    assert bound([parameter()], {"p": "given"}, {"p": "configured"}) == {"p": "given"}


def test_missing_values_are_reported_before_wrong_types():
    parameters = [parameter("a", type="number"), parameter("b", required=True)]

    assert refused(parameters, {"a": "x"}) == "missing required parameter 'b'"


@pytest.mark.parametrize(
    ("kind", "value", "accepted"),
    [
        ("string", "x", "x"),
        ("string", "", ""),
        ("string", 5, "5"),
        ("string", 2.0, "2"),
        ("secret-input", True, "true"),
        ("some-new-type", 1.5, "1.5"),
        ("number", 3, 3),
        ("number", 2.5, 2.5),
        ("number", " -7 ", -7),
        ("number", "1.5e3", 1500.0),
        ("number", ".5", 0.5),
        ("integer", 3, 3),
        ("integer", 3.0, 3),
        ("integer", "4", 4),
        ("boolean", False, False),
        ("boolean", " TRUE ", True),
        ("boolean", "false", False),
        ("array", [], []),
        ("object", {"a": 1}, {"a": 1}),
        ("model-selector", {"model": "m"}, {"model": "m"}),
        ("app-selector", {}, {}),
        ("date-range", {"start": "a", "end": "b"}, {"start": "a", "end": "b"}),
        ("any", [1, {"a": None}], [1, {"a": None}]),
        ("any", 0, 0),
    ],
)
def test_a_fitting_value_is_accepted(kind, value, accepted):
    assert repr(bound([parameter(type=kind)], {"p": value})) == repr({"p": accepted})


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        ("string", ["x"], "string"),
        ("string", {"q": "x"}, "string"),
        ("select", ["a"], "string"),
        ("number", True, "number"),
        ("number", "seven", "number"),
        ("number", "1_000", "number"),
        ("number", "nan", "number"),
        ("number", "1e999", "number"),
        ("number", "\N{FULLWIDTH DIGIT NINE}", "number"),
        ("number", "9" * 5000, "number"),
        ("number", "", "number"),
        ("number", [1], "number"),
        ("integer", 2.5, "integer"),
        ("integer", "3.5", "integer"),
        ("boolean", 1, "boolean"),
        ("boolean", "yes", "boolean"),
        ("boolean", "", "boolean"),
        ("array", "[1]", "array"),
        ("array", {"a": 1}, "array"),
        ("object", "{}", "object"),
        ("object", [1], "object"),
        ("model-selector", "m", "object"),
    ],
)
def test_a_value_of_another_type_is_refused(kind, value, wanted):
    assert refused([parameter(type=kind)], {"p": value}) == f"parameter 'p' requires {wanted}"


@pytest.mark.parametrize(
    ("kind", "options", "value", "accepted"),
    [
        ("select", ["a", "b"], "b", "b"),
        ("select", ["true", "false"], True, "true"),
        ("select", ["1", "2"], 1, "1"),
        ("select", ["1", "2"], 1.0, "1"),
        ("number", ["1", "2"], "1.0", 1.0),
        ("number", [1, 2], 2, 2),
        ("string", [], "anything", "anything"),
    ],
)
def test_an_option_is_accepted(kind, options, value, accepted):
    declared = parameter(type=kind, options=[{"value": option} for option in options])

    assert bound([declared], {"p": value}) == {"p": accepted}


@pytest.mark.parametrize(
    ("kind", "value"), [("select", "c"), ("select", 3), ("string", "A"), ("number", 3)]
)
def test_a_value_outside_the_options_is_refused(kind, value):
    declared = parameter(type=kind, options=[{"value": "a"}, {"value": "1"}])

    assert refused([declared], {"p": value}) == (
        f"parameter 'p' value {value!r} not in options ['a', '1']"
    )


def test_a_multiple_select_takes_a_list_of_options():
    declared = parameter(type="select", multiple=True, options=["a", "1"])

    assert bound([declared], {"p": ["a", 1]}) == {"p": ["a", "1"]}
    assert refused([declared], {"p": ["a", "z"]}) == (
        "parameter 'p' value 'z' not in options ['a', '1']"
    )
    assert refused([declared], {"p": "a"}) == "parameter 'p' requires array"


def test_parameters_may_be_objects():
    declared = SimpleNamespace(
        name="unit", type="select", form="llm", options=[SimpleNamespace(value="km")]
    )

    assert bound([declared], {"unit": "km"}) == {"unit": "km"}
    assert (
        refused([declared], {"unit": "mi"}) == "parameter 'unit' value 'mi' not in options ['km']"
    )


def test_binding_changes_none_of_its_arguments():
    parameters = [parameter("a", type="number"), parameter("b", type="object", default={"x": []})]
    arguments = {"a": "1"}
    runtime = {"c": [1]}
    before = copy.deepcopy((parameters, arguments, runtime))

    args = bound(parameters, arguments, runtime)
    args["b"]["x"].append(1)

    assert (parameters, arguments, runtime) == before


NAMES = st.sampled_from(["a", "b", "c", "d"])
TYPES = st.sampled_from(["string", "number", "boolean", "select", "array", "object", "any", "file"])
PARAMETERS = st.lists(
    st.builds(
        parameter,
        NAMES,
        type=TYPES,
        form=st.sampled_from(["llm", "form", "schema"]),
        required=st.booleans(),
    ),
    unique_by=lambda declared: declared["name"],
)
ARGUMENTS = st.dictionaries(NAMES, JSON_VALUES)


@pytest.mark.untraced
@given(PARAMETERS, ARGUMENTS, ARGUMENTS)
def test_the_model_reaches_only_what_its_schema_shows(parameters, arguments, runtime):
    result = bind_arguments("t", parameters, arguments, runtime)
    shown = llm_json_schema(parameters)["properties"].keys()

    if result.ok:
        given = {name for name, value in arguments.items() if value is not None}
        assert given - set(result.dropped) <= shown
        assert not shown & set(result.dropped)
        for name in result.args.keys() - shown:
            assert result.args[name] is runtime[name]


@pytest.mark.untraced
@given(PARAMETERS, ARGUMENTS, ARGUMENTS)
@example([parameter("a", type="string")], {"a": None}, {"a": []})  # a null is no argument
def test_bound_arguments_bind_to_themselves(parameters, arguments, runtime):
    """What was accepted once is accepted again, unchanged: the accepted form is the normal form."""
    first = bind_arguments("t", parameters, arguments, runtime)
    if first.ok:
        given_again = {
            name: first.args[name]
            for name, value in arguments.items()
            if value is not None and name not in first.dropped
        }
        second = bind_arguments("t", parameters, given_again, runtime)

        assert repr(sorted(second.args.items())) == repr(sorted(first.args.items()))


@pytest.mark.parametrize(
    ("args", "violation"),
    [
        ({}, None),
        ({"p": None}, None),
        ({"p": "a"}, None),
        ({"other": "z"}, None),
        ({"p": "z"}, f"{PREFIX}parameter 'p' value 'z' not in options ['a', 'true']"),
        ({"p": True}, None),
    ],
)
def test_an_option_violation_is_one_sentence(args, violation):
    declared = parameter(type="select", options=[{"value": "a"}, {"value": "true"}])

    assert option_violation([declared], args) == violation


def test_a_declaration_without_a_name_is_refused():
    with pytest.raises(DeclarationError) as caught:
        bind_arguments("t", [{"type": "string"}], {})

    assert caught.value.field == "parameter name"


@pytest.mark.parametrize("depth", [101, 1_500, 200_000])
@pytest.mark.parametrize("cell", ["[", '{"x": ', '{"": '])
def test_arguments_that_nest_too_deep_are_refused_by_the_name_of_their_parameter(depth, cell):
    text = f'{{"city": "a \\"[[[", "n": [1, {{}}], "where \\"it\\" is": {cell * depth}'
    refused = parse_tool_arguments(text)
    assert refused.error == "parameter 'where \\\"it\\\" is' nests over 100 levels deep"


@pytest.mark.parametrize("number", ["1" * 30, "-" + "9" * 20, "1" * 10_000])
@pytest.mark.parametrize("before", ["", "[0, ", '{"a": '])
def test_a_number_that_no_tool_can_take_is_refused_by_the_name_of_its_parameter(number, before):
    after = {"": "", "[0, ": "]", '{"a": ': "}"}[before]
    refused = parse_tool_arguments(f'{{"id": "{"1" * 30}", "count": {before}{number}{after}}}')
    assert refused.error == "parameter 'count' has a whole number of over 19 digits"


@pytest.mark.parametrize("number", ["1e999", "-1.5E+400", "1" * 400 + ".0"])
def test_a_number_that_is_too_large_is_refused_by_the_name_of_its_parameter(number):
    refused = parse_tool_arguments(f'{{"": [{number}]}}')
    assert refused.error == "parameter '' has a number that is too large"


@pytest.mark.parametrize(
    "number", ["9223372036854775807", "-1" + "0" * 18, "0." + "1" * 30, "1" * 30 + ".5", "1E+30"]
)
def test_numbers_that_a_tool_can_take_pass(number):
    assert parse_tool_arguments(f'{{"count": {number}}}').ok


def test_a_number_with_too_many_digits_is_refused_as_text_too():
    refused = bind_arguments("t", [{"name": "n", "type": "number"}], {"n": "1" * 30})
    assert refused.error == "tool arguments validation error: parameter 'n' requires number"


@pytest.mark.untraced
@pytest.mark.parametrize("piece", ['\\"', '"\\', "[[", "1", '"', "-1,"])
def test_broken_arguments_of_any_kind_are_refused_at_a_cost_that_grows_with_them(piece):
    def parse(size):
        assert not parse_tool_arguments('{"a": ' + piece * size).ok

    assert is_linear(parse, 1_000)
    with not_for_ever():
        parse(100_000)
