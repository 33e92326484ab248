"""A server of durable runs: what a run costs above the same one without an engine, many watchers, many runs, a client that comes back."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import httpx

from agent_server.executor import JsonObject

from . import _durable_dify_agent as dify_agent
from ._usage import cpu_seconds, resident_bytes


_PYTHON = (sys.executable, "-m")
_SERVER = (*_PYTHON, "benchmarks._durable_server")
_DIFY_AGENT = (*_PYTHON, "benchmarks._durable_dify_agent")
_ANSWER: JsonObject = {"agent": "answer"}
_RUNS = 200
_WATCHERS = 1000
_WATCHED_SECONDS = 10
_QUEUED = 500
_IN_A_ROW = 10_000
_AT_A_TIME = 8
_READ_BYTES = 1 << 16
_LIMITS = httpx.Limits(max_connections=64)
_QUIET_SECONDS = 1.5  # until what follows a run is done, too


def measure_durable(
    repetitions: int, report: Callable[[str], None], *, postgresql: str | None
) -> str:
    """Return a table of what durable runs cost the server's process, on SQLite and, where its URL is given, on PostgreSQL.

    The database must be empty. Its own processes are not counted.
    """
    columns: dict[str, list[tuple[str, str]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        urls = {"SQLite": f"sqlite:///{Path(folder, 'runs.sqlite')}"}
        if postgresql is not None:
            urls["PostgreSQL"] = postgresql
        for name, url in urls.items():
            columns[name] = asyncio.run(_measure(url, repetitions, report))
    titles = [title for title, _ in next(iter(columns.values()))]
    lines = [f"| the server's process | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for number, title in enumerate(titles):
        shown = " | ".join(rows[number][1] for rows in columns.values())
        lines.append(f"| {title} | {shown} |")
    return "\n".join(lines)


async def _measure(
    url: str, repetitions: int, report: Callable[[str], None]
) -> list[tuple[str, str]]:
    report(f"{url.partition(':')[0]}: a run of one model call")
    async with _server(url) as server:
        small = await _compare(server, _ANSWER, alone=(*_SERVER, "alone"), repetitions=repetitions)
        latency = await server.time_runs(20)
    report("the same of dify-agent")
    dify = await _measure_dify_agent(url, repetitions)
    async with _server(url) as server:
        watched = await server.measure_watchers()
    async with _server(url) as server:
        back = await server.measure_coming_back()
        queued_cpu, queued_seconds = await server.measure_queue(_QUEUED)
    async with _server(url) as server:
        await server.run_many(1000)
        before = server.counts()
        report(f"{_IN_A_ROW} runs in a row")
        began = time.perf_counter()
        await server.run_many(_IN_A_ROW)
        in_a_row = time.perf_counter() - began
        await asyncio.sleep(_QUIET_SECONDS)
        after = server.counts()
    return [
        (
            "CPU of a run of one model call, created and followed by HTTP, above the same without an engine",
            f"{small[0] * 1e3:.1f} ms",
        ),
        ("the same run without an engine", f"{small[1] * 1e3:.1f} ms"),
        (
            "CPU of a run of dify-agent with one model call, above the same without an engine",
            f"{dify[0] * 1e3:.1f} ms",
        ),
        ("the same run without an engine", f"{dify[1] * 1e3:.1f} ms"),
        ("created to its last event at the client, one at a time", f"{latency * 1e3:.0f} ms"),
        (
            f"{_WATCHERS:,} watchers of one run, 20 events a second: CPU",
            f"{watched[0] * 100:.1f} % of a core",
        ),
        ("its threads before and during", f"{watched[1]}, {watched[2]}"),
        ("its memory before and during", f"{watched[3] / 1e6:.0f} MB, {watched[4] / 1e6:.0f} MB"),
        ("events that the watchers had, of those told", f"{watched[5] * 100:.1f} %"),
        ("a client behind event 1,990 of 2,003 has the rest after", f"{back * 1e3:.0f} ms"),
        (f"{_QUEUED} runs at once, all done after", f"{queued_seconds:.1f} s"),
        ("its CPU of each", f"{queued_cpu * 1e3:.1f} ms"),
        (f"{_IN_A_ROW:,} runs in a row took", f"{in_a_row:.0f} s"),
        ("memory after 1,000 and at the end", f"{before[0] / 1e6:.0f} MB, {after[0] / 1e6:.0f} MB"),
        ("threads", f"{before[1]}, {after[1]}"),
        ("open files and connections", f"{before[2]}, {after[2]}"),
    ]


async def _measure_dify_agent(url: str, repetitions: int) -> tuple[float, float]:
    with subprocess.Popen(  # noqa: ASYNC220, S603 - our own module, before anything is measured
        [*_DIFY_AGENT, "daemon"], stdout=subprocess.PIPE, text=True
    ) as daemon:
        assert daemon.stdout is not None  # noqa: S101 - a pipe was asked for
        try:
            address = daemon.stdout.readline().strip()
            program = str(Path(sys.executable).with_name("dify-agent"))
            command = (program, "serve", "--plugin-daemon-url", address)
            body = dify_agent.build_request().model_dump(mode="json")
            alone = (*_DIFY_AGENT, "alone", address)
            async with _server(url, command) as server:
                return await _compare(server, body, alone=alone, repetitions=repetitions)
        finally:
            daemon.terminate()


async def _compare(
    server: "_Server", body: JsonObject, *, alone: Sequence[str], repetitions: int
) -> tuple[float, float]:
    """Return the processor time of a run above the same without an engine, and that of the latter."""
    await server.run_many(_RUNS // 4, body)  # warms up
    costs: list[float] = []
    own: list[float] = []
    for _ in range(repetitions):
        costs.append(await server.cost_of(server.run_many(_RUNS, body)) / _RUNS)
        own.append(_cpu_alone(alone, _RUNS))
    return median(cost - part for cost, part in zip(costs, own, strict=True)), median(own)


@asynccontextmanager
async def _server(url: str, command: Sequence[str] = _SERVER) -> AsyncGenerator["_Server"]:
    limits = ["--keep-runs", "100000", "--max-active-per-tenant", "5000"]
    process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own module, before anything is measured
        [*command, "--database", url, "--port", "0", *limits], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    try:
        address = process.stdout.readline().split()[-1]
        async with httpx.AsyncClient(
            base_url=address, timeout=120, trust_env=False, limits=_LIMITS
        ) as client:
            yield _Server(process.pid, client)
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


class _Server:
    """A server under measurement."""

    def __init__(self, pid: int, client: httpx.AsyncClient) -> None:
        self._pid = pid
        self._client = client

    def counts(self) -> tuple[int, int, int]:
        """Return its resident bytes, threads, and open files."""
        threads = len(os.listdir(f"/proc/{self._pid}/task"))  # noqa: PTH208 - counted and no more
        files = len(os.listdir(f"/proc/{self._pid}/fd"))  # noqa: PTH208 - counted and no more
        return resident_bytes(self._pid), threads, files

    async def cost_of(self, work: Awaitable[object]) -> float:
        """Return the processor time that it takes for some work, in seconds."""
        before = cpu_seconds(self._pid)
        await work
        await asyncio.sleep(_QUIET_SECONDS)
        return cpu_seconds(self._pid) - before

    async def create(self, body: JsonObject) -> str:
        """Create a run, and return its id."""
        response = await self._client.post("/v1/runs", json=body)
        response.raise_for_status()
        return str(response.json()["run_id"])

    async def follow(self, run_id: str, *, after: int = 0) -> bytes:
        """Return a run's events up to its end."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        path = f"/v1/runs/{run_id}/events"
        return (await self._client.get(path, headers=headers)).content

    async def run_many(self, number: int, body: JsonObject = _ANSWER) -> None:
        """Make runs, a few at a time, each followed to its end."""
        waiting = iter(range(number))

        async def work() -> None:
            for _ in waiting:
                await self.follow(await self.create(body))

        await asyncio.gather(*(work() for _ in range(_AT_A_TIME)))

    async def time_runs(self, number: int) -> float:
        """Return how long a run takes from its creation to its last event, at the median."""
        seconds: list[float] = []
        for _ in range(number):
            began = time.perf_counter()
            await self.follow(await self.create(_ANSWER))
            seconds.append(time.perf_counter() - began)
        return median(seconds)

    async def measure_watchers(self) -> tuple[float, int, int, int, int, float]:
        """Return CPU as a share of a core, threads and bytes before and during, and which share of the events came."""
        await self.run_many(8)
        memory, threads, _ = self.counts()
        run_id = await self.create({"agent": "talk", "seconds": _WATCHED_SECONDS + 6})
        host, port = self._client.base_url.host, self._client.base_url.port
        watchers = [asyncio.create_task(_watch(host, port or 80, run_id)) for _ in range(_WATCHERS)]
        await asyncio.sleep(4)
        before, began = cpu_seconds(self._pid), time.perf_counter()
        await asyncio.sleep(_WATCHED_SECONDS)
        share = (cpu_seconds(self._pid) - before) / (time.perf_counter() - began)
        many_bytes, many_threads, _ = self.counts()
        heard = await asyncio.gather(*watchers)
        told = 20 * (_WATCHED_SECONDS + 6)
        return share, threads, many_threads, memory, many_bytes, sum(heard) / (_WATCHERS * told)

    async def measure_coming_back(self) -> float:
        """Return how long a client waits for the end of a long run of which it has nearly all."""
        run_id = await self.create({"agent": "count", "events": 2001})
        await self.follow(run_id)
        began = time.perf_counter()
        rest = await self.follow(run_id, after=1990)
        assert rest.count(b"\ndata:") == 13, rest  # noqa: S101, PLR2004 - 2,003 in all
        return time.perf_counter() - began

    async def measure_queue(self, number: int) -> tuple[float, float]:
        """Return the CPU of each of many runs that come at once, and when all are done."""
        began, before = time.perf_counter(), cpu_seconds(self._pid)
        ids = await asyncio.gather(*(self.create(_ANSWER) for _ in range(number)))
        await asyncio.gather(*map(self.follow, ids))
        return (cpu_seconds(self._pid) - before) / number, time.perf_counter() - began


async def _watch(host: str, port: int, run_id: str) -> int:
    """Return how many deltas one watcher hears; by hand, for a client of a thousand streams costs more than their server."""
    reader, writer = await asyncio.open_connection(host, port)
    head = f"GET /v1/runs/{run_id}/events HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode())
    heard, tail = 0, b""
    while data := await reader.read(_READ_BYTES):
        text = tail + data
        heard += text.count(b"event: text_delta")
        tail = text[-16:] if not text.endswith(b"event: text_delta") else b""
    writer.close()
    return heard


def _cpu_alone(command: Sequence[str], number: int) -> float:
    """Return the processor time of a run without an engine."""
    done = subprocess.run(  # noqa: S603 - our own module
        [*command, str(number)], check=True, stdout=subprocess.PIPE, text=True
    )
    return float(done.stdout)
