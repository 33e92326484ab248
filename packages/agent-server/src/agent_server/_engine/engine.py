"""A server's engine: its parts, put together, and what each hears of the others."""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import sqlalchemy as sa

from agent_server._store import events, holds
from agent_server._store.database import Database
from agent_server._store.endings import Ending
from agent_server._store.errors import StorageError
from agent_server._store.holds import Hold, Holder
from agent_server._store.housekeeping import Retention
from agent_server._store.listener import Listener
from agent_server._store.records import Event, to_stored
from agent_server._store.runs import Book, Limits
from agent_server._store.servers import Server
from agent_server._store.signals import ALL_SIGNALS, CANCELLED, QUEUED, TOLD
from agent_server._store.writer import Writer
from agent_server.executor import Executor
from agent_server.runs import DatabaseAwayError, Runs, Statistics, StoredEvent
from agent_server.settings import ServerSettings

from .dispatcher import Dispatcher, Hooks
from .execution import Bounds, RunExecution
from .face import EngineRuns
from .hub import Hub
from .keeper import Hearers, Keeper, Terms
from .reading import Readers
from .statistics import Tallies
from .trials import Trials


_logger = logging.getLogger("agent_server")

_READ_THREADS = 4
_PAGE = 500
# How long a silent database is waited for when the server stops.
_ENDING_SECONDS = 3.0
# What others tell in this time is looked at once.
_LOOK_SECONDS = 0.05


@asynccontextmanager
async def run_engine(
    settings: ServerSettings, executor: Executor, database: Database
) -> AsyncGenerator[Runs]:
    """Execute the runs of a database until the end of the context.

    Raises:
        ServerNameTakenError: If a living server has the name.
    """
    with ThreadPoolExecutor(_READ_THREADS, thread_name_prefix="agent-server-reader") as pool:
        engine = _Engine(settings, executor, database, pool)
        try:
            async with executor.opened(), _listening(engine, database), engine.running():
                yield engine.runs
        finally:
            await _end_threads(engine.writer, pool, database)


async def _end_threads(writer: Writer, pool: ThreadPoolExecutor, database: Database) -> None:
    ending = asyncio.ensure_future(
        asyncio.gather(writer.close(), asyncio.to_thread(pool.shutdown, cancel_futures=True))
    )
    if not (await asyncio.wait([ending], timeout=_ENDING_SECONDS))[0]:
        database.sessions.cut()  # pragma: no cover - nox -s postgresql
    await ending


@asynccontextmanager
async def _listening(engine: "_Engine", database: Database) -> AsyncGenerator[None]:
    if database.is_sqlite:
        yield
    else:  # pragma: no cover - nox -s postgresql
        listener = Listener(database, server=engine.name, on_signals=engine.hear)
        try:
            yield
        finally:
            await listener.close()


class _Engine:
    """The parts."""

    def __init__(
        self,
        settings: ServerSettings,
        executor: Executor,
        database: Database,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._settings = settings
        self._seal = database.seal
        self._server = Server(
            name=settings.server_name or _make_up_name(),
            token=secrets.token_hex(8),
            executor=executor.name,
            version=executor.version,
            key_id=database.seal.key_id,
            keys=database.seal.key_ids,
            agents={one.name for one in executor.agents()},
        )
        self.name = self._server.name
        self._signals: set[str] = set()
        self._signalled = asyncio.Event()
        self._tallies = Tallies()
        self._bounds = Bounds(
            max_events=settings.max_events,
            max_event_bytes=settings.max_event_bytes,
            retries=settings.retries,
        )
        self.writer = Writer(database, server=self._server.name, on_signals=self.hear)
        self._readers = Readers(database, self.writer, pool)
        self._hub = Hub(
            read_events=self._read_page,
            read_reaches=lambda seqs: self._readers.read(
                lambda connection: events.read_reaches(connection, seqs)
            ),
            max_watchers=settings.max_watchers,
        )
        self._keeper = Keeper(
            self._server,
            writer=self.writer,
            readers=self._readers,
            terms=Terms(
                lease_seconds=settings.lease_seconds,
                unserved_seconds=settings.unserved_seconds,
                retention=Retention(
                    runs=settings.keep_runs, days=settings.keep_days, bytes=settings.keep_bytes
                ),
            ),
        )
        self._dispatcher = Dispatcher(
            executor,
            self._build_holder(executor),
            writer=self.writer,
            concurrency=settings.concurrency,
            hooks=Hooks(
                build=self._build_execution, on_stored=self._publish, on_ended=self._tallies.count
            ),
        )
        self.runs = EngineRuns(
            Book(
                executor=executor.name,
                version=executor.version,
                seal=self._seal,
                served=self._server.agents,
                limits=Limits(
                    max_queued=settings.max_queued,
                    max_active_per_tenant=settings.max_active_per_tenant,
                ),
            ),
            writer=self.writer,
            readers=self._readers,
            hub=self._hub,
            statistics=self._report,
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Enter the server among the others, and execute runs until the end of the context."""
        try:
            await self._keeper.enter()
        except DatabaseAwayError:
            raise StorageError(
                "database: expected one that can be used now; the log says what it answers"
            ) from None
        hearers = Hearers(
            look=lambda: self.hear(set(ALL_SIGNALS)),
            on_ended=self._hear_of_stranded,
            tallies=self._tallies,
        )
        dispatching = _start(self._dispatcher.work())
        others = [
            _start(self._keeper.keep(self._dispatcher, hearers)),
            _start(self._keeper.tidy(hearers)),
            _start(self._listen()),
        ]
        try:
            yield
        finally:
            await _end_tasks([dispatching])
            await self._dispatcher.stop(seconds=self._settings.stop_seconds)
            await _end_tasks(others)
            await self._keeper.leave()

    async def _listen(self) -> None:
        """Look at what others have written."""
        trials = Trials("what others have written could not be looked at")
        while True:
            await self._signalled.wait()
            self._signalled.clear()
            signals, self._signals = self._signals, set()
            with trials.made():
                if CANCELLED in signals and self._dispatcher.executing:
                    self._dispatcher.cancel(await self._read_cancelled())
                if TOLD in signals:
                    await self._hub.look()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _read_cancelled(self) -> dict[int, str | None]:
        name = self._server.name
        return await self._readers.read(
            lambda connection: holds.read_cancelled(connection, name, self._seal)
        )

    def hear(self, signals: set[str]) -> None:
        """Look at what was written, by others or by clients of this server."""
        if QUEUED in signals:
            self._dispatcher.wake()
        self._signals |= signals
        self._signalled.set()

    def _publish(self, seq: int, told: Sequence[Event]) -> None:
        if self._hub.is_watched(seq):
            size = sum(len(event.text) for event in told)
            self._hub.publish(seq, [to_stored(event) for event in told], size=size)

    async def _read_page(self, seq: int, after: int) -> Sequence[StoredEvent]:
        return await self._readers.read(
            lambda connection: events.read_events(
                connection, seq, after=after, limit=_PAGE, seal=self._seal
            )
        )

    def _build_holder(self, executor: Executor) -> Holder:
        return Holder(
            server=self._server.name,
            token=self._server.token,
            executor=executor.name,
            version=executor.version,
            agents=self._server.agents,
            max_attempts=self._settings.max_attempts,
            interrupted=executor.interrupted,
        )

    def _build_execution(self, hold: Hold, on_lost: Callable[[], None]) -> RunExecution:
        return RunExecution(
            hold,
            writer=self.writer,
            bounds=self._bounds,
            on_stored=self._publish,
            on_lost=on_lost,
        )

    def _hear_of_stranded(self, row: sa.Row[Any], ending: Ending, event: Event) -> None:
        self._publish(row.seq, [event])
        self._tallies.count(row.tenant, ending, event.created_at)

    def _report(self, tenant: str | None) -> Statistics:
        tally = self._tallies.of(tenant)
        executing, watchers = self._dispatcher.executing, self._hub.watchers
        return Statistics(
            runs=self._tallies.runs(tenant),
            oldest_queued_seconds=self._tallies.waited_seconds(tenant),
            executing=executing.total() if tenant is None else executing[tenant],
            watchers=watchers.total() if tenant is None else watchers[tenant],
            ended=dict(tally.ended),
            duration_seconds=dict(tally.durations),
            duration_sum_seconds=tally.duration_sum,
            tokens=dict(tally.tokens),
            database_is_away=self.writer.is_away,
        )


def _start(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    task.add_done_callback(_tell_of_fault)
    return task


def _tell_of_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled():  # pragma: no cover - none ends by itself
        _logger.critical("a part of the engine has ended", exc_info=task.exception())


async def _end_tasks(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _make_up_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
