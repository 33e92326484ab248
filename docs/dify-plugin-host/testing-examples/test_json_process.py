"""Tests of tools/json_process of langgenius/dify-official-plugins at 7af22831, a plugin of four tools."""

import json

import pytest

from dify_plugin_host import UnknownNameError


SHOP = json.dumps({"shop": {"books": [{"price": 8}, {"price": 12}], "open": True}})


def test_a_path_that_matches_once_gives_the_value_alone(dify_plugin):
    messages = dify_plugin.tool("parse").invoke(content=SHOP, json_filter="$.shop.books[0].price")
    assert messages.text == "8"


def test_a_path_that_matches_several_times_gives_a_list(dify_plugin):
    messages = dify_plugin.tool("parse").invoke(content=SHOP, json_filter="$.shop.books[*].price")
    assert json.loads(messages.text) == [8, 12]


@pytest.mark.parametrize("way", ["replace", "insert", "delete"])
def test_changes_are_as_they_were(dify_plugin, dify_snapshot, way):
    tools = {
        "delete": ("json_delete", {"query": "$.shop.books[0]"}),
        "insert": (
            "json_insert",
            {"query": "$.shop", "new_value": '{"street": "Main Street"}', "value_decode": True},
        ),
        "replace": (
            "json_replace",
            {
                "query": "$.shop.open",
                "replace_model": "value",
                "replace_pattern": "",
                "replace_value": "no",
            },
        ),
    }
    name, parameters = tools[way]
    assert dify_plugin.tool(name).invoke(content=SHOP, **parameters) == dify_snapshot


def test_text_that_is_no_json_is_answered_with_the_reason(dify_plugin):
    messages = dify_plugin.tool("parse").invoke(content="{", json_filter="$.shop")
    assert messages.text.startswith("Expecting property name enclosed in double quotes")


def test_a_parameter_that_the_tool_does_not_declare_never_reaches_it(dify_plugin):
    with pytest.raises(UnknownNameError, match="named 'filter'; expected one of: content, json_"):
        dify_plugin.tool("parse").invoke(content=SHOP, filter="$.shop")
