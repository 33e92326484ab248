"""The parameters of a strategy are what Dify makes of an Agent node's form, unset ones too, or fail as they do there."""

import pytest

from dify_plugin_host import PluginHostError, initialize_parameters


def sent(kind, *value, **declared):
    """Return what a strategy gets for a parameter that is set to the value, or to nothing."""
    declaration = {"name": "p", "type": kind, **declared}
    return initialize_parameters([declaration], {"p": value[0]} if value else {})["p"]


def same(found, expected):
    return found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("string", ""),
        ("number", None),
        ("file", None),
        ("files", [None]),
    ],
)
def test_what_is_not_set_has_a_value_too(kind, expected):
    assert same(sent(kind), expected)


def test_a_name_that_is_not_declared_is_null():
    assert initialize_parameters([], {"other": 1}) == {"other": None}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("string", 7, "7"),
        ("boolean", "Yes", True),
        ("file", [{"url": "u"}], {"url": "u"}),
    ],
)
def test_values_are_cast_to_the_declared_type(kind, value, expected):
    assert same(sent(kind, value), expected)


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    [
        ("number", ("many",), "'p': invalid literal"),
        ("file", ([{}, {}],), "only accepts one file"),
    ],
)
def test_what_dify_cannot_cast_fails_with_its_sentence(kind, value, problem):
    with pytest.raises(PluginHostError, match=problem):
        sent(kind, *value)
