"""A server's engine, which puts its parts together and reacts when others write to the database."""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from typing import Any

from agent_server._store import claims
from agent_server._store.database import Database, open_database
from agent_server._store.errors import StorageError
from agent_server._store.fault_log import FaultLog
from agent_server._store.listener import Listener
from agent_server._store.servers import Server
from agent_server._store.signals import ALL_SIGNALS, CANCELLED, EMITTED, NOTIFIED, QUEUED
from agent_server._store.writer import Writer
from agent_server.executor import Executor
from agent_server.runs import DatabaseAwayError
from agent_server.settings import ServerSettings

from .dispatcher import Dispatcher
from .heartbeat import Heartbeat
from .hub import Hub
from .janitor import Janitor
from .parts import Parts
from .reading import Readers
from .service import RunService
from .statistics import Tallies
from .webhook import WebhookSender


_logger = logging.getLogger("agent_server")

_READ_THREADS = 4
# How long to wait for a silent database when the server stops.
_ENDING_SECONDS = 3.0
# Everything that others write in this time is read together.
_LOOK_SECONDS = 0.05


@asynccontextmanager
async def open_engine(settings: ServerSettings, executor: Executor) -> AsyncGenerator[RunService]:
    """Open the database, and execute its runs on the running loop until the end of the context.

    Servers on the same database share the runs of executors with the same name. At the end of the context, runs get `stop_seconds` to end;
    those that are left wait for another server, or for the next start of this one.

    Args:
        settings: The database, and the limits of runs.
        executor: Executes the runs.

    Raises:
        StorageError: If the database cannot be used, a newer version has written it, or a key is missing.
        ServerNameTakenError: If a living server has the name that the settings give.
    """
    database = await asyncio.to_thread(open_database, settings, executor)
    with (
        closing(database),
        ThreadPoolExecutor(_READ_THREADS, thread_name_prefix="agent-server-reader") as pool,
    ):
        engine = _Engine(settings, executor, database, pool)
        try:
            async with executor.opened(), _listening(engine, database), engine.running():
                yield engine.runs
        finally:
            await _end_threads(engine.parts.writer, pool, database)


async def _end_threads(writer: Writer, pool: ThreadPoolExecutor, database: Database) -> None:
    ending = asyncio.ensure_future(
        asyncio.gather(writer.close(), asyncio.to_thread(pool.shutdown, cancel_futures=True))
    )
    if not (await asyncio.wait([ending], timeout=_ENDING_SECONDS))[0]:
        # Threads that wait for a silent database end only when their connections break.
        database.sessions.cut()  # pragma: no cover - nox -s postgresql
    await ending


@asynccontextmanager
async def _listening(engine: "_Engine", database: Database) -> AsyncGenerator[None]:
    if database.is_sqlite:
        yield
    else:  # pragma: no cover - nox -s postgresql
        server = engine.parts.server.name
        listener = Listener(database, server=server, on_signals=engine.on_signals)
        try:
            yield
        finally:
            await listener.close()


class _Engine:
    """The parts of an engine, and the tasks in which they work."""

    def __init__(
        self,
        settings: ServerSettings,
        executor: Executor,
        database: Database,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._encryption = database.encryption
        self._signals: set[str] = set()
        self._signalled = asyncio.Event()
        described = executor.agents()
        server = Server(
            name=settings.server_name or _make_up_name(),
            token=secrets.token_hex(8),
            executor=executor.name,
            version=executor.version,
            key_id=self._encryption.key_id,
            keys=self._encryption.key_ids,
            agents={one.name for one in described},
            agent_versions={one.name: one.version for one in described if one.version},
        )
        webhook = settings.webhook()
        writer = Writer(
            database,
            server=server.name,
            on_signals=self.on_signals,
            has_webhook=webhook is not None,
        )
        readers = Readers(database, writer, pool)
        self.parts = Parts(
            settings=settings,
            server=server,
            writer=writer,
            readers=readers,
            encryption=self._encryption,
            hub=Hub(readers, self._encryption, max_watchers=settings.max_watchers),
            tallies=Tallies(),
        )
        self._heartbeat = Heartbeat(self.parts)
        self._janitor = Janitor(self.parts)
        self._dispatcher = Dispatcher(self.parts, executor)
        self._sender = None if webhook is None else WebhookSender(self.parts, webhook)
        self.runs = RunService(self.parts, executor, self._dispatcher)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Register the server, and execute runs until the end of the context."""
        try:
            await self._heartbeat.enter()
        except DatabaseAwayError:
            raise StorageError(
                "database: expected one that can be used now; the log says what it answers"
            ) from None
        dispatching = _start(self._dispatcher.work())
        others = [
            _start(self._heartbeat.keep(self._dispatcher, self._look)),
            _start(self._janitor.work()),
            _start(self._follow_signals()),
        ]
        sending = [] if self._sender is None else [_start(self._sender.work())]
        try:
            yield
        finally:
            # First no new runs are taken, then the others end. Until then other servers have to see
            # that this one is alive.
            clock = asyncio.get_running_loop().time
            over = clock() + self.parts.settings.stop_seconds
            await _end_tasks([dispatching])
            await self._dispatcher.stop(seconds=self.parts.settings.stop_seconds)
            await _end_tasks(sending)
            if self._sender is not None:
                await self._sender.stop(seconds=max(over - clock(), 0))
            await _end_tasks(others)
            await self._heartbeat.leave()

    async def _follow_signals(self) -> None:
        """Read what others have written whenever they signal it."""
        faults = FaultLog("what others have written could not be looked at")
        while True:
            await self._signalled.wait()
            self._signalled.clear()
            signals, self._signals = self._signals, set()
            with faults.suppressing():
                if CANCELLED in signals and self._dispatcher.executing:
                    self._dispatcher.cancel(
                        await self.parts.readers.read(
                            claims.read_cancelled, self.parts.server.name, self._encryption
                        )
                    )
                if EMITTED in signals:
                    await self.parts.hub.look()
            await asyncio.sleep(_LOOK_SECONDS)

    def on_signals(self, signals: set[str]) -> None:
        """Note what other servers, or clients of this one, have written, so that it is read soon."""
        if QUEUED in signals:
            self._dispatcher.wake()
        if NOTIFIED in signals and self._sender is not None:
            self._sender.wake()
        self._signals |= signals
        self._signalled.set()

    def _look(self) -> None:
        self.on_signals(set(ALL_SIGNALS))


def _start(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    task.add_done_callback(_log_end)
    return task


def _log_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled():  # pragma: no cover - none ends by itself
        _logger.critical("a part of the engine has ended", exc_info=task.exception())


async def _end_tasks(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _make_up_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
