"""Builders of tools beside functions, and requests in which both stand."""

import json
from types import SimpleNamespace

import pytest

from gpt5_payloads import (
    PayloadError,
    build_request,
    code_interpreter_tool,
    custom_tool,
    file_search_tool,
    function_tool,
    image_generation_tool,
    mcp_tool,
    namespace_tool,
    read_hosted_tool,
    tool_search_tool,
    web_search_tool,
)


CLOCK = {"name": "clock", "description": "Tell the time."}
GRAMMAR = {"type": "grammar", "syntax": "regex", "definition": "[0-9]+"}


@pytest.mark.parametrize(
    ("built", "wire"),
    [
        (web_search_tool(), {"type": "web_search"}),
        (
            web_search_tool(
                context_size="low",
                allowed_domains=["a.org"],
                user_location={"country": "JP"},
                external_web_access=False,
            ),
            {
                "type": "web_search",
                "search_context_size": "low",
                "filters": {"allowed_domains": ["a.org"]},
                "user_location": {"type": "approximate", "country": "JP"},
                "external_web_access": False,
            },
        ),
        (
            file_search_tool(["vs_1"], max_results=8, filters={"type": "eq", "key": "k"}),
            {
                "type": "file_search",
                "vector_store_ids": ["vs_1"],
                "max_num_results": 8,
                "filters": {"type": "eq", "key": "k"},
            },
        ),
        (
            code_interpreter_tool(memory_limit="4g", file_ids=["file-1"]),
            {
                "type": "code_interpreter",
                "container": {"type": "auto", "memory_limit": "4g", "file_ids": ["file-1"]},
            },
        ),
        (
            code_interpreter_tool(container_id="cntr_1"),
            {"type": "code_interpreter", "container": "cntr_1"},
        ),
        (
            image_generation_tool(output_format="webp", output_compression=0, partial_images=0),
            {
                "type": "image_generation",
                "output_format": "webp",
                "output_compression": 0,
                "partial_images": 0,
            },
        ),
        (
            mcp_tool("gh", url="https://mcp.example.org", authorization="t"),
            {
                "type": "mcp",
                "server_label": "gh",
                "server_url": "https://mcp.example.org",
                "authorization": "t",
            },
        ),
        (
            mcp_tool(
                "mail",
                connector_id="connector_gmail",
                allowed_tools={"read_only": True},
                require_approval="never",
            ),
            {
                "type": "mcp",
                "server_label": "mail",
                "connector_id": "connector_gmail",
                "allowed_tools": {"read_only": True},
                "require_approval": "never",
            },
        ),
        (custom_tool("sql"), {"type": "custom", "name": "sql"}),
        (
            custom_tool("number", "A number.", grammar="[0-9]+", syntax="regex"),
            {"type": "custom", "name": "number", "description": "A number.", "format": GRAMMAR},
        ),
        (tool_search_tool(), {"type": "tool_search"}),
        (
            tool_search_tool(description="Find tools.", parameters={"type": "object"}),
            {
                "type": "tool_search",
                "execution": "client",
                "description": "Find tools.",
                "parameters": {"type": "object"},
            },
        ),
        (
            namespace_tool("crm", "Customers.", [CLOCK, custom_tool("sql")]),
            {
                "type": "namespace",
                "name": "crm",
                "description": "Customers.",
                "tools": [function_tool(CLOCK), {"type": "custom", "name": "sql"}],
            },
        ),
    ],
)
def test_a_builder_makes_the_object_of_the_api_and_leaves_out_what_was_not_said(built, wire):
    assert json.dumps(built) == json.dumps(wire)


@pytest.mark.parametrize(
    ("build", "positional", "named", "field"),
    [
        (web_search_tool, (), {"blocked_domains": ["a.org"] * 101}, "web_search_domains"),
        (file_search_tool, ([],), {}, "file_search_stores"),
        (mcp_tool, (" ",), {"url": "https://a.org"}, "mcp_servers"),
        (mcp_tool, ("gh",), {}, "mcp_servers"),
        (mcp_tool, ("gh",), {"url": "https://a.org", "tunnel_id": "t"}, "mcp_servers"),
        (mcp_tool, ("gh",), {"url": "https://a.org", "headers": {"a": object()}}, "tools"),
        (custom_tool, ("no blanks",), {}, "tools"),
        (namespace_tool, ("", "x", []), {}, "tools"),
        (namespace_tool, ("crm", "x", [{"name": ""}]), {}, "tools"),
        (tool_search_tool, (), {"parameters": {"type": "object"}}, "tools"),
    ],
)
def test_a_builder_refuses_what_the_api_would(build, positional, named, field):
    with pytest.raises(PayloadError) as caught:
        build(*positional, **named)

    assert caught.value.field == field


def test_a_single_text_is_a_list_of_one():
    assert file_search_tool("vs_1") == file_search_tool(["vs_1"])
    assert web_search_tool(blocked_domains="a.org") == web_search_tool(blocked_domains=["a.org"])
    assert code_interpreter_tool(file_ids="file-1") == code_interpreter_tool(file_ids=["file-1"])


def test_tools_of_the_api_stand_beside_declarations_in_order_and_as_they_are():
    shell = {"type": "shell", "environment": {"type": "container_auto"}, "unheard-of": [1]}
    tools = [web_search_tool(), CLOCK, shell, custom_tool("sql")]
    request = build_request(model="gpt-5.6", input="hi", parameters={}, tools=tools)

    assert request["tools"] == [
        {"type": "web_search"},
        function_tool(CLOCK),
        shell,
        {"type": "custom", "name": "sql"},
    ]
    assert request["tools"][2] is not shell


def test_a_tool_that_is_no_json_is_refused():
    with pytest.raises(PayloadError, match="tools must contain only JSON values"):
        build_request(
            model="m", input="hi", parameters={}, tools=[{"type": "shell", "x": object()}]
        )


def test_a_function_keeps_what_the_api_knows_of_it_besides():
    further = {
        "defer_loading": True,
        "async": False,
        "allowed_callers": ["programmatic"],
        "output_schema": {"type": "object"},
    }

    assert function_tool({**CLOCK, **further, "unheard-of": 1}) == function_tool(CLOCK) | further


def test_a_tool_of_the_api_that_a_model_lacks_is_told_from_the_parameters():
    with pytest.raises(PayloadError, match="tools tool_search is not available") as caught:
        build_request(model="gpt-5.2", input="hi", parameters={}, tools=[tool_search_tool()])

    assert caught.value.field == "tools"


def test_an_object_that_declares_a_function_is_one():
    tool = SimpleNamespace(name="clock", description="Tell the time.", parameters=None)
    request = build_request(model="gpt-5.6", input="hi", parameters={}, tools=[tool])

    assert request["tools"] == [function_tool(CLOCK)]


def mcp(**settings):
    return mcp_tool("docs", url="https://docs.example/mcp", **settings)


READ_ONLY = {"read_only": True}


@pytest.mark.parametrize(
    ("tool", "name", "needs"),
    [
        (web_search_tool(), "web_search", None),
        ({"type": "web_search_preview_2025_03_11"}, "web_search", None),
        (code_interpreter_tool(), "code_interpreter", None),
        ({"type": "x_search"}, "x_search", None),  # another server's
        ({"type": "shell", "environment": {"type": "container_auto"}}, "shell", None),
        (tool_search_tool(), "tool_search", None),
        (mcp(require_approval="never"), "docs", None),
        (mcp(require_approval={"never": READ_ONLY}, allowed_tools=READ_ONLY), "docs", None),
        (
            mcp(require_approval={"never": {"tool_names": ["a", "b"]}}, allowed_tools=["a"]),
            "docs",
            None,
        ),
        (mcp(), "docs", "require_approval"),
        (mcp(require_approval="always"), "docs", "require_approval"),
        (mcp(require_approval={"never": {"tool_names": ["a"]}}), "docs", "require_approval"),
        (
            mcp(require_approval={"never": READ_ONLY}, allowed_tools=["a"]),
            "docs",
            "require_approval",
        ),
        (
            mcp(require_approval={"never": {"tool_names": ["a"]}}, allowed_tools=["a", "b"]),
            "docs",
            "require_approval",
        ),
        (
            mcp(
                require_approval={
                    "never": {"tool_names": ["a"]},
                    "always": {"tool_names": ["a"]},
                },
                allowed_tools=["a"],
            ),
            "docs",
            "require_approval",
        ),
        (CLOCK, "clock", "caller"),
        (custom_tool("sql"), "sql", "caller"),
        ({"type": "shell"}, "shell", "caller"),
        ({"type": "apply_patch"}, "apply_patch", "caller"),
        ({"type": "computer_use_preview"}, "computer", "caller"),
        (tool_search_tool(description="Finds tools."), "tool_search", "caller"),
    ],
)
def test_a_tool_tells_its_name_and_whom_it_needs(tool, name, needs):
    read = read_hosted_tool(tool, model="gpt-5.6")
    assert (read.name, read.is_lacking) == (name, False)
    assert (read.need is None) if needs is None else (needs in read.need)


@pytest.mark.parametrize(("model", "is_lacking"), [("gpt-5.2", True), ("any-model", False)])
def test_a_tool_tells_whether_the_model_is_known_to_lack_it(model, is_lacking):
    assert read_hosted_tool(tool_search_tool(), model=model).is_lacking == is_lacking


def test_a_choice_may_name_a_tool_without_the_date_of_its_version():
    request = build_request(
        model="gpt-5.5",
        input="hi",
        parameters={"tool_choice": "web_search"},
        tools=[{"type": "web_search_2025_08_26"}],
    )
    assert request["tool_choice"] == {"type": "web_search_2025_08_26"}
