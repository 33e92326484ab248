"""The parameters of tools that the server runs, of tiers, reasoning settings and the cache."""

import json

import pytest

from gpt5_payloads import PayloadError, build_request, profile_for


CLOCK = {"name": "clock", "parameters": {}}
SERVER = {"server_label": "gh", "server_url": "https://mcp.example.org/sse"}


def build(model="gpt-5.6", tools=(), mcp_tokens=None, **parameters):
    return build_request(
        model=model, input="hi", parameters=parameters, tools=tools, mcp_tokens=mcp_tokens
    )


def refusal_of(model="gpt-5.6", tools=(), mcp_tokens=None, **parameters):
    with pytest.raises(PayloadError) as caught:
        build(model, tools, mcp_tokens, **parameters)
    assert caught.value.field in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("parameters", "sent"),
    [
        ({"service_tier": "flex"}, {"service_tier": "flex"}),
        ({"service_tier": " Priority "}, {"service_tier": "priority"}),
        ({"service_tier": "auto"}, {"service_tier": "auto"}),
        ({"prompt_cache_ttl": "12h"}, {"prompt_cache_options": {"ttl": "12h"}}),
        (
            {"reasoning_mode": "pro", "reasoning_context": "current_turn"},
            {
                "reasoning": {
                    "effort": "medium",
                    "summary": "auto",
                    "mode": "pro",
                    "context": "current_turn",
                }
            },
        ),
    ],
)
def test_a_setting_goes_out_under_the_name_of_the_api(parameters, sent):
    assert build(**parameters) == build() | sent


@pytest.mark.parametrize(
    ("model", "context"),
    [
        ("gpt-5.2", None),
        ("gpt-5.4", "all_turns"),
        ("gpt-5.4-mini", "all_turns"),
        ("gpt-5.5-2026-04-23", "all_turns"),
        ("gpt-5.5-pro", "all_turns"),
        ("gpt-5.6", None),
        ("gpt-6.1-sol", None),
        ("some-deployment", None),
    ],
)
def test_earlier_reasoning_counts_where_the_model_would_not_read_it_by_itself(model, context):
    assert build(model)["reasoning"].get("context") == context
    assert build(model, reasoning_context="auto")["reasoning"]["context"] == "auto"


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        ("gpt-6.2-astra", "service_tier", "flex"),
        ("gpt-5-nano", "service_tier", "priority"),
        ("gpt-5.4-pro", "service_tier", "priority"),
        ("gpt-5.2-pro", "service_tier", "flex"),
        ("gpt-5.5", "service_tier", "ultrafast"),
        ("gpt-5.5", "reasoning_mode", "pro"),
        ("gpt-5.5-pro", "reasoning_mode", "standard"),
        ("gpt-4o", "reasoning_mode", "standard"),
        ("gpt-5.2", "reasoning_context", "all_turns"),
        ("gpt-4.1", "reasoning_context", "auto"),
        ("gpt-5.5", "prompt_cache_ttl", "30m"),
        ("gpt-5.2", "extra_tools", [{"type": "tool_search"}]),
        ("gpt-5.4-nano", "extra_tools", [{"type": "tool_search"}]),
        ("gpt-5", "extra_tools", [{"type": "apply_patch"}]),
        ("gpt-5.2", "extra_tools", [{"type": "computer_use_preview"}]),
        ("gpt-5.5", "extra_tools", [{"type": "programmatic_tool_calling"}]),
    ],
)
def test_what_a_model_lacks_is_refused_by_the_name_of_its_parameter(model, field, value):
    error = refusal_of(model, **{field: value})

    assert error.field == field
    assert "not available for this model" in str(error)
    assert build("some-deployment", **{field: value})


def test_a_pro_model_is_not_sent_the_mode_that_is_its_only_one():
    assert build("gpt-5.5-pro", reasoning_mode="pro") == build("gpt-5.5-pro")
    assert build("gpt-5.5", reasoning_mode="standard") == build("gpt-5.5")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("service_tier", "scale"),
        ("service_tier", 3),
        ("flex_fallback", "yes"),
        ("reasoning_mode", "deep"),
        ("reasoning_context", ["auto"]),
        ("web_search", "on"),
        ("web_search", True),
        ("web_search_domains", 7),
        ("file_search_stores", {"id": "vs_1"}),
        ("file_search_stores", ["vs_1", 7]),
        ("code_interpreter", "sure"),
        ("image_generation", 2),
        ("mcp_servers", "{"),
        ("mcp_servers", "{}"),
        ("mcp_servers", ["gh"]),
        ("mcp_servers", '[{"server_label": "gh"}]'),
        ("mcp_servers", [{**SERVER, "server_label": ""}]),
        ("mcp_servers", [{**SERVER, "server_label": 7}]),
        ("mcp_servers", [{**SERVER, "type": "function"}]),
        ("mcp_servers", [{**SERVER, "server_url": 7}]),
        ("mcp_servers", [{**SERVER, "headers": "X-Team: blue"}]),
        ("mcp_servers", [{**SERVER, "connector_id": "connector_gmail"}]),
        ("mcp_servers", [SERVER, SERVER]),
        ("extra_tools", "[1]"),
        ("extra_tools", [{"name": "x"}]),
        ("extra_tools", [{"type": 7}]),
        ("allowed_tools", 7),
        ("max_tool_calls", 0),
        ("max_tool_calls", "many"),
        ("max_tool_calls", 10_001),
        ("prompt_cache_ttl", "24h"),
    ],
)
def test_a_value_that_its_parameter_does_not_take_is_refused(name, value):
    assert refusal_of(**{name: value}).field == name


@pytest.mark.parametrize("off", ["off", False, None])
def test_web_search_is_off_unless_asked_for(off):
    assert build(web_search=off) == build()


def test_a_dated_web_search_gives_its_sources_too_and_the_old_one_has_none():
    dated, old = {"type": "web_search_2025_08_26"}, {"type": "web_search_preview"}

    assert build(tools=[dated])["include"][1:] == ["web_search_call.action.sources"]
    assert build(tools=[old])["include"] == ["reasoning.encrypted_content"]


def test_nothing_is_refused_of_a_model_that_nobody_knows():
    odd = {"web_search": "low", "response_format": "json_object", "reasoning_effort": "minimal"}
    request = build_request(model="my-deployment", input="JSON", parameters=odd)

    assert request["reasoning"]["effort"] == "minimal"
    assert request["tools"][0]["type"] == "web_search"


def test_a_web_search_says_how_much_it_reads_and_gives_its_sources():
    request = build(web_search="low")

    assert request["tools"] == [{"type": "web_search", "search_context_size": "low"}]
    assert request["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
    assert request["tool_choice"] == "auto"


@pytest.mark.parametrize(
    "domains",
    [
        "example.org\n-ads.example.com\n\n https://Docs.Python.org/ \n- münchen.de\nexample.org",
        ["example.org", "docs.python.org", "-ads.example.com", "-münchen.de"],
    ],
)
def test_the_domains_of_a_web_search_stand_one_a_line(domains):
    (tool,) = build(web_search="high", web_search_domains=domains)["tools"]

    assert tool["filters"] == {
        "allowed_domains": ["example.org", "docs.python.org"],
        "blocked_domains": ["ads.example.com", "münchen.de"],
    }


@pytest.mark.parametrize(
    "line", ["example", "a b.org", "https://x.org/path", "-", "*.org", "a,b.c"]
)
def test_a_line_that_is_no_domain_is_refused(line):
    error = refusal_of(web_search="low", web_search_domains=f"example.org\n{line}")

    assert error.field == "web_search_domains"


def test_too_many_domains_are_refused():
    domains = [f"-d{number}.org" for number in range(101)]

    assert refusal_of(web_search="low", web_search_domains=domains).field == "web_search_domains"
    assert build(web_search="low", web_search_domains=domains[:100])


def test_the_other_tools_of_the_server_stand_behind_the_functions_in_a_fixed_order():
    request = build(
        extra_tools='[{"type": "shell", "environment": {"type": "container_auto"}}]',
        mcp_servers=json.dumps([{**SERVER, "require_approval": "never"}]),
        image_generation="true",
        code_interpreter=1,
        file_search_stores="vs_1\n vs_2 \n",
        web_search="medium",
        max_tool_calls="3",
        tools=[CLOCK],
    )

    assert [tool["type"] for tool in request["tools"]] == [
        *("function", "web_search", "file_search", "code_interpreter", "image_generation"),
        *("mcp", "shell"),
    ]
    assert request["tools"][2:] == [
        {"type": "file_search", "vector_store_ids": ["vs_1", "vs_2"]},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "image_generation", "output_format": "jpeg"},
        {"type": "mcp", **SERVER, "require_approval": "never"},
        {"type": "shell", "environment": {"type": "container_auto"}},
    ]
    assert request["max_tool_calls"] == 3
    assert request["include"][1:] == [
        "web_search_call.action.sources",
        "code_interpreter_call.outputs",
    ]


def test_nothing_about_tool_calls_is_sent_without_tools():
    assert build(max_tool_calls=3) == build()
    assert build(max_tool_calls=3, allowed_tools="clock", tool_choice="none") == build()


TOKEN = {"token": " t-secret ", "host": "mcp.example.org"}


def test_a_token_becomes_the_authorization_of_the_server_with_its_label():
    other = {**SERVER, "server_label": "crm"}
    request = build(
        mcp_servers=[SERVER],
        extra_tools=[{"type": "mcp", **other}],
        mcp_tokens={"gh": TOKEN, "crm": "", "unknown": "t-3"},
    )

    assert request["tools"] == [
        {"type": "mcp", **SERVER, "authorization": "t-secret"},
        {"type": "mcp", **other},
    ]


@pytest.mark.parametrize("field", ["mcp_servers", "extra_tools", "tools"])
@pytest.mark.parametrize(
    ("host", "server"),
    [
        *(
            ("mcp.example.org", {"server_url": url})
            for url in (
                "http://mcp.example.org/sse",
                "//mcp.example.org/sse",
                "mcp.example.org/sse",
                "wss://mcp.example.org/sse",
                " https://mcp.example.org/sse",
                "https:mcp.example.org/sse",
                "https:///mcp.example.org/sse",
                "https:/\\mcp.example.org/sse",
                "https://evil.example/mcp.example.org/",
                "https://evil.example/?mcp.example.org",
                "https://mcp.example.org.evil.example/",
                "https://evil.mcp.example.org/",
                "https://mcp-example.org/",
                "https://mcp.example.org@evil.example/",
                "https://@mcp.example.org/",
                "https://mcp.example.org:443@evil.example/",
                "https://mcp.example.org\\@evil.example/",
                "https://mcp.example.org#@evil.example/",
                "https://mcp.example.org?@evil.example/",
                "https://mcp.example.org\t.evil.example/",
                "https://mcp.example.org\n",
                "https://mcp.example.org.",
                "https://mcp.example.org./sse",
                "https://mcp%2eexample.org/",
                "https://mcp.example.org%00.evil.example/",
                "https://mcp\u3002example\uff0eorg/",
                "https://mcp.e\u0445ample.org/",
                "https://mcp.example.or\uff47/",
                "https://mcp.example.org:8443/sse",
                "https://mcp.example.org:/sse",
            )
        ),
        ("k.example", {"server_url": "https://\u212a.example/"}),
        ("mcp.example.org:8443", {"server_url": "https://mcp.example.org/sse"}),
        ("mcp.example.org", {"connector_id": "connector_gmail"}),
        ("mcp.example.org", {"tunnel_id": "tunnel_1"}),
        ("mcp.example.org", {"server_url": SERVER["server_url"], "headers": {" HOST": "evil"}}),
        (
            "mcp.example.org",
            {"server_url": SERVER["server_url"], "headers": {"X-Forwarded-Host": "evil"}},
        ),
        ("mcp.example.org", {"server_url": SERVER["server_url"], "headers": {":authority": "e"}}),
        (None, {"server_url": SERVER["server_url"]}),
    ],
)
def test_a_token_goes_to_no_other_host_than_the_one_that_it_is_for(field, host, server):
    tool = {"type": "mcp", "server_label": "gh", **server}
    tokens = {"gh": "t-secret" if host is None else {"token": "t-secret", "host": host}}
    error = refusal_of(mcp_tokens=tokens, **{field: [tool]})

    assert error.field == field
    assert "mcp_tokens" in str(error)
    assert "secret" not in str(error)
    assert "evil" not in str(error)


@pytest.mark.parametrize(
    "server",
    [
        {"server_url": "https://mcp.example.org/sse", "tunnel_id": "tunnel_1"},
        {"server_url": "https://mcp.example.org/sse", "connector_id": "connector_gmail"},
        {"server_url": ["https://mcp.example.org/sse"]},
        {},
    ],
)
@pytest.mark.parametrize("token", [TOKEN, "t-secret"])
def test_a_server_whose_address_can_be_read_in_two_ways_gets_no_token(server, token):
    tool = {"type": "mcp", "server_label": "gh", **server}

    assert refusal_of(extra_tools=[tool], mcp_tokens={"gh": token}).field == "extra_tools"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("mcp.example.org", "https://mcp.example.org"),
        ("mcp.example.org", "HTTPS://MCP.Example.Org/sse?team=a@b#c"),
        ("MCP.example.org", "https://mcp.example.org:443/@scope/sse"),
        ("mcp.example.org:443", "https://mcp.example.org/sse"),
        ("mcp.example.org:8443", "https://mcp.example.org:8443/sse"),
        ("xn--bcher-kva.example", "https://xn--bcher-kva.example/"),
    ],
)
def test_a_host_is_the_same_in_capitals_and_with_the_port_of_https(host, url):
    tokens = {"gh": {"token": "t-1", "host": host}}
    server = {**SERVER, "server_url": url}

    assert build(mcp_servers=[server], mcp_tokens=tokens)["tools"] == [
        {"type": "mcp", **server, "authorization": "t-1"}
    ]


def test_headers_that_are_none_lead_a_token_nowhere():
    tool = {"type": "mcp", **SERVER, "headers": 5}

    assert refusal_of(tools=[tool], mcp_tokens={"gh": TOKEN}).field == "tools"


def test_a_token_goes_along_with_headers_that_name_no_host():
    server = {**SERVER, "headers": {"X-Team": "blue"}}

    assert build(mcp_servers=[server], mcp_tokens={"gh": TOKEN})["tools"] == [
        {"type": "mcp", **server, "authorization": "t-secret"}
    ]


@pytest.mark.parametrize("address", [{"connector_id": "connector_gmail"}, {"tunnel_id": "t_1"}])
@pytest.mark.parametrize("field", ["mcp_servers", "extra_tools", "tools"])
def test_a_token_without_a_host_is_for_connectors_and_tunnels(field, address):
    tool = {"type": "mcp", "server_label": "gh", **address}

    assert build(mcp_tokens={"gh": "t-1"}, **{field: [tool]})["tools"] == [
        {**tool, "authorization": "t-1"}
    ]


def test_a_token_that_a_program_gave_itself_stays():
    tool = {"type": "mcp", **SERVER, "authorization": "own"}

    assert build(tools=[tool], mcp_tokens={"gh": "other"})["tools"] == [tool]


@pytest.mark.parametrize(
    "tokens",
    [
        "t-secret",
        ["t-secret"],
        {"gh": 7},
        {7: "t-secret"},
        {"gh": {"token": "t-secret"}},
        {"gh": {"host": "t-secret"}},
        {"gh": {"token": "t-secret", "host": ""}},
        {"gh": {"token": "t-secret", "host": 7}},
        {"gh": {"token": "t-secret", "host": "\u212a.example"}},
        {"gh": {"token": "t-secret", "host": "https://mcp.example.org"}},
        {"gh": {"token": "t-secret", "host": "a.example", "other": "b"}},
    ],
)
def test_tokens_that_are_none_by_label_are_refused_unseen(tokens):
    error = refusal_of(mcp_tokens=tokens)

    assert error.field == "mcp_tokens"
    assert "secret" not in str(error)


@pytest.mark.parametrize("field", ["mcp_servers", "extra_tools"])
@pytest.mark.parametrize(
    "secret",
    [
        {"authorization": "hush-1"},
        {"token": "hush-1"},
        {"headers": {"Authorization": "Bearer hush-1"}},
        {"headers": {"X-Api-Key": "hush-1"}},
        {"headers": {"X-Custom": "Bearer hush-1234567890"}},
        {"server_url": "https://me:hush-1@mcp.example.org/"},
        {"server_url": "https://mcp.example.org/?access_token=hush-1"},
        {"server_url": "https://hush-1@mcp.example.org/"},
        {"server_url": "https://mcp.example.org/?team=a&key=hush-1"},
    ],
)
def test_a_token_in_a_field_that_everybody_reads_is_refused_unseen(field, secret):
    error = refusal_of(**{field: [{"type": "mcp", **SERVER, **secret}]})

    assert error.field == field
    assert "mcp_tokens" in str(error)
    assert "hush" not in str(error)


def test_headers_and_addresses_that_hold_no_secret_pass():
    server = {
        "type": "mcp",
        **SERVER,
        "server_url": "https://mcp.example.org/mcp?team=a@b",
        "headers": {"X-Team": "blue"},
    }

    assert build(mcp_servers=[server])["tools"] == [server]


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_allowed_tools_are_chosen_by_name_and_all_tools_stay(mode):
    tools = [CLOCK, {"name": "other"}, {"type": "custom", "name": "sql"}]
    everything = {"web_search": "low", "mcp_servers": [SERVER], "tools": tools}
    request = build(
        **everything, tool_choice=mode, allowed_tools="clock\nsql\nweb_search\ngh\nclock\n"
    )

    assert request["tools"] == build(**everything)["tools"]
    assert request["tool_choice"] == {
        "type": "allowed_tools",
        "mode": mode,
        "tools": [
            {"type": "function", "name": "clock"},
            {"type": "custom", "name": "sql"},
            {"type": "web_search"},
            {"type": "mcp", "server_label": "gh"},
        ],
    }


def test_no_tool_is_allowed_where_none_is_the_choice():
    request = build(tools=[CLOCK], tool_choice="none", allowed_tools="clock")

    assert request["tool_choice"] == "none"


@pytest.mark.parametrize("tools", [(), [CLOCK]])
def test_an_allowed_tool_that_nobody_offers_is_named(tools):
    error = refusal_of(tools=tools, allowed_tools="klock")

    assert error.field == "allowed_tools"
    assert "'klock'" in str(error)


@pytest.mark.parametrize("choice", ["clock", {"type": "function", "name": "clock"}])
def test_allowed_tools_and_the_one_tool_to_call_exclude_each_other(choice):
    assert refusal_of(tools=[CLOCK], tool_choice=choice, allowed_tools="clock").field == (
        "allowed_tools"
    )


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("web_search", {"type": "web_search"}),
        ("gh", {"type": "mcp", "server_label": "gh"}),
        ("sql", {"type": "custom", "name": "sql"}),
        ({"type": "web_search"}, {"type": "web_search"}),
        (
            {"type": "mcp", "server_label": "gh", "name": "find"},
            {"type": "mcp", "server_label": "gh", "name": "find"},
        ),
    ],
)
def test_any_tool_that_is_offered_can_be_the_choice(choice, sent):
    tools = [{"type": "custom", "name": "sql"}]
    request = build(tools=tools, web_search="low", mcp_servers=[SERVER], tool_choice=choice)

    assert request["tool_choice"] == sent


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "image_generation"},
        {"type": "mcp", "server_label": "crm"},
        {"type": "custom", "name": "clock"},
    ],
)
def test_a_choice_of_a_tool_that_is_not_offered_is_refused(choice):
    error = refusal_of(tools=[CLOCK], mcp_servers=[SERVER], tool_choice=choice)

    assert error.field == "tool_choice"


@pytest.mark.parametrize(
    ("model", "parameters", "field"),
    [
        ("gpt-5.6", {"web_search_domains": "example.org"}, "web_search_domains"),
        ("gpt-5.6", {"flex_fallback": True}, "flex_fallback"),
        ("gpt-5.6", {"flex_fallback": True, "service_tier": "auto"}, "flex_fallback"),
        ("gpt-5", {"web_search": "low", "reasoning_effort": "minimal"}, "web_search"),
        ("gpt-5", {"web_search": "low", "reasoning_effort": "none"}, "web_search"),
        ("gpt-5", {"image_generation": True, "reasoning_effort": "minimal"}, "image_generation"),
        (
            "gpt-5-mini",
            {"extra_tools": [{"type": "web_search_preview"}], "reasoning_effort": "minimal"},
            "extra_tools",
        ),
        ("gpt-5.6", {"web_search": "low", "response_format": "json_object"}, "web_search"),
    ],
)
def test_a_combination_that_the_api_refuses_is_told_before(model, parameters, field):
    assert refusal_of(model, **parameters).field == field


def test_combinations_that_the_api_takes_pass():
    assert build(service_tier="flex", flex_fallback=True) == build(service_tier="flex")
    assert build("gpt-5.6", web_search="low", reasoning_effort="minimal")  # which becomes none
    schema = {"response_format": "json_schema", "json_schema": {"type": "object"}}
    assert build(web_search="low", **schema)


@pytest.mark.parametrize("tool", ["web_search", "file_search", "code_interpreter", "mcp", "shell"])
def test_every_model_of_today_has_the_first_tools(tool):
    names = ("gpt-5", "gpt-5.2", "gpt-5.4-nano", "gpt-5.5-pro", "gpt-6-luna", "gpt-6.2-sol")

    assert all(tool in profile_for(name).hosted_tools for name in names)


def test_a_stream_is_padded_only_if_asked_for():
    call = {"model": "gpt-5.6", "input": "hi", "parameters": {}}

    assert build_request(**call)["stream_options"] == {"include_obfuscation": False}
    assert "stream_options" not in build_request(**call, include_obfuscation=True)
    assert "stream_options" not in build_request(**call, stream=False)
