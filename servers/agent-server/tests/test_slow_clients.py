"""Clients that stop in the middle, over sockets of their own."""

import asyncio
import gc
import json
import socket
import struct
import sys
import threading
import tracemalloc
from collections import Counter
from contextlib import AsyncExitStack

import psutil
from agents import PATIENCE, start
from starlette.routing import Route
from talking import Talker, created, events_of, say
from uvicorn.protocols.http.h11_impl import H11Protocol
from web import client_at, executor, listening, until

from agent_server.executor import RunResult
from agent_server.http import Answer, stream_events


_SECONDS = 0.4
_POST = b"POST /v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


_READERS = 4
_READER_FILES = 3
_EVENTS = 40
_BYTES = 200_000


def _follow(run_id):
    head = f"GET /v1/runs/{run_id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    return f"{head}Accept: text/event-stream\r\nConnection: close\r\n\r\n".encode()


async def flood(run):
    for _ in range(_EVENTS):
        await run.tell("text", {"text": "x" * _BYTES})
    return RunResult(status="succeeded")


class Raw:
    """A connection that says what it wants, when it wants."""

    def __init__(self, port, *, buffer=None):
        self._socket = socket.socket()
        if buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._socket.setblocking(False)
        self._port = port

    async def __aenter__(self):
        await asyncio.get_running_loop().sock_connect(self._socket, ("127.0.0.1", self._port))
        return self

    async def __aexit__(self, *_):
        self._socket.close()

    async def send(self, data):
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def drip(self, data):
        """Send byte by byte, faster than any pause would be noticed, until the other side has had enough."""
        try:
            for byte in data:
                await self.send(bytes([byte]))
                await asyncio.sleep(0.02)
        except OSError:
            return True
        return False

    async def peek(self):
        """Return how the answer begins."""
        return await asyncio.get_running_loop().sock_recv(self._socket, 12)

    async def read(self):
        """Read to the end; what a reset swallows is not there."""
        loop, received = asyncio.get_running_loop(), bytearray()
        try:
            async with asyncio.timeout(PATIENCE):
                while data := await loop.sock_recv(self._socket, 65536):
                    received += data
        except ConnectionError:
            pass
        return bytes(received)

    def reset(self):
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


def _held(port):
    """Return how many threads, connections and open files this process has."""
    process = psutil.Process()
    # Whatever state they are in: those that the server has not let go of.
    connections = [
        one
        for one in process.net_connections("tcp")
        if one.laddr.port == port and one.status != psutil.CONN_LISTEN
    ]
    return threading.active_count(), len(connections), process.num_fds()


async def _tried(tmp_path, attack, *, agent="echo", **settings):
    """Return what came of an attack, once the server holds nothing more than before it."""
    settings = {"client_seconds": _SECONDS, "max_watchers": 5} | settings

    async with listening(tmp_path, executor(flood=flood), **settings) as (port, runs):
        # Not over a connection, which would be cut off if this process stood still now.
        run_id = await start(runs, agent, tenant="default")
        await runs.get(run_id, tenant="default")
        before = _held(port)
        came = await attack(port, run_id)
        await until(lambda: not _held(port)[1], every=0.1)
        await until(lambda: not runs.statistics().watchers, every=0.1)
        after = _held(port)
        # The few threads that read the database are started when they are needed, each with the files of a connection.
        assert after[0] <= before[0] + _READERS
        assert after[2] <= before[2] + _READERS * _READER_FILES
        return came


async def test_a_head_that_does_not_come_is_not_waited_for(tmp_path):
    starts = [b"", b"GET /he", b"GET /health HTTP/1.1\r\nHost: x\r\nX-A"]

    async def begin(port, start):
        async with Raw(port) as raw:
            await raw.send(start)
            return await raw.read()

    async def attack(port, _run_id):
        return await asyncio.gather(*(begin(port, start) for start in starts))

    assert await _tried(tmp_path, attack) == [b""] * 3


async def test_a_head_that_comes_byte_by_byte_is_not_waited_for_either_nor_a_second_one(tmp_path):
    async def attack(port, _run_id):
        first = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        async with Raw(port) as raw, Raw(port) as kept:
            await kept.send(first)
            return await asyncio.gather(raw.drip(b"GET /" + b"a" * 500), kept.drip(first[:-2] * 20))

    assert await _tried(tmp_path, attack) == [True, True]


async def test_a_body_that_does_not_come_is_answered_and_the_connection_closed(tmp_path):
    async def attack(port, _run_id):
        async with Raw(port) as raw:
            await raw.send(_POST + b"Content-Length: 100\r\n\r\n")
            # What is sent after the answer would have the kernel drop what was not read of it.
            _, answer = await asyncio.gather(raw.drip(b'{"agent"'), raw.read())
            return answer

    answer = await _tried(tmp_path, attack)

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in head.lower()
    assert json.loads(body)["status"] == 408


async def test_a_body_that_nobody_reads_is_not_waited_for(tmp_path):
    async def attack(port, _run_id):
        async with Raw(port) as raw:
            await raw.send(b"POST /v1/nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            await raw.send(b"Content-Length: 1000\r\n\r\n")
            return await raw.drip(b"x" * 500)

    assert await _tried(tmp_path, attack) is True


async def test_a_stream_that_nobody_reads_is_dropped(tmp_path):
    async def attack(port, run_id):
        async with Raw(port, buffer=4096) as raw:
            await raw.send(_follow(run_id))
            await until(lambda: _held(port)[1], every=0.1)
            await until(lambda: not _held(port)[1], every=0.1)
            return await raw.read()

    received = await _tried(tmp_path, attack, agent="flood", keep_alive_seconds=0.1)

    assert received.startswith(b"HTTP/1.1 200 ")
    assert len(received) < _EVENTS * _BYTES  # it is not sent to its end


def _note_pauses(monkeypatch):
    """Return the list of connections whose clients have not read for so long that nothing more is written."""
    pause, paused = H11Protocol.pause_writing, []

    def note(connection):
        paused.append(connection)
        pause(connection)

    monkeypatch.setattr(H11Protocol, "pause_writing", note)
    return paused


async def heavy(run):
    await run.tell("many", {"all": [*range(2000)]})
    return RunResult(status="succeeded", output={"many": [0] * 20_000, "text": "x" * _HEAVY})


_HEAVY = 12_000_000


async def _heavy_run(client):
    accepted = await client.post("/v1/runs", json={"agent": "heavy"})
    path = accepted.headers["location"]
    await client.get(f"{path}/events", headers={"Accept": "text/event-stream"})
    return path


async def test_large_answers_that_a_tenant_does_not_read_are_not_heaped_up(tmp_path):
    agents = executor(heavy=heavy)
    async with (
        listening(tmp_path, agents, client_seconds=60) as (port, _),
        client_at(port) as client,
    ):
        path = await _heavy_run(client)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
        async with Raw(port, buffer=200_000) as first, Raw(port, buffer=200_000) as second:
            heads = []
            for raw in (first, second):
                await raw.send(head)
                heads.append(await raw.peek())
            refused = await client.get(path)
            small = await client.get("/v1/agents")
            whole = [len(await raw.read()) for raw in (first, second)]
        again = await client.get(path)

    assert all(one.startswith(b"HTTP/1.1 200") for one in heads)
    assert (refused.status_code, small.status_code, again.status_code) == (429, 200, 200)
    assert int(refused.headers["retry-after"]) > 0
    assert min(whole) > _HEAVY
    assert len(again.json()["output"]["text"]) == _HEAVY


async def test_streams_of_large_events_wait_for_each_other(tmp_path):
    agents = executor(heavy=heavy)
    async with (
        listening(tmp_path, agents, client_seconds=60) as (port, runs),
        AsyncExitStack() as stack,
    ):
        async with client_at(port) as client:
            path = await _heavy_run(client)
        raws = [await stack.enter_async_context(Raw(port, buffer=200_000)) for _ in range(4)]
        for raw in raws:
            await raw.send(_follow(path.rpartition("/")[2]))
            await raw.peek()
        await until(lambda: runs.statistics().watchers == len(raws))
        received = await asyncio.gather(*(raw.read() for raw in raws))

    for one in received:
        assert len(one) > _HEAVY
        assert one.endswith(b"\r\n0\r\n\r\n")


def _bytes_in_large_blocks(size):
    """Return how many bytes are in blocks as large as what was built; what is imported meanwhile, and what coverage notes, is small."""
    if sys.gettrace():
        gc.collect()  # Seen under coverage only: there, what a stream held stays in a ring.
    traces = tracemalloc.take_snapshot().traces
    return sum(trace.size for trace in traces if trace.size >= size / 2)


async def test_nothing_more_is_built_for_streams_that_clients_leave_nor_kept(tmp_path, monkeypatch):
    built, paused, streams, size = [], _note_pauses(monkeypatch), 6, 70_000

    async def tell(run):
        for number in range(60):
            await run.tell("text", {"text": "x" * size, "number": number})
        return RunResult(status="succeeded")

    def build(event):
        built.append(event.size)
        return b"x" * size

    async def stream(request):
        number, run_id = request.path_params["number"], request.path_params["run_id"]
        return await stream_events(request, run_id, build, view=f"view {number}", after=number)

    routes = [Route("/streams/{run_id}/{number:int}", stream)]
    async with listening(tmp_path, executor(tell=tell), routes=routes, client_seconds=60) as (
        port,
        runs,
    ):
        async with client_at(port) as client:
            path = (await client.post("/v1/runs", json={"agent": "tell"})).headers["location"]
            await client.get(f"{path}/events", headers={"Accept": "text/event-stream"})
        paused.clear()
        gc.disable()
        tracemalloc.start()
        async with AsyncExitStack() as stack:
            for number in range(streams):
                raw = await stack.enter_async_context(Raw(port, buffer=4096))
                to = path.replace("/v1/runs", "/streams")
                head = f"GET {to}/{number} HTTP/1.{number % 2}\r\nHost: 127.0.0.1\r\n\r\n"
                await raw.send(head.encode())
            await until(lambda: len(set(paused)) == streams)
            before = len(built)
        await until(lambda: not runs.statistics().watchers)
        # Threads that read hold their last page for a while.
        await until(lambda: _bytes_in_large_blocks(size) < streams * size)
        tracemalloc.stop()
        gc.enable()

    assert len(built) == before
    assert size <= max(built) < 2 * size  # measured once, where it was stored


async def test_answers_are_not_built_for_clients_that_have_left(tmp_path, monkeypatch):
    read, may_go_on, clients = [], asyncio.Event(), 5
    async with (
        listening(tmp_path, client_seconds=60) as (port, runs),
        client_at(port) as client,
    ):
        path = (await client.post("/v1/runs", json={"agent": "echo"})).headers["location"]
        find = runs.get

        async def get(run_id, *, tenant):
            read.append(run_id)
            await may_go_on.wait()
            return await find(run_id, tenant=tenant)

        monkeypatch.setattr(runs, "get", get)
        async with AsyncExitStack() as stack:
            for _ in range(clients):
                raw = await stack.enter_async_context(Raw(port))
                await raw.send(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() * 2)
            await until(lambda: len(read) == 2)
        await until(lambda: _held(port)[1] <= 2, every=0.1)
        begun = len(read)
        may_go_on.set()
        last = await client.get(path)  # behind all others

    assert last.status_code == 200
    assert len(read) == begun + 1


async def test_connections_that_break_or_are_not_read_fill_no_log(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("agent_server._http.server._LAST_ANSWERS_SECONDS", 0.1)
    begun, left, paused = asyncio.Event(), asyncio.Event(), _note_pauses(monkeypatch)

    async def answer(_request):
        begun.set()
        await left.wait()
        return Answer("x" * _HEAVY)

    routes = [Route("/large", answer)]
    async with (
        AsyncExitStack() as stack,
        listening(tmp_path, routes=routes, client_seconds=60) as (port, _),
    ):
        raw = Raw(port)
        async with raw:
            # Behind a request that is followed by another nothing is read that would tell.
            await raw.send(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 2)
            await begun.wait()
            raw.reset()
        left.set()
        await until(lambda: not _held(port)[1], every=0.1)
        told = [*caplog.records]
        paused.clear()
        unread = await stack.enter_async_context(Raw(port, buffer=4096))
        await unread.send(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await until(lambda: paused)

    assert not told
    [record] = caplog.records
    assert record.message.startswith("Cancel 1 running task(s)")


async def test_streams_of_a_response_hold_nothing_of_its_input(tmp_path):
    async def wait(_run):
        await asyncio.sleep(600)

    size, streams = 1_000_000, 8
    asked = {"model": "wait", "background": True, "input": "x" * size}
    async with (
        listening(tmp_path, Talker(wait=wait), client_seconds=60) as (port, runs),
        AsyncExitStack() as stack,
        client_at(port) as client,
    ):
        begun = (await client.post("/v1/responses", json=asked)).json()
        head = f"GET /v1/responses/{begun['id']}?stream=true HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        tracemalloc.start()
        for _ in range(streams):
            raw = await stack.enter_async_context(Raw(port))
            await raw.send(head.encode())
            await raw.peek()
        await until(lambda: runs.statistics().watchers == streams)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        shown = await client.get(f"/v1/responses/{begun['id']}/input_items")
        await client.post(f"/v1/responses/{begun['id']}/cancel")

    assert held < streams * size / 2
    assert len(shown.json()["data"][0]["content"][0]["text"]) == size


async def test_what_an_event_shows_is_built_once_for_all_streams_of_a_response(
    tmp_path, monkeypatch
):
    shown, paused, size = Counter(), _note_pauses(monkeypatch), _HEAVY // 2

    class Noting(Talker):
        def show(self, event):
            shown[event.type] += 1
            return super().show(event)

    async def tell(run):
        await say(run, "x" * size)
        return RunResult(status="succeeded", output="")

    async with (
        listening(tmp_path, Noting(tell=tell), client_seconds=60) as (port, _),
        client_at(port) as client,
        Raw(port, buffer=200_000) as raw,
    ):
        path = f"/v1/responses/{(await created(client, 'tell'))['id']}?stream=true"
        shown.clear()
        paused.clear()
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        await raw.send(head.encode())
        await until(lambda: paused)
        told = events_of(await client.get(path))
        received = await raw.read()

    # Each of its own would be as large as the text, and held for as long as its client does not read.
    assert shown["text"] == 1
    [delta] = [one["delta"] for one in told if one["type"] == "response.output_text.delta"]
    assert delta == "x" * size
    assert all(event["type"].encode() in received for event in told)


async def test_a_reader_that_is_slow_but_reads_gets_everything(tmp_path, monkeypatch):
    paused = _note_pauses(monkeypatch)

    async def attack(port, run_id):
        async with Raw(port, buffer=100_000) as raw:
            await raw.send(_follow(run_id))
            await until(lambda: paused)
            return await raw.read()

    # Far more than a busy machine takes from one reading to the next.
    received = await _tried(tmp_path, attack, agent="flood", client_seconds=60)

    assert received.count(b"event: text") == _EVENTS
    assert received.endswith(b"\r\n0\r\n\r\n")


async def test_a_client_that_is_gone_in_the_middle_of_its_body_leaves_nothing(tmp_path):
    async def attack(port, _run_id):
        async with Raw(port) as raw:
            await raw.send(_POST + b'Content-Length: 100\r\n\r\n{"agent"')
            await asyncio.sleep(0.05)
            raw.reset()

    await _tried(tmp_path, attack)


async def test_what_is_no_http_is_answered_with_a_problem(tmp_path):
    async def attack(port, _run_id):
        async with Raw(port) as raw:
            await raw.send(b"\x16\x03\x01 hello\r\n\r\n")
            return await raw.read()

    head, _, body = (await _tried(tmp_path, attack)).partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head
    assert json.loads(body)["detail"]
