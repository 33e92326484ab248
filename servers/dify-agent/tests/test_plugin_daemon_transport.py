import asyncio
import contextlib
import gzip
import json
import pickle
import threading
import tracemalloc
from dataclasses import dataclass
from itertools import pairwise

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from dify_agent.plugin_daemon_transport import (
    PROTOCOL_ERROR_TYPE,
    PluginDaemonError,
    PluginDaemonErrorPayload,
    decode_plugin_daemon_error_payload,
    plugin_daemon_dispatch_url,
    stream_plugin_daemon,
    to_plugin_daemon_jsonable,
    unwrap_plugin_daemon_error,
)


URL = "http://daemon/plugin/tenant-1/dispatch/tool/invoke"
KEY = "daemon-secret"
PAYLOAD = {"data": {"credentials": {"api_key": "tool-secret"}}}


class Body(httpx.AsyncByteStream):
    """A reply that arrives in given pieces, and that knows whether it was closed."""

    def __init__(self, *pieces):
        self.pieces = pieces
        self.is_closed = False

    async def __aiter__(self):
        for piece in self.pieces:
            yield piece

    async def aclose(self):
        self.is_closed = True


def frame(data, *, code=0, message="success"):
    envelope = {"code": code, "message": message, "data": data}
    return f"data: {json.dumps(envelope, ensure_ascii=False)}\n\n".encode()


def error(error_type, message, **fields):
    return json.dumps({"error_type": error_type, "message": message, **fields})


async def collect(client, payload=PAYLOAD, *, api_key=KEY, plugin_id="langgenius/search"):
    stream = stream_plugin_daemon(
        client, url=URL, api_key=api_key, plugin_id=plugin_id, payload=payload
    )
    async with contextlib.aclosing(stream):
        return [data async for data in stream]


async def stream(*pieces, status=200, payload=PAYLOAD):
    """Return what a daemon's reply yields, and make sure that it was closed."""
    body = Body(*pieces)

    transport = httpx.MockTransport(lambda _: httpx.Response(status, stream=body))
    async with httpx.AsyncClient(transport=transport) as client:
        try:
            return await collect(client, payload)
        finally:
            assert body.is_closed


async def failure(*pieces, **options):
    with pytest.raises(PluginDaemonError) as raised:
        await stream(*pieces, **options)
    return raised.value


async def test_a_request_carries_the_daemons_headers_and_the_payload():
    requests = []

    def answer(request):
        requests.append(request)
        return httpx.Response(200)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        assert await collect(client, {"user_id": "ü", "data": {"count": (1, 2)}}) == []

    [request] = requests
    assert request.method == "POST"
    assert str(request.url) == URL
    assert request.headers["X-Api-Key"] == "daemon-secret"
    assert request.headers["X-Plugin-ID"] == "langgenius/search"
    assert request.headers["Content-Type"] == "application/json"
    assert json.loads(request.content) == {"user_id": "ü", "data": {"count": [1, 2]}}


async def test_the_data_of_each_frame_is_yielded_in_order():
    assert await stream(frame({"n": 1}), frame([2]), frame("three"), frame(False)) == [
        {"n": 1},
        [2],
        "three",
        False,
    ]


@pytest.mark.parametrize(
    "noise",
    [b"\n", b": ping\n", b"event: message\n", b"id: 7\n", b"retry: 10\n", b"data:\n", b"\r\n"],
)
async def test_lines_without_a_frame_are_passed_over(noise):
    assert await stream(noise, frame(1), noise, frame(2), noise) == [1, 2]


@pytest.mark.parametrize("line", [b'{"code":0,"data":1}', b'data:{"code":0,"data":1}'])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
async def test_a_bare_envelope_and_a_last_line_without_an_end_are_frames(line, end):
    assert await stream(line + end) == [1]


async def test_line_separators_inside_a_text_end_no_line():
    text = "a\x85b\u2028c\u2029d\x0be"

    assert await stream(frame(text)) == [text]


@given(
    st.lists(st.text() | st.integers() | st.dictionaries(st.text(), st.text()), max_size=5),
    st.lists(st.integers(0, 400), max_size=12),
)
async def test_any_split_of_the_bytes_gives_the_same_frames(items, cuts):
    reply = b"".join(frame(item) for item in items)
    edges = [0, *sorted(min(cut, len(reply)) for cut in cuts), len(reply)]
    pieces = [reply[start:end] for start, end in pairwise(edges)]

    assert await stream(*pieces) == items


@pytest.mark.parametrize(
    "line",
    [
        b"data: {not json",
        b"data: [1]",
        b'data: {"message":"no code"}',
        b'data: {"code":"0","data":1}',
        b'data: {"code":true,"data":1}',
        b'data: {"code":0,"data":"\xff"}',
        b"<html>",
        b"data: " + b"[" * 200_000,
        b'data: {"code":0,"data":' + b"9" * 5_000 + b"}",
    ],
)
async def test_a_malformed_frame_is_the_daemons_error(line):
    error = await failure(line + b"\n")

    assert error.message == "Plugin daemon returned an invalid stream item."
    assert error.error_type == PROTOCOL_ERROR_TYPE
    assert error.status_code is None
    assert not isinstance(error, ValueError)


async def test_a_frame_without_data_is_the_daemons_error():
    error = await failure(frame(1), frame(None))

    assert error.message == "Plugin daemon returned an empty stream item."
    assert error.error_type == PROTOCOL_ERROR_TYPE


@pytest.mark.parametrize(("end", "most"), [(b"", 50), (b"\n", 130)])
async def test_a_reply_or_a_line_without_an_end_is_cut_off(end, most):
    taken = []

    def pieces():
        while True:
            taken.append(1)
            yield b":" + b"x" * 1024 * 1024 + end

    body = Body()
    body.pieces = pieces()

    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=body))
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(PluginDaemonError, match="reply is too large"):
            await collect(client)
    assert len(taken) <= most


@pytest.mark.parametrize("status", [200, 400])
async def test_a_reply_that_is_packed_is_not_unpacked(status):
    packed = gzip.compress(b"x" * 50_000_000)
    body = Body(packed)

    def answer(request):
        assert request.headers["Accept-Encoding"] == "identity"
        return httpx.Response(status, headers={"Content-Encoding": "gzip"}, stream=body)

    tracemalloc.start()
    try:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            with pytest.raises(PluginDaemonError):
                await collect(client)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert body.is_closed
    assert peak < 10_000_000


async def test_an_error_frame_says_its_nested_type_and_message():
    inner = error("InvokeRateLimitError", "slow down", args={"description": "x"})
    outer = error("PluginInvokeError", inner, args=None)

    raised = await failure(frame({"n": 1}), frame(None, code=-500, message=outer))

    assert raised.error_type == "InvokeRateLimitError"
    assert raised.message == str(raised) == "slow down"
    assert raised.status_code is None


@pytest.mark.parametrize(
    ("message", "said"),
    [("", "Plugin daemon returned an error stream item."), ("plain words", "plain words")],
)
async def test_an_error_frame_without_a_payload_says_its_message(message, said):
    raised = await failure(frame(None, code=-400, message=message))

    assert raised.message == said
    assert raised.error_type is None


async def test_an_error_frame_whose_message_is_no_text_says_a_fixed_sentence():
    raised = await failure(b'data: {"code":-500,"message":{"a":1}}\n')

    assert raised.message == "Plugin daemon returned an error stream item."


@pytest.mark.parametrize(
    ("status", "body", "error_type", "message"),
    [
        (400, error("PluginDaemonBadRequestError", "missing query"), "PluginDaemonBadRequestError", "missing query"),
        (404, error("PluginInvokeError", error("Lost", "gone")), "Lost", "gone"),
        (401, "no entry", None, "no entry"),
        (502, "", None, "Plugin daemon stream request failed."),
        (500, "\ufffd\ufffd", None, "\ufffd\ufffd"),
        (302, "moved", None, "moved"),
        (
            401,
            json.dumps({"code": -401, "message": error("PluginDaemonUnauthorizedError", "bad key")}),
            "PluginDaemonUnauthorizedError",
            "bad key",
        ),
    ],
)  # fmt: skip
async def test_an_error_status_is_an_error_with_that_status(status, body, error_type, message):
    raised = await failure(body.encode(), status=status)

    assert raised.status_code == status
    assert raised.error_type == error_type
    assert raised.message == message


async def test_the_body_of_an_error_status_may_be_no_text():
    assert (await failure(b"\xff\xfe", status=500)).message == "\ufffd\ufffd"


async def test_only_the_beginning_of_a_long_error_is_kept():
    assert (await failure(*[b"x" * 10_000] * 100, status=500)).message == "x" * 10_000
    assert (await failure(frame(None, code=-1, message="y" * 20_000))).message == "y" * 10_000


@pytest.mark.parametrize("text", ["daemon-secret", "tool-secret"])
@pytest.mark.parametrize("status", [200, 500])
async def test_no_error_shows_a_credential(text, status):
    raised = await failure(
        frame(None, code=-500, message=f"no access with {text}, sorry"), status=status
    )

    assert raised.message == "no access with [redacted], sorry"
    assert text not in repr(raised)


async def test_the_name_of_an_error_shows_no_credential_either():
    raised = await failure(
        frame(None, code=-500, message=error("Error tool-secret" + "x" * 300, "no"))
    )

    assert raised.error_type == ("Error [redacted]" + "x" * 300)[:200]


@pytest.mark.untraced
async def test_a_credential_is_hidden_in_its_spelling_in_a_url_too():
    raised = await failure(
        frame(None, code=-500, message="GET /search?key=a%2Fb%2Bc%3D failed"),
        payload={
            "data": {"credentials": {"api_key": "a/b+c=", "verbose": "true", "port": 12345678}}
        },
    )

    assert raised.message == "GET /search?key=[redacted] failed"


@pytest.mark.parametrize("name", ["extra_headers", "Custom-Headers"])
@pytest.mark.parametrize("write", [json.dumps, dict], ids=["text", "mapping"])
async def test_each_value_of_headers_among_the_credentials_is_hidden(name, write):
    headers = {"X-Gateway": "gate-key-1", "Authorization": "Bearer token-key-2"}
    raised = await failure(
        frame(None, code=-500, message="no gate-key-1, and no token-key-2 of Bearer token-key-2"),
        payload={"data": {"credentials": {name: write(headers)}}},
    )

    assert raised.message == "no [redacted], and no [redacted] of [redacted]"


async def test_a_payload_without_credentials_is_sent_as_well():
    assert await stream(frame(1), payload={"data": None}) == [1]


async def test_the_key_does_not_follow_a_redirect():
    hosts = []

    def answer(request):
        hosts.append(request.url.host)
        return httpx.Response(307, headers={"Location": "http://elsewhere/"})

    transport = httpx.MockTransport(answer)
    async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
        with pytest.raises(PluginDaemonError):
            await collect(client)
    assert hosts == ["daemon"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"api_key": f"{KEY}\n"}, "the daemon's API key"),
        ({"api_key": f" {KEY}"}, "the daemon's API key"),
        ({"api_key": f"{KEY}\ud800"}, "the daemon's API key"),
        ({"plugin_id": "langgenius/search\r\nX-Api-Key: other"}, "plugin_id"),
    ],
)
async def test_what_cannot_stand_in_a_header_is_named_and_not_shown(given, field):
    async with httpx.AsyncClient(transport=httpx.MockTransport(None)) as client:
        with pytest.raises(PluginDaemonError) as caught:
            await collect(client, **given)
    assert str(caught.value) == f"{field}: expected one line of text without spaces around it"


async def test_a_transport_error_is_raised_without_the_request_and_its_secrets():
    def refuse(request):
        raise httpx.ConnectError("refused", request=request)

    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        with pytest.raises(httpx.ConnectError, match="refused") as caught:
            await collect(client)
    stored = pickle.dumps(caught.value)
    assert [secret in stored for secret in (b"daemon-secret", b"tool-secret")] == [False, False]


async def test_a_reply_that_cannot_be_unpacked_is_the_daemons_error():
    def answer(_request):
        return httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=Body(b"no gzip"))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        with pytest.raises(PluginDaemonError, match="invalid stream item") as caught:
            await collect(client)
    assert caught.value.error_type == PROTOCOL_ERROR_TYPE


@dataclass
class Endless:
    """A loopback daemon that answers with one frame, and then waits for the connection to close."""

    server: asyncio.Server
    is_left: asyncio.Event

    @property
    def url(self):
        port = self.server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/plugin/t/dispatch/tool/invoke"


@contextlib.asynccontextmanager
async def endless_daemon():
    is_left = asyncio.Event()

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + frame("first"))
        await writer.drain()
        while await reader.read(65536):
            pass
        is_left.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Endless(server=server, is_left=is_left)
    finally:
        server.close()


def open_stream(client, url):
    return stream_plugin_daemon(client, url=url, api_key="k", plugin_id="p", payload=PAYLOAD)


async def test_a_frame_arrives_before_the_reply_ends_and_leaving_closes_the_connection():
    async with (
        endless_daemon() as daemon,
        httpx.AsyncClient(trust_env=False, verify=False) as client,
    ):
        async with contextlib.aclosing(open_stream(client, daemon.url)) as frames:
            assert await anext(frames) == "first"
        await daemon.is_left.wait()


async def test_cancelling_the_reader_closes_the_connection():
    async def read_all(client, url, is_reading):
        async for _ in open_stream(client, url):
            is_reading.set()

    async with (
        endless_daemon() as daemon,
        httpx.AsyncClient(trust_env=False, verify=False) as client,
    ):
        is_reading = asyncio.Event()
        task = asyncio.create_task(read_all(client, daemon.url, is_reading))
        await is_reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await daemon.is_left.wait()


class Model(BaseModel):
    name: str
    tags: tuple[str, ...] = ()


def test_models_and_collections_become_plain_json_values():
    value = {"a": Model(name="x", tags=("t",)), "b": [Model(name="y")], "c": (1, None)}

    assert to_plugin_daemon_jsonable(value) == {
        "a": {"name": "x", "tags": ["t"]},
        "b": [{"name": "y", "tags": []}],
        "c": [1, None],
    }


async def test_a_value_that_json_does_not_know_is_left_for_json_to_refuse():
    lock = threading.Lock()

    assert to_plugin_daemon_jsonable(lock) is lock
    with pytest.raises(TypeError, match="not JSON serializable"):
        await collect(httpx.AsyncClient(), {"data": lock})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [-float("inf")]])
async def test_a_number_that_json_cannot_carry_is_a_value_error(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        await collect(httpx.AsyncClient(), {"data": value})


async def test_a_payload_that_is_nested_too_deeply_is_a_value_error():
    value = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(ValueError, match="nested too deeply"):
        await collect(httpx.AsyncClient(), {"data": value})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
)


@pytest.mark.untraced
@given(JSON)
def test_plain_json_stays_as_it_is(value):
    assert to_plugin_daemon_jsonable(value) == value


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "words",
        "[]",
        "null",
        '{"error_type":"A"}',
        '{"message":"m"}',
        '{"error_type":1,"message":"m"}',
        '{"error_type":"A","message":null}',
        "[" * 200_000,
    ],
)
def test_what_is_no_error_payload_decodes_to_none(raw):
    assert decode_plugin_daemon_error_payload(raw) is None


@given(st.text(), st.text())
def test_an_error_payload_decodes_to_what_it_was_made_of(error_type, message):
    decoded = decode_plugin_daemon_error_payload(error(error_type, message, args={"a": 1}))

    assert decoded == PluginDaemonErrorPayload(error_type=error_type, message=message)


def nested(depth, error_type, message):
    for _ in range(depth):
        error_type, message = "PluginInvokeError", error(error_type, message)
    return {"error_type": error_type, "message": message}


@given(st.integers(0, 6), st.text().filter(lambda name: name != "PluginInvokeError"), st.text())
def test_unwrapping_finds_the_innermost_error(depth, error_type, message):
    unwrapped = unwrap_plugin_daemon_error(**nested(depth, error_type, message))

    assert unwrapped == PluginDaemonErrorPayload(error_type=error_type, message=message)


@given(st.integers(0, 6), st.just("X") | st.text("PluginInvokeErro"), st.text('ab"\\'))
def test_unwrapping_twice_is_unwrapping_once(depth, error_type, message):
    once = unwrap_plugin_daemon_error(**nested(depth, error_type, message))

    assert unwrap_plugin_daemon_error(error_type=once.error_type, message=once.message) == once


def test_a_plugin_error_with_plain_text_is_the_innermost_one():
    unwrapped = unwrap_plugin_daemon_error(**nested(2, "PluginInvokeError", "plain"))

    assert unwrapped == PluginDaemonErrorPayload(error_type="PluginInvokeError", message="plain")


def test_unwrapping_ends_at_a_bound():
    unwrapped = unwrap_plugin_daemon_error(**nested(18, "ValueError", "end"))

    assert unwrapped == PluginDaemonErrorPayload(**nested(2, "ValueError", "end"))


@pytest.mark.parametrize(
    "url", ["http://daemon:5002", "http://daemon:5002/", "http://daemon:5002//"]
)
def test_an_operations_address_names_the_tenant(url):
    assert plugin_daemon_dispatch_url(url, tenant_id="a/../b?c", operation="llm/invoke") == (
        "http://daemon:5002/plugin/a%2F..%2Fb%3Fc/dispatch/llm/invoke"
    )


@pytest.mark.parametrize(("tenant_id", "written"), [(".", "%2E"), ("..", "%2E%2E"), ("a.b", "a.b")])
def test_a_tenant_of_dots_stays_a_part_of_the_path(tenant_id, written):
    url = plugin_daemon_dispatch_url("http://daemon", tenant_id=tenant_id, operation="llm/invoke")

    assert httpx.URL(url).raw_path == f"/plugin/{written}/dispatch/llm/invoke".encode()
