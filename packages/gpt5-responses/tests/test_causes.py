"""Why a server could not be reached, in the words of whoever fills the form in."""

import contextlib
import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from wire import REQUEST, Wire, head

from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    ConnectionFailedError,
    ConnectionTimeoutError,
    ModelConfig,
    Request,
    ResponsesError,
    Transport,
    create,
    validate_server,
)


def told(transport: Transport, base_url: str, **settings: object) -> str:
    connection = Connection(api_key="key", base_url=base_url, max_retries=0, **settings)
    with pytest.raises(ConnectionFailedError) as called:
        create(connection, REQUEST, transport=transport)
    with pytest.raises(ConnectionFailedError) as validated:
        validate_server(connection, transport=transport)
    assert str(called.value) == str(validated.value)
    assert "base_url" in str(called.value)
    return str(called.value)


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_a_refused_connection(transport: Transport) -> None:
    assert "the server refused the connection" in told(
        transport, f"http://127.0.0.1:{closed_port()}/v1"
    )


def test_a_name_that_is_not_found(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_found(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", not_found)

    assert "the name of the server was not found" in told(transport, "http://nowhere.example/v1")


def test_a_name_that_cannot_be_encoded_is_told_too(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UnicodeError("label empty or too long")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert "could not be" in told(transport, "http://nowhere.example/v1")


def test_a_server_without_tls(transport: Transport) -> None:
    with PlainServer(lambda _: None) as server:
        sentence = told(transport, server.base_url.replace("http:", "https:"))
    assert "TLS with the server failed (" in sentence


class PlainServer(Wire):
    """A server that takes a handshake for a bad request."""

    def _serve(self, peer: socket.socket) -> None:
        with peer:
            peer.recv(65_536)
            peer.sendall(head("400 Bad Request"))


def test_a_certificate_that_nobody_knows(transport: Transport) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parent / "nobody_trusts_this.pem")

    with TlsServer(context) as server:
        sentence = told(transport, server.base_url.replace("http:", "https:"))
    assert "TLS with the server failed (self-signed certificate)" in sentence


class TlsServer(Wire):
    """A server whose handshakes fail, since nobody trusts its certificate."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(lambda _: None)
        self._context = context

    def _serve(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError), self._context.wrap_socket(peer, server_side=True):
            pass


def test_a_server_that_says_no_word(transport: Transport) -> None:
    with Wire(lambda peer: peer.shutdown(socket.SHUT_RDWR)) as wire:
        assert "closed the connection without an answer" in told(transport, wire.base_url)


def test_a_network_that_is_not_there(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket, "create_connection", unreachable)

    assert "reached: Network is unreachable." in told(transport, "http://127.0.0.1:9/v1")


def test_a_cause_without_a_name(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("something")

    monkeypatch.setattr(socket, "create_connection", fail)

    assert told(transport, "http://127.0.0.1:9/v1").startswith("The server could not be reached. ")


def test_a_connection_that_is_not_taken_in_time(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def time_out(*_: object, **__: object) -> None:
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", time_out)
    connection = Connection(api_key="key", base_url="http://127.0.0.1:9/v1", max_retries=0)

    with pytest.raises(ConnectionTimeoutError, match=r"take the connection in time.*base_url"):
        create(connection, REQUEST, transport=transport)


@pytest.fixture
def behind_proxy(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def behind(url: str) -> None:
        monkeypatch.setenv("HTTP_PROXY", url)
        monkeypatch.setenv("HTTPS_PROXY", url)

    return behind


def test_a_proxy_that_refuses(transport: Transport, behind_proxy: Callable[[str], None]) -> None:
    answer = b"HTTP/1.1 407 Proxy says key\r\ncontent-length: 0\r\n\r\n"
    with Wire(lambda peer: peer.sendall(answer)) as wire:
        behind_proxy(wire.base_url.removesuffix("/v1"))
        sentence = told(transport, "https://gateway.example/v1")

    assert "the proxy did not connect to it (status 407)" in sentence


def test_a_proxy_that_is_not_there(
    transport: Transport, behind_proxy: Callable[[str], None]
) -> None:
    behind_proxy(f"http://127.0.0.1:{closed_port()}")

    assert "the proxy refused the connection" in told(transport, "http://gateway.example/v1")


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("url", ["gopher://127.0.0.1:1", "http://host:port", "socks5://host:1"])
def test_a_proxy_that_cannot_be_used(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, name: str, url: str
) -> None:
    for kind in ("_sync", "_async"):  # as where `socksio` is not installed
        monkeypatch.setitem(sys.modules, f"httpcore.{kind}.socks_proxy", None)
    monkeypatch.setenv(name, url)
    base_url = "http://gateway.example/v1" if name == "HTTP_PROXY" else "https://gateway.example/v1"

    expected = rf"proxy and certificate settings \({name}\), and base_url"
    assert re.search(expected, told(transport, base_url))
    with pytest.raises(ConnectionFailedError, match=expected):
        AsyncResponsesClient(ModelConfig(model_id="m", api_key="k", base_url=base_url))


WITHOUT_CERTIFICATES = """
import os, sys
from gpt5_responses import Connection, ConnectionFailedError, create
for path in ("/no/such/file", "/", sys.executable):
    os.environ["SSL_CERT_FILE"] = path
    try:
        create(Connection(api_key="k", base_url="http://127.0.0.1:9"), {"model": "m", "input": "Hi"})
    except ConnectionFailedError as error:
        print(error)
"""


def test_certificates_that_cannot_be_read() -> None:
    """In a process of their own, since they are read once."""
    environ = os.environ | {"HTTPS_PROXY": "http://127.0.0.1:9"}
    command = [sys.executable, "-c", WITHOUT_CERTIFICATES]
    printed = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)

    sentences = printed.stdout.splitlines()
    assert len(sentences) == 3
    assert all("certificate settings (SSL_CERT_FILE), and base_url" in told for told in sentences)


async def test_an_asynchronous_client_tells_the_same() -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    config = ModelConfig(model_id="m", api_key="k", base_url=url, max_retries=0)
    async with AsyncResponsesClient(config) as client:
        with pytest.raises(ResponsesError, match=r"the server refused the connection.*base_url"):
            await client.complete(Request(items=[]))
