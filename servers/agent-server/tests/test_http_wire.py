"""Requests that are wrong on the wire, over sockets of their own: each is answered or cut off, and none is logged."""

import asyncio
import json

from agents import PATIENCE
from web import client_at, listening, post


_POST = b"POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
_CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n"
_WRONG = [
    (_POST + b"Content-Length: x\r\n\r\n", 400),
    (_POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n", 400),
    (_CHUNKED + b"zz\r\n", 400),
    (_POST + b"X-A: a\0b\r\n\r\n", 400),
    (_POST + b"X-A: " + b"a" * 200_000 + b"\r\n\r\n", 400),
    # Before anything of the body has come.
    (_POST + b"Content-Length: 1025\r\n\r\n", 413),
    (_POST + b"Expect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n", 413),
    (_CHUNKED + (b"100\r\n" + b"x" * 256 + b"\r\n") * 5, 413),
    (b"GET /health HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\n\r\n", 400),
]


async def _read_answer(reader):
    """Return the status and the document of an answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    lines = head.split(b"\r\n")
    assert b"content-type: application/problem+json" in lines
    [length] = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
    return int(lines[0].split()[1]), json.loads(await reader.readexactly(length))


async def test_what_is_wrong_on_the_wire_is_answered_with_a_problem_and_not_logged(
    tmp_path, capfd, caplog
):
    async with listening(tmp_path, max_request_bytes=1024) as (port, _):
        for sent, status in _WRONG:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            async with asyncio.timeout(PATIENCE):
                told, document = await _read_answer(reader)
            assert (sent[:200], told, document["status"]) == (sent[:200], status, status)
            writer.close()

        for body in (b"", b"2\r\n{}\r\n0\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(_POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
            async with asyncio.timeout(PATIENCE):
                assert (await _read_answer(reader))[0] == 400
                assert await reader.read() == b""
            writer.close()

        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_CHUNKED.replace(b"runs", b"nothing") + b"1\r\nx\r\n")
        assert (await _read_answer(reader))[0] == 404
        writer.write(b"zz\r\n")  # behind the answer
        async with asyncio.timeout(PATIENCE):
            assert await reader.read() == b""
        writer.close()

    # Who could fill the log with them would need no key.
    assert (caplog.records, capfd.readouterr().err) == ([], "")


async def test_a_client_that_knows_no_chunks_gets_a_stream_without_them(tmp_path):
    async with listening(tmp_path) as (port, _):
        async with client_at(port) as client:
            path = (await post(client, {"agent": "echo"})).headers["location"]
        bodies = []
        for version in (b"1.0", b"1.1"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = b"GET %s/events HTTP/%s\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            writer.write(head % (path.encode(), version))
            writer.write(b"Accept: text/event-stream\r\n\r\n")
            async with asyncio.timeout(PATIENCE):
                bodies.append((await reader.read()).partition(b"\r\n\r\n")[2])
            writer.close()
        plain, chunked = bodies

    assert plain.startswith(b"id: 1\nevent: run_started\n")
    assert plain.endswith(b"}\n\n")
    assert chunked.endswith(b"}\n\n\r\n0\r\n\r\n")
