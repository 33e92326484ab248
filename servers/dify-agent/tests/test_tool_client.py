import asyncio
import base64
import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dify_agent.layers.dify_plugin.tool_client import (
    DifyPluginDaemonToolClient,
    DifyPluginToolClientError,
    DifyPluginToolInvokeMessage,
)
from dify_agent.plugin_daemon_transport import (
    SILENCE_ERROR_TYPE,
    PluginDaemonError,
    SilenceLimits,
)


Message = DifyPluginToolInvokeMessage
CHUNK = 8192


def frames(*items):
    return "".join(
        f"data: {json.dumps({'code': 0, 'message': 'success', 'data': item})}\n\n" for item in items
    )


def text(value):
    return {"type": "text", "message": {"text": value}}


def chunk(data, *, sequence=0, total=None, end=False, blob_id="b1", **fields):
    message = {
        "id": blob_id,
        "sequence": sequence,
        "total_length": len(data) if total is None else total,
        "blob": base64.b64encode(data).decode(),
        "end": end,
    }
    return {"type": "blob_chunk", "message": message, **fields}


def chunks_of(data, *, size=CHUNK, blob_id="b1", **fields):
    """Cut a file up as the plugin SDK does: full chunks, and an empty one that ends it."""
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    cut = [
        chunk(piece, sequence=n, total=len(data), blob_id=blob_id, **fields)
        for n, piece in enumerate(pieces)
    ]
    return [*cut, chunk(b"", sequence=len(pieces), total=len(data), end=True, blob_id=blob_id, **fields)]  # fmt: skip


async def invoke(
    answer, *, daemon_url="http://daemon", user_id="user-1", silence=None, **arguments
):
    if not callable(answer):
        reply = answer

        def answer(_):
            return (
                reply if isinstance(reply, httpx.Response) else httpx.Response(200, content=reply)
            )

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http_client:
        client = DifyPluginDaemonToolClient(
            tenant_id="tenant-1",
            plugin_id="langgenius/search",
            plugin_daemon_url=daemon_url,
            plugin_daemon_api_key="daemon-secret",
            user_id=user_id,
            http_client=http_client,
            silence=silence or SilenceLimits(),
        )
        call = {
            "provider": "search",
            "tool_name": "web_search",
            "credential_type": "api-key",
            "credentials": {"api_key": "tool-secret"},
            "tool_parameters": {"query": "dify"},
        }
        return await client.invoke(**(call | arguments))


async def refused(reply, **arguments):
    with pytest.raises(DifyPluginToolClientError) as raised:
        await invoke(reply, **arguments)
    return raised.value


@pytest.mark.parametrize("daemon_url", ["http://daemon", "http://daemon/"])
async def test_an_invocation_has_exactly_the_daemons_path_headers_and_payload(daemon_url):
    requests = []

    def answer(request):
        requests.append(request)
        return httpx.Response(200)

    assert await invoke(answer, daemon_url=daemon_url) == []
    [request] = requests
    assert request.method == "POST"
    assert str(request.url) == "http://daemon/plugin/tenant-1/dispatch/tool/invoke"
    assert request.headers["X-Api-Key"] == "daemon-secret"
    assert request.headers["X-Plugin-ID"] == "langgenius/search"
    assert request.headers["Content-Type"] == "application/json"
    assert json.loads(request.content) == {
        "data": {
            "provider": "search",
            "tool": "web_search",
            "credentials": {"api_key": "tool-secret"},
            "credential_type": "api-key",
            "tool_parameters": {"query": "dify"},
        },
        "user_id": "user-1",
    }


async def test_a_user_that_is_not_known_is_left_out():
    payloads = []

    def answer(request):
        payloads.append(json.loads(request.content))
        return httpx.Response(200)

    await invoke(answer, user_id=None)

    assert list(payloads[0]) == ["data"]


async def test_messages_are_returned_in_order():
    messages = await invoke(frames(text("a"), {"type": "json", "message": {"b": 1}}, text("c")))

    assert [message.type for message in messages] == ["text", "json", "text"]
    assert messages[1].message == Message.JsonMessage(json_object={"b": 1})


async def test_a_message_of_an_unknown_type_and_a_log_without_metadata_are_no_errors():
    log = {"type": "log", "message": {"label": "l", "metadata": None}}

    assert len(await invoke(frames({"type": "hologram", "message": None}, log))) == 2


@pytest.mark.parametrize(
    "item",
    [
        "words",
        [text("a")],
        {"message": {"text": "no type"}},
        {"type": "text", "message": {"text": {"tool-secret": 1}}},
        {"type": "text", "message": {"text": "t"}, "meta": "no mapping"},
    ],
)
async def test_a_message_of_an_unknown_shape_is_the_daemons_error(item):
    error = await refused(frames(item))

    assert error.message == "Plugin daemon returned an invalid stream item."
    assert error.error_type == "PluginDaemonProtocolError"
    assert not isinstance(error, ValueError)
    assert error.__cause__ is None


class Reply(httpx.AsyncByteStream):
    """A reply that knows whether it was closed."""

    def __init__(self, *pieces):
        self.pieces = pieces
        self.is_closed = False

    async def __aiter__(self):
        for piece in self.pieces:
            yield piece.encode()

    async def aclose(self):
        self.is_closed = True


async def test_the_reply_is_closed_where_reading_it_stops():
    reply = Reply(frames({"type": "text"}), frames(text("never read")))

    await refused(httpx.Response(200, stream=reply))

    assert reply.is_closed


@pytest.mark.parametrize(
    ("item", "most"),
    [
        (text("x" * 100_000), 50),
        ({"type": "log", "message": {"label": "x" * 100_000}}, 50),
        ({"type": "other", "message": {"a": ["x" * 100_000]}}, 50),
        ({"type": "text", "message": {"text": ""}, "meta": {"a": "x" * 100_000}}, 50),
        pytest.param(text("y"), 20_000, marks=pytest.mark.untraced),
    ],
)
async def test_a_reply_without_an_end_is_cut_and_not_read_on(item, most):
    taken = []

    def pieces():
        yield frames(text("begin"))
        yield frames(chunk(b"never ends"))
        while True:
            taken.append(1)
            yield frames(item)

    reply = Reply()
    reply.pieces = pieces()

    messages = await invoke(httpx.Response(200, stream=reply))

    assert messages[0].message.text == "begin"
    assert "the rest was left" in messages[-1].message.text
    assert len(taken) <= most
    assert reply.is_closed


async def test_a_malformed_frame_is_the_daemons_error():
    error = await refused(b"data: \xff\n")

    assert error.error_type == "PluginDaemonProtocolError"


async def test_an_error_keeps_what_the_daemon_said():
    payload = {"error_type": "PluginDaemonBadRequestError", "message": "missing query"}
    error = await refused(httpx.Response(400, json=payload))

    assert isinstance(error, PluginDaemonError)
    assert error.message == "missing query"
    assert error.error_type == "PluginDaemonBadRequestError"
    assert error.status_code == 400


async def test_a_transport_error_is_raised_as_it_is():
    def answer(request):
        raise httpx.ReadTimeout("too slow", request=request)

    with pytest.raises(httpx.ReadTimeout, match="too slow"):
        await invoke(answer)


async def test_a_tool_that_falls_silent_has_failed():
    class Reply(httpx.AsyncByteStream):
        async def __aiter__(self):
            yield frames(text("begin")).encode()
            await asyncio.Event().wait()

    limits = SilenceLimits(model_seconds=0.01, keep_alive_seconds=0.01, tool_seconds=0.1)
    with pytest.raises(DifyPluginToolClientError) as caught:
        await invoke(httpx.Response(200, stream=Reply()), silence=limits)

    assert caught.value.error_type == SILENCE_ERROR_TYPE
    assert caught.value.message == (
        "The plugin daemon has sent nothing for 0.1 seconds: the plugin's process may have died."
    )


async def test_a_parameter_that_json_does_not_know_is_a_type_error():
    with pytest.raises(TypeError, match="not JSON serializable"):
        await invoke("", tool_parameters={"query": object()})


async def test_chunks_become_one_file_where_the_last_of_them_stood():
    first, last = chunks_of(b"hello", meta={"mime_type": "text/plain"})

    messages = await invoke(frames(text("a"), first, text("b"), last, text("c")))

    assert [message.type for message in messages] == ["text", "text", "blob", "text"]
    assert messages[2] == Message(
        type="blob", message={"blob": b"hello"}, meta={"mime_type": "text/plain"}
    )


async def test_files_may_arrive_at_the_same_time():
    a, b = chunks_of(b"aaaa", size=2, blob_id="a"), chunks_of(b"bbbb", size=2, blob_id="b")

    messages = await invoke(frames(*[each for pair in zip(a, b, strict=True) for each in pair]))

    assert [message.message.blob for message in messages] == [b"aaaa", b"bbbb"]


@given(st.binary(max_size=200), st.integers(1, 64))
async def test_any_cut_of_a_file_gives_the_file(data, size):
    [message] = await invoke(frames(*chunks_of(data, size=size)))

    assert message.message.blob == data
    assert message.meta is None


@pytest.mark.untraced
async def test_a_file_of_exactly_the_limit_passes():
    data = bytes(30 * 1024 * 1024)

    [message] = await invoke(frames(*chunks_of(data)))

    assert len(message.message.blob) == len(data)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (
            [chunk(b"x", total=30 * 1024 * 1024 + 1)],
            "File is too large which reached the limit of 30.0MB",
        ),
        ([chunk(b"x", total=10**18)], "File is too large which reached the limit of 30.0MB"),
        ([chunk(bytes(8193))], "File chunk is too large which reached the limit of 8.0KB"),
        ([chunk(b"x")], "the stream ended before these blobs did: b1"),
        ([chunk(b"x", total=2, end=True)], "blob 'b1': 2 bytes announced, got 1"),
        (
            [chunk(b"x", total=2), chunk(b"y", sequence=2, total=2, end=True)],
            "blob 'b1': chunk 1 expected, got 2",
        ),
    ],
)
async def test_a_file_that_breaks_the_rules_is_the_daemons_error(items, said):
    error = await refused(frames(*items))

    assert error.message == said
    assert error.error_type == "PluginDaemonProtocolError"


def test_a_client_does_not_show_the_key():
    client = DifyPluginDaemonToolClient(
        tenant_id="t",
        plugin_id="p",
        plugin_daemon_url="http://daemon",
        plugin_daemon_api_key="daemon-secret",
        http_client=httpx.AsyncClient(),
    )

    assert "daemon-secret" not in repr(client)
