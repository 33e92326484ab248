"""Servers over HTTP: what is sent to them and where, and what they may answer."""

import logging
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hostile_http import hostile_http

from agent_mcp import HttpServer, McpError, McpServers
from conftest import PLAIN, call, until


SECRET = "hunter22-hunter22"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of a server as people write them."""
    with ExitStack() as stack:
        # Bound, nobody else takes the port; and as nobody listens yet, the server may have it.
        free = stack.enter_context(socket.socket())
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        command = [*PLAIN, str(port)]
        process = stack.enter_context(subprocess.Popen(command, stderr=subprocess.DEVNULL))

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


_TOLD = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "MESSAGE"}}'


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (
            (401, "application/json", '{"error": "invalid_token", "error_description": "No one."}'),
            "401 Unauthorized: No one.; expected a `token` or `headers` that the server accepts",
        ),
        (
            (403, "text/plain", "Not\nyou"),
            "403 Forbidden: Not you; its `token` or `headers` do not",
        ),
        (
            (429, "application/json", '{"detail": "Slow down"}', ("retry-after", "7")),
            "429 Too Many Requests: Slow down; it takes calls again after 7",
        ),
        (
            (401, "text/html", "", ("www-authenticate", 'Bearer error_description="Expired"')),
            "401 Unauthorized: Expired; expected a `token`",
        ),
        ((403, "application/problem+json", '{"title": "No seat"}'), "403 Forbidden: No seat;"),
        ((503, "text/html", "<p>Back soon</p>"), "503 Service Unavailable"),
        (
            (500, "application/json", _TOLD.replace("MESSAGE", "Broken")),
            "Internal Server Error: Broken",
        ),
        ((500, "text/plain", "x" * 1_000_000), "500 Internal Server Error: " + "x" * 300),
        ((400, "application/json", "[" * 5_000), "400 Bad Request"),
        ((404, "text/plain", ""), "404 Not Found"),
    ],
)
def test_a_refusal_tells_status_and_reason(refusal, told):
    with hostile_http("fine") as bad:
        bad.refusal = refusal
        with McpServers(HttpServer("web", bad.url)) as servers:
            error = call(servers, "web_t").error
        assert error.startswith("the server has answered ")
        assert told in error
        assert not error.endswith((" ", ":", "x" * 301, "Back soon</p>"))
        bad.refused = ("server/discover", "initialize")
        with pytest.raises(McpError, match=f"'web': the server has answered {refusal[0]} "):
            McpServers(HttpServer("web", bad.url)).__enter__()


def test_an_answer_to_the_call_is_no_refusal_whatever_its_status():
    with hostile_http("fine") as bad, McpServers(HttpServer("web", bad.url)) as servers:
        bad.session = "s1"  # Of which this session knows nothing.
        told = _TOLD.replace("MESSAGE", "No such session").replace("null", "ASKED")
        bad.refusal = (400, "application/json", told)
        assert call(servers, "web_t").error == "No such session"


@pytest.mark.parametrize(
    "forgotten",
    [
        (404, ""),
        (404, _TOLD.replace("MESSAGE", "Session not found")),
        (400, _TOLD.replace("MESSAGE", "Bad Request: No valid session ID provided")),
        (400, _TOLD.replace("MESSAGE", "Bad Request: Server not initialized")),
    ],
)
def test_a_server_that_was_started_anew_takes_the_call(forgotten):
    with hostile_http("fine") as bad:
        bad.session, bad.forgotten = "s1", forgotten
        with McpServers(HttpServer("web", bad.url)) as servers:
            assert call(servers, "web_t").content == "done"
            bad.session = "s2"
            assert call(servers, "web_t").content == "done"
            assert bad.calls == 2


def test_a_call_is_made_again_once_and_only_where_the_server_has_not_made_it():
    with hostile_http("fine") as bad:
        bad.session = "s1"
        with McpServers(HttpServer("web", bad.url)) as servers:
            bad.refusal = (404, "text/plain", "")
            cause = call(servers, "web_t").cause
            assert str(cause) == "MCP server 'web': the server has answered 404 Not Found"
            bad.refusal = (502, "text/plain", "session")
            before = len(bad.headers)
            assert "502 Bad Gateway: session" in call(servers, "web_t").error
            bad.refusal = ()
            assert call(servers, "web_t").content == "done"
    assert bad.calls == 1
    assert len(bad.headers) - before < 7  # A session is not opened anew for it.


def test_a_stream_that_ends_at_once_is_asked_for_later_and_later(monkeypatch):
    monkeypatch.setattr("agent_mcp._http._SHORT_SECONDS", 600)
    with hostile_http("streams-that-end") as bad:
        bad.session = "s1"
        with McpServers(HttpServer("web", bad.url)):
            until(lambda: len(bad.streams) > 2)
    first, second, third, *_ = bad.streams
    assert second - first >= 1
    assert third - second >= 2


@pytest.mark.parametrize("how", ["values", "streamed-values"])
def test_an_answer_that_takes_too_much_memory_is_told(how):
    with hostile_http(how) as bad, McpServers(HttpServer("web", bad.url)) as servers:
        assert "bytes holds more than 200,000 values" in call(servers, "web_t").error
        assert "holds more than 200,000 values" in servers.left_out["web_many"]
        bad.how = "streamed"
        assert call(servers, "web_t").content == "done"


def test_nothing_that_is_logged_shows_the_token(caplog):
    caplog.set_level(logging.DEBUG)
    with (
        McpServers(),  # Which knows nothing of this secret.
        hostile_http("secret") as bad,
        McpServers(HttpServer("web", bad.url, token=SECRET)) as servers,
    ):
        output = call(servers, "web_t")

    assert "Error parsing SSE message" in caplog.text
    assert SECRET not in caplog.text
    assert SECRET not in str(output)
    logging.getLogger("mcp.client.session").warning("said %s", SECRET)
    assert SECRET in caplog.text  # Nobody's logs are changed afterwards.
