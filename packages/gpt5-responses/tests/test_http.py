"""Which requests are sent again and after what, which connections serve more than one, and what is trusted."""

import json
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from wire import DONE, REQUEST, SILENT, Answer, Wire, arrive, frames, head, stream, whole

from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    ConnectionFailedError,
    InvalidRequestError,
    ModelConfig,
    Request,
    ResponsesError,
    ServerError,
    Transport,
    acreate,
    create,
    open_stream,
)
from gpt5_responses._http.client import load_trusted, trusted  # noqa: PLC2701 - what is read once a process is forgotten between tests


CERTIFICATE = Path(__file__).parent / "nobody_trusts_this.pem"


def test_the_official_client_is_not_imported() -> None:
    code = "import sys, gpt5_responses; print(*{'openai', 'httpx', 'httpx2'} & sys.modules.keys())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == ""


# What is sent again.


def in_turn(*answers: Answer) -> Answer:
    left = iter(answers)

    def answer(peer: socket.socket) -> None:
        next(left)(peer)

    return answer


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return how long was waited between tries, in whose place nothing is waited."""
    waited: list[float] = []
    ours = threading.get_ident()

    def wait(seconds: float) -> None:
        # Not those of a thread that still cancels what an earlier test has let go of.
        if threading.get_ident() == ours:
            waited.append(seconds)

    monkeypatch.setattr("gpt5_responses._http.steps.Blocking.sleep", wait)
    return waited


@pytest.mark.parametrize(
    ("headers", "lowest", "highest"),
    [
        ({"retry_after": "7"}, 7, 7),
        ({"retry_after": "0.5"}, 0.5, 0.5),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5, 1.5),
        ({"retry_after_ms": "soon", "retry_after": "120"}, 120, 120),
        ({"x": "1\r\nllm_provider-retry-after: 7"}, 7, 7),  # a proxy's word for its upstream's
        ({"x": "1\r\nllm_provider-retry-after-ms: 1500"}, 1.5, 1.5),
        ({"x": "1\r\nllm_provider-retry-after: 9", "retry_after": "7"}, 7, 7),
        ({"retry_after": formatdate(0)}, 0.37, 0.5),
        ({"retry_after": "-3"}, 0.37, 0.5),
        ({"retry_after": "nan"}, 0.37, 0.5),
        ({"retry_after": "inf"}, 0.37, 0.5),
        ({"retry_after": "Mon, 1 Jan 99999999999999999999 00:00:00 GMT"}, 0.37, 0.5),
        ({"retry_after": "soon"}, 0.37, 0.5),
        ({}, 0.37, 0.5),
    ],
    ids=repr,
)
def test_the_pause_is_what_the_server_asks_for(
    transport: Transport, pauses: list[float], headers: dict[str, str], *, lowest: float, highest: float
) -> None:  # fmt: skip
    with Wire(in_turn(whole(b"{}", "503 x", **headers), stream(DONE))) as wire:
        create(wire.connection(max_retries=1), REQUEST, transport=transport)

    assert lowest <= pauses[0] <= highest


def test_the_pause_may_be_told_as_the_time_of_its_end(
    transport: Transport, pauses: list[float]
) -> None:
    end = formatdate(time.time() + 110, usegmt=True)
    with Wire(in_turn(whole(b"{}", "503 x", retry_after=end), stream(DONE))) as wire:
        create(wire.connection(max_retries=1), REQUEST, transport=transport)

    assert 1 <= pauses[0] <= 110


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"detail": "Not taken: x"}', "application/json"),
        (b'{"error": "Not taken: x", "code": 422}', "text/plain; charset=utf-8"),
        (b"Not taken: x\n", "text/plain"),
        (b"<!-- 7 --><h2>Not taken: x</h2>", "text/html"),
        (b"Not taken: x", "application/octet-stream"),
        (b"<!DOCTYPE html><html><title>Not taken: x</title>", "text/html"),
        (b'id: 1\nevent: error\ndata: {"message": "Not taken: x"}\n\n', "text/event-stream"),
        (b'\xef\xbb\xbf{"message": "Not taken: x"}', "application/json"),
        ('"Not taken: x"'.encode("utf-16"), "application/json"),
        ("Not taken: x \u2013".encode("cp1252"), "text/plain; charset=windows-1252"),
        (b"Not taken: x \x96", "text/plain; charset=nobody-knows"),
        (b"Not taken: x \x96", "text/plain"),
    ],
)
def test_a_reason_is_read_however_it_is_written(
    transport: Transport, body: bytes, content_type: str
) -> None:
    answer = whole(body, "422 x", content_type=content_type)
    told = r"refused the request \(status 422\): Not taken: x( [\u2013\ufffd])?\n"
    with Wire(answer) as wire, pytest.raises(InvalidRequestError, match=told) as caught:
        create(wire.connection(), REQUEST, transport=transport)

    assert caught.value.code is None  # the status says as much


@pytest.mark.parametrize(
    "body",
    [
        b'{"type": "about:blank", "failure": "No", "input": "too long"}',
        b'{"error": {"description": "No"}}',
    ],
)
def test_a_reason_in_an_unknown_form_is_shown_as_it_is(transport: Transport, body: bytes) -> None:
    with Wire(whole(body, "400 x")) as wire, pytest.raises(InvalidRequestError) as caught:
        create(wire.connection(), REQUEST, transport=transport)

    assert str(caught.value).endswith(f"(status 400): {body.decode()}")


def test_all_of_a_long_list_of_mistakes_is_read(transport: Transport) -> None:
    quoted = {"loc": ["body", "a"], "msg": "no picture", "input": "x" * 500_000}
    last = {"loc": ["body", "b", 0], "msg": "not permitted", "type": "extra_forbidden"}
    answer = whole(json.dumps({"detail": [quoted, last]}).encode(), "422 x")
    with Wire(answer) as wire, pytest.raises(InvalidRequestError) as caught:
        create(wire.connection(), REQUEST, transport=transport)

    assert caught.value.explanation == "a: no picture; b.0: not permitted"
    assert (caught.value.code, caught.value.param) == ("extra_forbidden", "a")


def test_pauses_grow(transport: Transport, pauses: list[float]) -> None:
    with Wire(whole(b"{}", "500 x")) as wire, pytest.raises(ServerError):
        create(wire.connection(max_retries=7), REQUEST, transport=transport)

    expected = (0.5, 1, 2, 4, 8, 8, 8)
    assert all(0.74 * most <= pause <= most for pause, most in zip(pauses, expected, strict=True))


@pytest.mark.parametrize(
    ("status", "headers", "requests"),
    [
        (500, {"x_should_retry": "false"}, 1),
        (400, {"x_should_retry": "true"}, 3),
        (429, {"retry_after": "121"}, 1),
        (429, {"retry_after_ms": "121000", "x_should_retry": "true"}, 1),
        (418, {}, 1),
        (302, {}, 1),
    ],
)
def test_what_a_server_says_of_another_try_is_followed(
    transport: Transport, pauses: list[float], status: int, headers: dict[str, str], requests: int
) -> None:
    with Wire(whole(b"{}", f"{status} x", **headers)) as wire, pytest.raises(ResponsesError):
        create(wire.connection(max_retries=2), REQUEST, transport=transport)

    assert (len(wire.requests), len(pauses)) == (requests, requests - 1)


async def ask(wire: Wire, times: int, **settings: object) -> None:
    config = ModelConfig(**{"model_id": "m", "api_key": "k", "base_url": wire.base_url, **settings})
    async with AsyncResponsesClient(config) as client:
        for _ in range(times):
            await client.complete(Request(items=[]))


async def test_an_asynchronous_client_tries_again_too() -> None:
    failing = whole(b"{}", "500 x", retry_after_ms="1")
    with Wire(in_turn(failing, failing, stream(DONE))) as wire:
        await ask(wire, 1, max_retries=2)

    assert len(wire.requests) == 3


# Connections that have been kept.


def hang_up(peer: socket.socket) -> None:
    peer.shutdown(socket.SHUT_RDWR)


def hang_up_in_mid_head(peer: socket.socket) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\n")
    peer.shutdown(socket.SHUT_RDWR)


def test_a_kept_connection_that_is_gone_costs_one_more_request_and_no_more(
    transport: Transport, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing came back, so that it most likely was closed before the request; but a server that reads and hangs up could go on for ever."""
    with Wire(in_turn(stream(DONE), hang_up, hang_up)) as wire:
        create(wire.connection(), REQUEST, transport=transport)
        with pytest.raises(ConnectionFailedError, match="without an answer"):
            create(wire.connection(), REQUEST, transport=transport)

    assert (len(wire.requests), wire.connections) == (3, 2)
    (own_id,) = re.findall(rb"X-Client-Request-Id: (\S+)", wire.requests[1])
    assert caplog.messages == [
        f"The server has closed an idle connection: the request is sent once more, on a new one (X-Client-Request-Id: {own_id.decode()})"
    ]


async def test_a_request_that_an_answer_has_begun_for_is_not_sent_again(
    transport: Transport,
) -> None:
    with Wire(in_turn(stream(DONE), hang_up_in_mid_head, stream(DONE))) as wire:
        create(wire.connection(), REQUEST, transport=transport)
        with pytest.raises(ConnectionFailedError):
            create(wire.connection(), REQUEST, transport=transport)
    with (
        Wire(in_turn(stream(DONE), hang_up_in_mid_head, stream(DONE))) as asked,
        pytest.raises(ConnectionFailedError),
    ):
        await ask(asked, 2, max_retries=0)

    assert len(wire.requests) == len(asked.requests) == 2


async def test_what_came_along_with_an_answer_answers_no_other_request(
    transport: Transport,
) -> None:
    """A server or gateway out of step: two answers at once, of which the second would be somebody else's."""
    both: list[bytes] = []
    peer: Any = SimpleNamespace(sendall=both.append)
    stream(DONE)(peer)
    stream({**DONE, "response": {"status": "completed", "id": "stale"}})(peer)
    answers = [lambda peer: peer.sendall(b"".join(both)), *[stream(DONE)] * 2]
    with Wire(in_turn(*answers)) as wire:
        told = [create(wire.connection(), REQUEST, transport=transport) for _ in range(2)]
    with Wire(in_turn(*answers)) as asked:
        await ask(asked, 2)

    assert [one.response_id for one in told] == [None, None]
    assert wire.connections == asked.connections == 2


def closed_after(answer: Answer, closed: threading.Semaphore) -> Answer:
    """Answer and close the connection, without a word about it; tell when that has arrived."""

    def close(peer: socket.socket) -> None:
        answer(peer)
        peer.shutdown(socket.SHUT_WR)
        arrive(peer)
        closed.release()

    return close


def test_a_connection_that_the_server_has_closed_is_not_used(transport: Transport) -> None:
    closed = threading.Semaphore(0)
    with Wire(closed_after(stream(DONE), closed)) as wire:
        for _ in range(3):
            create(wire.connection(), REQUEST, transport=transport)
            assert closed.acquire(timeout=120)

    assert len(wire.requests) == wire.connections == 3


@pytest.mark.parametrize("said", ["close", "Close", "x, close"])
def test_a_connection_that_the_server_means_to_close_is_not_kept(
    transport: Transport, said: str
) -> None:
    with Wire(stream(DONE, connection=said)) as wire:
        for _ in range(2):
            create(wire.connection(), REQUEST, transport=transport)

    assert wire.connections == 2


def test_a_connection_is_not_kept_for_long(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._http.client._IDLE_SECONDS", -1)
    with Wire(stream(DONE)) as wire:
        for _ in range(2):
            create(wire.connection(), REQUEST, transport=transport)

    assert wire.connections == 2


@pytest.mark.parametrize(
    ("named", "connections"), [("timeout=600", 1), ("max=9, timeout=60", 1), ("timeout=0", 2)]
)
def test_a_connection_is_kept_for_as_long_as_its_server_says(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, named: str, connections: int
) -> None:
    monkeypatch.setattr("gpt5_responses._http.client._IDLE_SECONDS", -1)
    with Wire(stream(DONE, keep_alive=named)) as wire:
        for _ in range(2):
            create(wire.connection(), REQUEST, transport=transport)

    assert wire.connections == connections


def test_openais_connections_are_kept_while_tools_are_at_work(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._http.client._IDLE_SECONDS", -1)
    monkeypatch.setattr(Connection, "is_openai", True)
    with Wire(stream(DONE)) as wire:
        for _ in range(2):
            create(wire.connection(), REQUEST, transport=transport)

    assert wire.connections == 1


def test_no_more_connections_are_kept_than_are_needed(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpt5_responses._http.client._MOST_IDLE", 1)
    with Wire(stream(DONE)) as wire:
        for _ in range(2):
            opened = [open_stream(wire.connection(), REQUEST, transport=transport) for _ in "ab"]
            for each in opened:
                list(each)

    assert wire.connections == 3


def test_a_connection_whose_other_end_has_no_name_any_more_is_told(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: socket.socket) -> None:
        raise OSError(107, "Transport endpoint is not connected")

    with Wire(stream(DONE)) as wire:
        monkeypatch.setattr(socket.socket, "getpeername", gone)
        with pytest.raises(ConnectionFailedError, match="not connected"):
            create(wire.connection(), REQUEST, transport=transport)


def test_an_answer_that_has_been_read_and_closed_leaves_its_connection_alone(
    transport: Transport,
) -> None:
    """Whoever still holds what read it may let go of it while the next answer is being read."""
    whole_answer = whole(json.dumps(SILENT).encode())
    with Wire(in_turn(whole_answer, stream(DONE))) as wire:
        first = open_stream(wire.connection(), REQUEST, transport=transport)
        batches = first.batches()
        next(batches)
        first.close()
        second = open_stream(wire.connection(), REQUEST, transport=transport).batches()
        next(second)
        batches.close()
        list(second)

    assert wire.connections == 1


# Proxies and certificates.


class Proxy(Wire):
    """A proxy that answers for every server, and for one with TLS by its certificate."""

    def __init__(self) -> None:
        super().__init__(self._answer_for_all)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(CERTIFICATE)

    def _answer_for_all(self, peer: socket.socket) -> None:
        if not self.requests[-1].startswith(b"CONNECT"):
            stream(DONE)(peer)
            return
        peer.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        with self._context.wrap_socket(peer, server_side=True) as inner:
            while asked := inner.recv(65_536):
                self.requests.append(asked)
                if b"\r\n\r\n{" in asked or not asked.startswith(b"POST"):
                    inner.sendall(head(content_type="text/event-stream", content_length=str(len(frames([DONE])))))  # fmt: skip
                    inner.sendall(frames([DONE]))


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_is_used_with_its_password_and_its_connection_again(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    target = Connection(api_key="k", base_url=f"{scheme}://gateway.example/v1", max_retries=0)
    with Proxy() as proxy:
        address = proxy.base_url.removesuffix("/v1").replace("//", "//ann:p%40ss@")
        monkeypatch.setenv(f"{scheme.upper()}_PROXY", address.removeprefix("http://"))
        for _ in range(2):
            assert create(target, REQUEST, transport=transport).status == "completed"
        connections = proxy.connections
        await acreate(target, REQUEST)
        transport.close()

    first = proxy.requests[0].split(b"\r\n")
    asked = b"POST http://gateway.example:80/v1/responses" if scheme == "http" else b"CONNECT gateway.example:443"  # fmt: skip
    assert first[0].startswith(asked)
    assert b"Proxy-Authorization: Basic YW5uOnBAc3M=" in first
    assert connections == 1
    assert not any(b"Proxy-Auth" in asked for asked in proxy.requests if b"POST /v1" in asked)


@pytest.mark.parametrize("excepted", ["127.0.0.1", "x.example, 127.0.0.1", "*"])
def test_no_proxy_is_used_where_the_environment_says_so(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, excepted: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", excepted)
    with Wire(stream(DONE)) as wire:
        assert create(wire.connection(), REQUEST, transport=transport).status == "completed"


class TlsServer(Wire):
    """A server with a certificate."""

    def _serve(self, peer: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        with peer:
            super()._serve(context.wrap_socket(peer, server_side=True))


async def test_a_certificate_that_the_environment_names_is_trusted(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with TlsServer(stream(DONE)) as server:
        url = server.base_url.replace("http:", "https:").replace("127.0.0.1", "localhost")
        known = Connection(api_key="k", base_url=url, max_retries=0)
        for _ in range(2):
            assert create(known, REQUEST, transport=transport).status == "completed"
        assert server.connections == 1
        assert (await acreate(known, REQUEST)).status == "completed"
        transport.close()


def test_the_machine_s_certificates_are_trusted_and_where_it_has_none_those_that_come_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda *_: None)
    monkeypatch.delenv("SSL_CERT_DIR")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    load_trusted.cache_clear()

    assert trusted().cert_store_stats()["x509_ca"] > 50
    own = lambda context, *_: context.load_verify_locations(CERTIFICATE)  # noqa: E731
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", own)
    load_trusted.cache_clear()
    assert trusted().cert_store_stats()["x509_ca"] == 1
    load_trusted.cache_clear()


# What is sent.


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ("/v1", "/v1/responses"),
        ("/a%20b/ü/v1", "/a%20b/%C3%BC/v1/responses"),
        ("/v1?api-version=1&x=a+b%2Fc", "/v1/responses?api-version=1&x=a+b%2Fc"),
    ],
)
def test_the_address_is_sent_as_it_was_given(transport: Transport, base: str, target: str) -> None:
    with Wire(stream(DONE)) as wire:
        root = wire.base_url.removesuffix("/v1")
        create(Connection(api_key="k", base_url=root + base), REQUEST, transport=transport)

    line, *headers = wire.requests[0].partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert line == f"POST {target} HTTP/1.1"
    assert f"Host: {root.removeprefix('http://')}" in headers


def test_text_goes_out_as_utf_8_and_half_a_character_as_a_question_mark(
    transport: Transport,
) -> None:
    with Wire(stream(DONE)) as wire:
        create(wire.connection(), {**REQUEST, "input": "für \ud83d 你"}, transport=transport)

    assert '"input":"für ? 你"'.encode() in wire.requests[0]
    assert re.search(rb"Content-Length: \d+\r\n", wire.requests[0])


def nested(depth: int) -> object:
    value: object = "x"
    for level in range(depth):
        value = {"in": value} if level % 2 else [value]
    return value


FORMAT = {"type": "json_schema", "name": "n", "schema": nested(230)}
ITSELF: list[object] = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"metadata": nested(200)}, "metadata"),
        ({"input": [{"role": "user", "content": nested(300)}]}, "input[0].content"),
        ({"tools": [{"type": "function", "parameters": nested(5_000)}]}, "tools[0].parameters"),
        ({"text": {"format": FORMAT}}, "text.format.schema.in"),
        ({"metadata": {"a": (nested(190), nested(1_100))}}, "metadata.a"),
        ({"include": ITSELF}, "include"),
    ],
)
async def test_a_request_that_nests_too_deep_names_the_field_and_is_not_sent(
    transport: Transport, fields: dict[str, object], field: str
) -> None:
    with Wire(stream(DONE)) as wire:
        with pytest.raises(InvalidRequestError, match="nests over 200 levels") as caught:
            create(wire.connection(), {**REQUEST, **fields}, transport=transport)
        with pytest.raises(InvalidRequestError, match="nests over 200 levels"):
            await acreate(wire.connection(), {**REQUEST, **fields})

    assert str(caught.value.param).startswith(field)
    assert wire.requests == []


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"temperature": float("nan"), "metadata": nested(199)}, "temperature"),
        ({"input": [{"content": b"bytes"}]}, "input[0].content"),
        ({"tools": [1, {"x": {1, 2}}]}, "tools[1].x"),
        ({("a", "b"): 1}, "it"),
    ],
)
def test_a_value_that_json_does_not_have_names_the_field(
    transport: Transport, fields: dict[str, object], field: str
) -> None:
    with Wire(stream(DONE)) as wire:
        with pytest.raises(InvalidRequestError, match="cannot be written as JSON") as caught:
            create(wire.connection(), {**REQUEST, **fields}, transport=transport)
        create(wire.connection(), {**REQUEST, "metadata": nested(199)}, transport=transport)

    assert (caught.value.param, len(wire.requests)) == (field, 1)
