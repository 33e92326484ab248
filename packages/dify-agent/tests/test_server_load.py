"""What many watchers and many runs cost a server: no thread, no file and no connection stays."""

import asyncio
import contextlib
import json
import socket
import time

import httpx
import psutil
import pytest


THREADS = 48  # 32 for work; the rest are those that DBOS and the process have of their own
PATIENCE = 120
HEAD = (
    b"POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100\r\n\r\n{"
)


def create(client, request):
    return client.post("/runs", json=request).raise_for_status().json()["run_id"]


async def watch(client, run_id):
    """Return when each text of a run came."""
    came = {}
    async with client.stream("GET", f"/runs/{run_id}/events") as response:
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                came[json.loads(line.removeprefix("data: ")).get("text")] = time.monotonic()
    return came


@pytest.mark.parametrize(
    "watchers_and_texts", [(30, 4), pytest.param((100, 240), marks=pytest.mark.long)]
)
def test_each_of_many_watchers_has_each_event_soon_and_takes_no_thread(
    start_server, daemon, chunks, build_request, watchers_and_texts
):
    watchers, texts = watchers_and_texts
    gates = [daemon.gate() for _ in range(texts)]
    sent = {}

    def answer(_data):
        for number, gate in enumerate(gates):
            yield gate
            sent[str(number)] = time.monotonic()
            yield chunks.text(str(number))
        yield chunks.text("", finish_reason="stop")

    async def watch_all():
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=server.client.base_url, timeout=PATIENCE, limits=limits
        ) as client:
            watches = [asyncio.create_task(watch(client, run_id)) for _ in range(watchers)]
            for gate in gates:
                await asyncio.sleep(0.25)
                gate.open()
            return await asyncio.gather(*watches)

    daemon.model = answer
    server = start_server()
    run_id = create(server.client, build_request())
    watched = asyncio.run(watch_all())

    assert psutil.Process(server.process.pid).num_threads() <= THREADS
    late = [came[text] - at for text, at in sent.items() for came in watched]
    assert len(late) == watchers * len(gates)
    assert max(late) < 2


@pytest.mark.parametrize("runs", [16, pytest.param(300, marks=pytest.mark.long)])
def test_runs_leave_no_threads_files_or_connections(start_server, build_request, read_events, runs):
    server = start_server()
    process = psutil.Process(server.process.pid)

    def run(number):
        for run_id in [create(server.client, build_request()) for _ in range(number)]:
            assert read_events(server.client, run_id)[-1]["type"] == "run_succeeded"
        return process.num_fds(), len(process.net_connections())

    files, connections = run(runs // 2)
    files_later, connections_later = run(runs // 2)

    assert process.num_threads() <= THREADS
    # The pools of the database and of the daemon's client may still fill up, but not beyond their sizes.
    assert files_later <= files + 30
    assert connections_later <= connections + 10


def connect(server):
    url = server.client.base_url
    return socket.create_connection((url.host, url.port))


def test_clients_that_go_while_they_ask_leave_no_word_in_the_log(start_server):
    server = start_server()
    for _ in range(20):
        with connect(server) as asking:
            asking.sendall(HEAD)
    assert server.client.get("/health").status_code == 200
    assert "Traceback" not in server.stop()


@pytest.mark.long
def test_a_body_that_comes_a_byte_a_second_is_not_waited_for(start_server):
    with connect(start_server()) as asking:
        asking.sendall(HEAD)
        asking.settimeout(1)
        answer = b""
        for _ in range(40):
            with contextlib.suppress(TimeoutError):
                answer = asking.recv(4096)
                break
            asking.sendall(b" ")
    assert answer.startswith(b"HTTP/1.1 408")
