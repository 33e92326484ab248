"""The value of a parameter is what Dify makes of the one in a node, or fails as it does there."""

import pytest

from dify_plugin_packager import DifyPluginError
from dify_plugin_packager.declarations import initialize_parameter


SELECTOR = {"provider": "a/b/c", "model": "m"}


def sent(kind, value=None, **declared):
    """Return what Dify sends for a parameter that is set to the value, or to nothing."""
    return initialize_parameter({"name": "p", "type": kind, **declared}, value)


def same(found, expected):
    return found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("string", ""),
        ("secret-input", ""),
        ("select", ""),
        ("boolean", False),
        ("number", None),
        ("array[tools]", None),
        ("any", None),
    ],
)
def test_what_is_not_set_has_a_value_too(kind, expected):
    assert same(sent(kind), expected)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("string", 7, "7"),
        ("string", True, "True"),
        ("number", "7", 7),
        ("number", "7.5", 7.5),
        ("number", ["7"], None),
        ("boolean", "Yes", True),
        ("boolean", "auto", True),
        ("boolean", "No", False),
        ("boolean", 1, True),
        ("any", {"a": [1]}, {"a": [1]}),
        ("model-selector", SELECTOR, SELECTOR),
    ],
)
def test_values_are_cast_to_the_declared_type(kind, value, expected):
    assert same(sent(kind, value), expected)


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        ("model-selector", None, "'p': The selector must be a dictionary."),
        ("app-selector", "app", "'p': The selector must be a dictionary."),
        ("array[tools]", {"a": 1}, "'p': The tools selector must be a list."),
        ("number", "many", "'p': invalid literal"),
    ],
)
def test_what_dify_cannot_cast_fails_with_its_sentence(kind, value, problem):
    with pytest.raises(DifyPluginError, match=problem):
        sent(kind, value)


@pytest.mark.parametrize("empty", [(), (None,), ("",), ([],), ({},)])
def test_a_default_takes_the_place_of_what_is_empty(empty):
    assert sent("number", *empty, default=3, required=True) == 3


@pytest.mark.parametrize("value", [0, 0.0, False])
def test_zero_and_false_are_values(value):
    assert sent("any", value, default="d", required=True) is value


@pytest.mark.parametrize("default", [{}, {"default": 0}, {"default": ""}])
def test_what_is_required_needs_a_value_or_a_default_that_is_not_empty(default):
    with pytest.raises(DifyPluginError, match="'p': tool parameter p not found in tool config"):
        sent("number", required=True, **default)


@pytest.mark.parametrize("wrong", [("high",), ("",)])
def test_a_selection_is_one_of_its_options(wrong):
    options = [{"value": "low"}, {"value": 2}]
    assert sent("select", "2", options=options) == "2"
    with pytest.raises(DifyPluginError, match="'p': tool parameter p value"):
        sent("select", *wrong, options=options, default="")
