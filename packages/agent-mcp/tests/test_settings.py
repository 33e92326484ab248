"""Settings that are wrong are refused by name, before anything is started or sent."""

import pytest

from agent_mcp import HttpServer, McpError, McpServers, StdioServer


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": ""}, "MCP server: expected name as 1 to 32 letters, digits"),
        ({"name": "a.b"}, "got 'a.b'"),
        ({"command": "uvx mcp-server-time"}, "'s': expected command as a list"),
        ({"command": []}, "expected command as a list"),
        ({"env": "HOME"}, "expected env as names of variables, or values by name"),
        ({"env": {"A": 1}}, "expected env with texts as names and values"),
        ({"env": ["NOT_THERE"]}, r"expected the variables of env to be set, \['NOT_THERE'\]"),
        ({"tools": "add"}, "expected tools as a list of names"),
        ({"start_timeout": 0}, "expected start_timeout as a number of seconds over 0, got 0"),
        ({"start_timeout": True}, "expected start_timeout"),
        ({"timeout": 0}, "'s': timeout must be a number of seconds over 0, got 0"),
        ({"retries": -1}, "'s': retries must be a whole number from 0 on, got -1"),
        ({"approval": "sometimes"}, "'s': approval of .* got 'sometimes'"),
    ],
)
def test_a_process_is_not_started_with_wrong_settings(settings, message):
    with pytest.raises(McpError, match=message):
        StdioServer(**{"name": "s", "command": ["true"]} | settings)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/mcp",
        "http://10.0.0.1/mcp",
        "https:///mcp",
        "https://user:word@example.com/mcp",
        "https://[::1",
        "ftp://example.com",
        "example.com",
        None,
    ],
)
def test_an_address_that_others_could_read_along_is_refused(url):
    with pytest.raises(McpError, match="'s': expected url as https://HOST/PATH"):
        HttpServer("s", url)


@pytest.mark.parametrize("url", ["http://localhost:1/mcp", "http://127.0.0.2/", "http://[::1]/"])
def test_nothing_leaves_the_machine_to_loopback(url):
    assert HttpServer("s", url).url == url


@pytest.mark.parametrize(
    "settings",
    [{"token": "a\nb"}, {"token": "ü"}, {"headers": {"X": 1}}, {"headers": {1: "x"}}],
)
def test_headers_that_no_request_could_carry_are_refused_and_not_shown(settings):
    with pytest.raises(McpError, match="expected token and headers as ASCII texts") as told:
        HttpServer("s", "https://example.com/mcp", **settings)
    assert "ü" not in str(told.value)


def test_two_servers_of_one_name_are_refused():
    server = StdioServer("s", ["true"])
    with pytest.raises(McpError, match="MCP servers: expected distinct names, got two 's'"):
        McpServers(server, server)


def test_what_is_no_server_is_refused():
    with pytest.raises(McpError, match="expected StdioServer or HttpServer, got str"):
        McpServers("https://mcp.example.com")


def test_servers_are_used_in_a_block_and_nowhere_else():
    servers = McpServers()
    for read in (lambda: servers.tools, lambda: servers.left_out, lambda: servers.changed):
        with pytest.raises(McpError, match="expected to be in a `with` or an `async with` block"):
            read()
    with servers, pytest.raises(McpError, match="entered once at a time"):
        servers.__enter__()
