import pytest


MCP = {"type": "mcp", "server_label": "gh", "server_url": "https://gh.example/mcp"}
SEARCH = {"type": "web_search"}
CODE = {"type": "code_interpreter", "container": {"type": "auto"}}
PICTURE = {"type": "image_generation"}
FUNCTION = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
SPACE = {"type": "namespace", "name": "crm", "description": "CRM", "tools": [FUNCTION]}
STORES = {"type": "file_search", "vector_store_ids": ["vs_1"]}


def error_of(response, status=400):
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["type"] == "invalid_request_error"
    return error


@pytest.mark.parametrize(
    ("tool", "param", "code"),
    [
        ({"type": "telepathy"}, "tools[0].type", "invalid_value"),
        (SEARCH | {"depth": 1}, "tools[0].depth", "unknown_parameter"),
        (
            SEARCH | {"search_context_size": "huge"},
            "tools[0].search_context_size",
            "invalid_value",
        ),
        (SEARCH | {"filters": {"domains": []}}, "tools[0].filters.domains", "unknown_parameter"),
        (
            SEARCH | {"filters": {"allowed_domains": "x.org"}},
            "tools[0].filters.allowed_domains",
            "invalid_type",
        ),
        (
            SEARCH | {"filters": {"allowed_domains": ["https://x.org"]}},
            "tools[0].filters.allowed_domains[0]",
            "invalid_value",
        ),
        (
            SEARCH | {"filters": {"blocked_domains": ["x.org"] * 101}},
            "tools[0].filters.blocked_domains",
            "array_above_max_length",
        ),
        (
            {"type": "file_search"},
            "tools[0].vector_store_ids",
            "missing_required_parameter",
        ),
        (STORES | {"vector_store_ids": [1]}, "tools[0].vector_store_ids[0]", "invalid_type"),
        (STORES | {"max_num_results": 51}, "tools[0].max_num_results", "integer_above_max_value"),
        (STORES | {"max_num_results": "5"}, "tools[0].max_num_results", "invalid_type"),
        (STORES | {"max_num_results": True}, "tools[0].max_num_results", "invalid_type"),
        (
            {"type": "code_interpreter"},
            "tools[0].container",
            "missing_required_parameter",
        ),
        (CODE | {"container": 5}, "tools[0].container", "invalid_type"),
        (CODE | {"container": {}}, "tools[0].container.type", "invalid_value"),
        (
            CODE | {"container": {"type": "auto", "memory_limit": "2g"}},
            "tools[0].container.memory_limit",
            "invalid_value",
        ),
        (PICTURE | {"partial_images": 4}, "tools[0].partial_images", "integer_above_max_value"),
        (PICTURE | {"output_format": "bmp"}, "tools[0].output_format", "invalid_value"),
        (PICTURE | {"size": "big"}, "tools[0].size", "invalid_value"),
        (PICTURE | {"size": 1024}, "tools[0].size", "invalid_value"),
        (PICTURE | {"size": "1000x1000"}, "tools[0].size", "invalid_value"),
        (PICTURE | {"size": "1024x256"}, "tools[0].size", "invalid_value"),
        (PICTURE | {"size": "3840x3840"}, "tools[0].size", "invalid_value"),
        (PICTURE | {"size": "4096x2048"}, "tools[0].size", "invalid_value"),
        (
            PICTURE | {"background": "transparent", "output_format": "jpeg"},
            "tools[0].background",
            "invalid_value",
        ),
        (
            {"type": "mcp", "server_url": "https://x.example"},
            "tools[0].server_label",
            "missing_required_parameter",
        ),
        (
            {"type": "mcp", "server_label": "gh"},
            "tools[0].server_url",
            "missing_required_parameter",
        ),
        (MCP | {"connector_id": "c"}, "tools[0]", "mutually_exclusive_parameters"),
        (MCP | {"server_url": "gh.example"}, "tools[0].server_url", "invalid_value"),
        (MCP | {"require_approval": "maybe"}, "tools[0].require_approval", "invalid_value"),
        (
            MCP | {"require_approval": {"sometimes": {}}},
            "tools[0].require_approval.sometimes",
            "unknown_parameter",
        ),
        (MCP | {"headers": "x"}, "tools[0].headers", "invalid_type"),
        (
            {"type": "tool_search", "execution": "client"},
            "tools[0].description",
            "missing_required_parameter",
        ),
        ({"type": "namespace", "name": "a"}, "tools[0].description", "missing_required_parameter"),
        (SPACE | {"tools": None}, "tools[0].tools", "missing_required_parameter"),
        (SPACE | {"tools": [1]}, "tools[0].tools[0]", "invalid_type"),
        (SPACE | {"tools": [SEARCH]}, "tools[0].tools[0].type", "invalid_value"),
        (
            SPACE | {"tools": [FUNCTION | {"name": "a b"}]},
            "tools[0].tools[0].name",
            "invalid_value",
        ),
        (FUNCTION | {"function": {}}, "tools[0].function", "unknown_parameter"),
    ],
)
def test_a_tool_that_cannot_be_used_is_refused(server, ask, tool, param, code):
    error = error_of(ask(server, model="gpt-5.4", tools=[tool]))
    assert (error["param"], error["code"]) == (param, code)


@pytest.mark.parametrize(
    "tool",
    [
        SEARCH | {"type": "web_search_2025_08_26"},
        SEARCH | {"filters": {"blocked_domains": ["x.org"]}, "return_token_budget": "unlimited"},
        {"type": "web_search_preview", "search_context_size": "low"},
        CODE | {"container": {"type": "auto", "memory_limit": "4g", "file_ids": ["file-1"]}},
        PICTURE | {"size": "1536x864", "quality": "xhigh", "model": "gpt-image-2.6-flare"},
        {"type": "mcp", "server_label": "t", "tunnel_id": "tunnel_1"},
        MCP | {"require_approval": {"never": {"tool_names": ["a"]}}, "allowed_tools": ["a"]},
        SPACE,
        {"type": "computer"},
        FUNCTION | {"async": True, "allowed_callers": ["direct"], "output_schema": {}},
        {"type": "custom", "name": "sql", "format": {"type": "text"}},
    ],
)
def test_what_the_guides_describe_is_taken(server, ask, tool):
    assert ask(server, model="gpt-5.6", tools=[tool]).status_code == 200


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("gpt-5", "apply_patch"),
        ("gpt-5.2", "tool_search"),
        ("gpt-5.4-nano", "tool_search"),
        ("gpt-5.5", "programmatic_tool_calling"),
        ("gpt-5.1", "computer"),
    ],
)
def test_a_tool_that_the_model_lacks_is_refused(server, ask, model, kind):
    error = error_of(ask(server, model=model, tools=[{"type": kind}]))
    assert error["param"] == "tools"
    assert f"Tool '{kind}' is not supported with {model}" in error["message"]


def test_some_tools_need_more_than_the_least_effort(server, ask):
    tools = [PICTURE, SEARCH, CODE, FUNCTION]
    error = error_of(ask(server, reasoning={"effort": "minimal"}, tools=tools))
    assert error["message"] == (
        "The following tools cannot be used with reasoning.effort 'minimal': "
        "image_generation, web_search."
    )
    assert (error["param"], error["code"]) == ("tools", None)
    assert ask(server, reasoning={"effort": "minimal"}, tools=[CODE]).status_code == 200


@pytest.mark.parametrize(
    ("choice", "param", "code"),
    [
        ({"type": "image_generation"}, "tool_choice", None),
        ({"type": "mcp", "server_label": "other"}, "tool_choice", None),
        ({"type": "mcp"}, "tool_choice.server_label", "missing_required_parameter"),
        ({"type": "function", "name": "g"}, "tool_choice", None),
        ({"type": "function"}, "tool_choice.name", "missing_required_parameter"),
        ({"type": "telepathy"}, "tool_choice.type", "invalid_value"),
        ({"name": "f"}, "tool_choice.type", "missing_required_parameter"),
        ({"type": "allowed_tools"}, "tool_choice.tools", "missing_required_parameter"),
        (
            {"type": "allowed_tools", "mode": "none", "tools": []},
            "tool_choice.mode",
            "invalid_value",
        ),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [PICTURE]},
            "tool_choice",
            None,
        ),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(server, ask, choice, param, code):
    error = error_of(ask(server, tools=[SEARCH, MCP, FUNCTION], tool_choice=choice))
    assert (error["param"], error["code"]) == (param, code)


def test_a_tool_of_a_namespace_can_be_chosen(server, ask):
    choice = {"type": "function", "name": "f"}
    answer = ask(server, model="gpt-5.4", tools=[SPACE], tool_choice=choice)
    assert answer.json()["output"][-1]["namespace"] == "crm"


@pytest.mark.parametrize(("model", "status"), [("gpt-5.5", 400), ("gpt-5.6", 200)])
def test_newer_models_choose_tools_that_were_added(server, ask, model, status):
    added = {"type": "additional_tools", "role": "developer", "tools": [FUNCTION]}
    choice = {"type": "function", "name": "f"}
    items = [added, {"role": "user", "content": "Go on"}]
    assert ask(server, model=model, input=items, tool_choice=choice).status_code == status
