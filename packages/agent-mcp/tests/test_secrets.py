"""A server's secrets are shown by nothing that comes from it or is said of it."""

import pytest

from agent_mcp import HttpServer, McpError, McpServers, StdioServer
from conftest import call, find, hostile


SECRET = "hunter22-hunter22"
ENV = {"MY_TOKEN": SECRET}


def test_a_representation_shows_no_secret():
    servers = (
        StdioServer("s", ["server", SECRET], env=ENV),
        HttpServer("h", "https://example.com/mcp", token=SECRET, headers={"X-Key": SECRET}),
    )
    assert SECRET not in repr(servers)


def test_no_text_of_a_server_shows_its_secrets():
    with McpServers(hostile("secrets", env=ENV)) as servers:
        tool = find(servers, "bad_t")
        output = call(servers, "bad_t")

    assert tool.description == "Knows [redacted]."
    assert tool.parameters["properties"]["a"] == {"description": "is [redacted]"}
    assert output.error == 'It is [redacted]: "[redacted]"\n{"token": "[redacted]"}'


def test_an_error_of_a_server_shows_no_secret_and_is_bounded():
    with McpServers(hostile("error", env=ENV)) as servers:
        error = call(servers, "bad_t").error

    assert error.startswith("No, [redacted]xxx")
    assert len(error) == 1_000


def test_the_last_words_of_a_process_show_no_secret():
    with pytest.raises(McpError, match=r"cannot start without \[redacted\]$"):
        McpServers(hostile("no-start", env=ENV)).__enter__()


def test_a_server_that_is_started_anew_has_the_variables_of_the_first_time(monkeypatch, tmp_path):
    monkeypatch.setenv("MY_TOKEN", "first-secret")
    with McpServers(hostile("end-once", tmp_path / "ended", env=["MY_TOKEN"])) as servers:
        monkeypatch.setenv("MY_TOKEN", "other-secret")
        call(servers, "bad_t")
        assert "MY_TOKEN=[redacted]" in call(servers, "bad_t").content


def test_ordinary_variables_are_no_secrets():
    with McpServers(hostile("environment", env={"PLACE": "Trondheim"})) as servers:
        assert "PLACE=Trondheim" in call(servers, "bad_t").content
