"""Servers over HTTP: what is sent to them and where, and what they may answer."""

import logging
import socket
import subprocess
from collections.abc import Iterator

import pytest
from hostile_http import hostile_http

from agent_mcp import HttpServer, McpError, McpServers
from conftest import PLAIN, call, until


SECRET = "hunter22-hunter22"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server as people write them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*PLAIN, str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:

        def listens() -> bool:
            with socket.socket() as one:
                return one.connect_ex(("127.0.0.1", port)) == 0

        until(listens)
        yield f"http://127.0.0.1:{port}/mcp"
        process.terminate()


def test_a_server_over_http_is_used_as_any(url):
    with McpServers(HttpServer("web", url)) as servers:
        assert call(servers, "web_add", a=1, b=2).content == "3"
        assert call(servers, "web_picture").content[1]["type"] == "image"
        assert call(servers, "web_fail", reason="no").error == "Error executing tool fail"


def test_a_server_that_is_not_there_is_told():
    with pytest.raises(McpError, match="'web': ConnectError"):
        McpServers(HttpServer("web", "http://127.0.0.1:9/mcp")).__enter__()


def test_each_request_has_the_headers():
    with hostile_http("fine") as bad:
        server = HttpServer("web", bad.url, token=SECRET, headers={"X-Team": "blue"})
        with McpServers(server) as servers:
            assert call(servers, "web_t").content == "done"

    assert {(one["Authorization"], one["X-Team"]) for one in bad.headers} == {
        (f"Bearer {SECRET}", "blue")
    }


def test_a_redirect_within_the_server_is_followed():
    with hostile_http("redirect-here") as bad, McpServers(HttpServer("web", bad.url)) as servers:
        assert call(servers, "web_t").content == "done"


def test_nothing_is_sent_to_another_host():
    with (
        hostile_http("fine") as other,
        hostile_http("redirect", other.url) as bad,
        McpServers(HttpServer("web", bad.url, token=SECRET)) as servers,
    ):
        assert "not followed" in call(servers, "web_t").error

    assert other.headers == []


@pytest.mark.parametrize("how", ["compressed", "large", "broken", "failing"])
def test_an_answer_without_bounds_or_sense_fails_that_call_alone(how):
    with hostile_http(how) as bad, McpServers(HttpServer("web", bad.url)) as servers:
        assert call(servers, "web_t").error is not None
        bad.how = "fine"
        assert call(servers, "web_t").content == "done"


def test_nothing_that_is_logged_shows_the_token(caplog):
    caplog.set_level(logging.DEBUG)
    with (
        hostile_http("secret") as bad,
        McpServers(HttpServer("web", bad.url, token=SECRET)) as servers,
    ):
        output = call(servers, "web_t")

    assert "Error parsing SSE message" in caplog.text
    assert SECRET not in caplog.text
    assert SECRET not in str(output)
    logging.getLogger("mcp.client.session").warning("said %s", SECRET)
    assert SECRET in caplog.text  # Nobody's logs are changed afterwards.
