from types import SimpleNamespace

import pytest

from agent_tooling import DeclarationError, unique_tool_names


def tool(provider, name):
    return {"identity": {"provider": provider, "name": name}}


def test_declared_tools_get_names_that_are_valid_and_unique():
    tools = [tool("x/google/google", "search"), tool("bing", "search"), tool("clock", "tick")]

    assert unique_tool_names(tools) == ("google_search", "bing_search", "tick")


def test_tools_may_be_objects():
    tools = [SimpleNamespace(identity=SimpleNamespace(name="search", provider=None))]

    assert unique_tool_names(tools) == ("search",)


@pytest.mark.parametrize("broken", [{}, {"identity": {}}, tool("p", ""), tool("p", 5), None])
def test_a_tool_without_a_name_is_refused(broken):
    with pytest.raises(DeclarationError, match=r"tool identity\.name must be text"):
        unique_tool_names([broken])
