"""What a machine carries of served agents: runs a second, CPU of a run, and bytes that are stored of it, with each database and engine."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from statistics import median

import httpx

from agent_server.executor import JsonObject

from ._capacity_places import (
    postgresql_bytes,
    postgresql_cluster,
    postgresql_database,
    served,
    sqlite_bytes,
    temporal,
)
from ._usage import family_cpu_seconds


_RUNS = 600
_ENGINE_RUNS = 100
_WARM_UP = 4  # of the runs that are counted, a fourth
_LONG_RUNS = {10: 20, 100: 3, 1000: 1}  # how many of so many model calls
_AT_A_TIME = 16
_LIMITS = httpx.Limits(max_connections=_AT_A_TIME)
_LOOK_SECONDS = 0.25
_QUIET_SECONDS = 2.0  # until what follows a run is done, too
_MOST_SECONDS = 400

_SERVERS, _DATABASE, _ENGINE = "the servers", "PostgreSQL", "Temporal"
_LOAD = "what starts them"


@dataclass(frozen=True, slots=True, kw_only=True)
class _SetUp:
    """A way to serve.

    Attributes:
        servers: How many servers share the runs.
        database: Where the runs are stored.
        has_engine: Whether Temporal executes them.
    """

    servers: int
    database: str
    has_engine: bool = False

    @property
    def title(self) -> str:
        """The head of its column."""
        servers = f"{self.servers} server{'s' if self.servers > 1 else ''}"
        return f"{'Temporal, ' if self.has_engine else ''}{self.database}, {servers}"

    @property
    def runs(self) -> int:
        """How many runs are counted."""
        return _ENGINE_RUNS if self.has_engine else _RUNS

    @property
    def stores_otherwise(self) -> bool:
        """Whether it stores runs in another way than set-ups with fewer servers."""
        return self.servers == 1 or self.has_engine


_SET_UPS = (
    _SetUp(servers=1, database="SQLite"),
    _SetUp(servers=1, database="PostgreSQL"),
    _SetUp(servers=2, database="PostgreSQL"),
    _SetUp(servers=4, database="PostgreSQL"),
    _SetUp(servers=1, database="SQLite", has_engine=True),
    _SetUp(servers=2, database="PostgreSQL", has_engine=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A set-up that runs.

    Attributes:
        addresses: Those of its servers.
        processes: The processes of each part.
        stores: What tells the size of each part's database.
    """

    addresses: Sequence[str]
    processes: dict[str, Sequence[int]]
    stores: dict[str, Callable[[], int]]


def measure_capacity(
    repetitions: int, report: Callable[[str], None], *, postgresql: str | None, program: Path | None
) -> str:
    """Return a table of what served agents take, for each set-up whose programs are there.

    Args:
        repetitions: How often each is measured.
        report: Is told of the progress.
        postgresql: URL of a PostgreSQL server on this machine, where databases can be made; None for a cluster of its own.
        program: Temporal's server.
    """
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        server = postgresql or stack.enter_context(postgresql_cluster(Path(name)))
        chosen = [
            one
            for one in _SET_UPS
            if (server or one.database == "SQLite") and (program or not one.has_engine)
        ]
        figures: dict[_SetUp, list[dict[str, float]]] = {one: [] for one in chosen}
        for repetition in range(1, repetitions + 1):
            for set_up in chosen:
                report(f"repetition {repetition} of {repetitions}: {set_up.title}")
                folder = Path(name, f"{repetition}-{chosen.index(set_up)}")
                folder.mkdir()
                with _opened(set_up, folder, server, program) as place:
                    sizes = repetition == 1 and set_up.stores_otherwise
                    figures[set_up].append(
                        asyncio.run(_measure(place, set_up.runs, with_sizes=sizes))
                    )
                if said := (folder / "log").read_text():
                    report(f"its servers said:\n{said}")
            chosen.reverse()
    return _build_table(figures)


@contextmanager
def _opened(
    set_up: _SetUp, folder: Path, server: str | None, program: Path | None
) -> Generator[_Place]:
    processes: dict[str, Sequence[int]] = {}
    stores: dict[str, Callable[[], int]] = {}
    with ExitStack() as stack:
        url, engine = f"sqlite:///{folder / 'runs.sqlite'}", None
        stores[_SERVERS] = partial(sqlite_bytes, folder / "runs.sqlite")
        if set_up.database != "SQLite" and server is not None:
            name = f"capacity_{time.monotonic_ns()}"
            url, pid = stack.enter_context(postgresql_database(server, name))
            processes[_DATABASE] = [pid]
            stores[_SERVERS] = partial(postgresql_bytes, url)
        if set_up.has_engine and program is not None:
            engine, pid = stack.enter_context(temporal(program, folder))
            processes[_ENGINE] = [pid]
            stores[_ENGINE] = partial(sqlite_bytes, folder / "temporal.sqlite")
        found = stack.enter_context(served(set_up.servers, url, engine, folder / "log"))
        processes[_SERVERS] = list(found)
        yield _Place(addresses=list(found.values()), processes=processes, stores=stores)


async def _measure(place: _Place, runs: int, *, with_sizes: bool) -> dict[str, float]:
    figures: dict[str, float] = {}
    async with httpx.AsyncClient(timeout=60, trust_env=False, limits=_LIMITS) as client:
        load = _Load(client, place.addresses)
        await load.run_many(runs // _WARM_UP, 3)
        before = _cpu_seconds(place)
        ids = await load.run_many(runs, 3)
        for part, seconds in _cpu_seconds(place).items():
            figures[f"CPU of {part}"] = (seconds - before[part]) / runs
        figures["runs a second"] = runs / await load.time_runs(ids)
        for calls, number in _LONG_RUNS.items() if with_sizes else ():
            sizes = {part: size() for part, size in place.stores.items()}
            await load.time_runs(await load.run_many(number, calls))
            for part, size in place.stores.items():
                figures[f"{calls} in {part}"] = (size() - sizes[part]) / number
    return figures


def _cpu_seconds(place: _Place) -> dict[str, float]:
    used = {part: sum(map(family_cpu_seconds, pids)) for part, pids in place.processes.items()}
    return used | {_LOAD: time.process_time()}


class _Load:
    """What starts runs, and waits until they have ended."""

    def __init__(self, client: httpx.AsyncClient, addresses: Sequence[str]) -> None:
        self._client = client
        self._addresses = addresses

    async def run_many(self, number: int, calls: int) -> Sequence[str]:
        """Start runs of so many model calls on all servers in turns, and return their ids once all have ended.

        Raises:
            TimeoutError: If they have not ended after some minutes.
        """
        waiting = iter([self._addresses[one % len(self._addresses)] for one in range(number)])
        body = {"agent": f"calls-{calls}", "input": "Read."}
        ids: list[str] = []

        async def start() -> None:
            for address in waiting:
                response = await self._client.post(f"{address}/v1/runs", json=body)
                ids.append(response.raise_for_status().json()["run_id"])

        async with asyncio.timeout(_MOST_SECONDS):
            await asyncio.gather(*(start() for _ in range(_AT_A_TIME)))
            while (await self._read("?status=queued&status=running&limit=1"))["runs"]:  # noqa: ASYNC110 - of another process
                await asyncio.sleep(_LOOK_SECONDS)
        await asyncio.sleep(_QUIET_SECONDS)
        return ids

    async def time_runs(self, ids: Sequence[str]) -> float:
        """Return how many seconds passed from the creation of the first run to the end of the last.

        Raises:
            RuntimeError: If one of them has failed.
        """
        runs = await asyncio.gather(*(self._read(f"/{run_id}") for run_id in ids))
        for run in runs:
            if run["status"] != "succeeded":
                raise RuntimeError(f"expected that all runs succeed: {run}")
        began = min(datetime.fromisoformat(run["created_at"]) for run in runs)
        ended = max(datetime.fromisoformat(run["finished_at"]) for run in runs)
        return (ended - began).total_seconds()

    async def _read(self, rest: str) -> JsonObject:
        response = await self._client.get(f"{self._addresses[0]}/v1/runs{rest}")
        return response.raise_for_status().json()


def _build_table(figures: dict[_SetUp, list[dict[str, float]]]) -> str:
    rows: list[tuple[str, str, Callable[[float], str]]] = [
        ("runs a second, of 3 model calls and 2 of a tool", "runs a second", "{:.0f}".format)
    ]
    rows += [
        (f"CPU of such a run: {part}", f"CPU of {part}", _show_milliseconds)
        for part in (_SERVERS, _DATABASE, _ENGINE, _LOAD)
    ]
    for part, where in ((_SERVERS, "the runs' database"), (_ENGINE, "Temporal's own")):
        for calls in _LONG_RUNS:
            title = f"stored of a run of {calls:,} model calls in {where}"
            rows.append((title, f"{calls} in {part}", _show_kilobytes))
    lines = [
        f"| on this one machine | {' | '.join(one.title for one in figures)} |",
        "|---" * (len(figures) + 1) + "|",
    ]
    for title, key, show in rows:
        cells = [
            show(median(one[key] for one in found if key in one)) if key in found[0] else ""
            for found in figures.values()
        ]
        if any(cells):
            lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _show_milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _show_kilobytes(size: float) -> str:
    return f"{size / 1e3:,.0f} kB"
