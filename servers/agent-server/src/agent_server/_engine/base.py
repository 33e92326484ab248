"""What every engine needs: the database and what reads and writes it, the upkeep, and the webhook."""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from agent_server._store.database import Database, open_database
from agent_server._store.fault_log import FaultLog
from agent_server._store.listener import Listener
from agent_server._store.servers import TABLES, Server
from agent_server._store.signals import ALL_SIGNALS, EMITTED, NOTIFIED, STEERED
from agent_server._store.writer import Writer
from agent_server.executor import Executor
from agent_server.settings import ServerSettings

from .hub import Hub
from .janitor import Janitor
from .parts import Parts
from .reading import Readers
from .statistics import Tallies
from .underway import Underway
from .webhook_sender import WebhookSender


_logger = logging.getLogger("agent_server")

_READ_THREADS = 4
# How long to wait for a silent database when the server stops.
_ENDING_SECONDS = 3.0
# Everything that others write in this time is read together.
_LOOK_SECONDS = 0.05


@asynccontextmanager
async def open_base(
    settings: ServerSettings, executor: Executor, *, engine: str = TABLES
) -> AsyncGenerator["Base"]:
    """Open the database of an engine, and the executor.

    Args:
        settings: The database, and the limits of runs.
        executor: Executes the runs.
        engine: The name of the engine whose runs are executed.

    Raises:
        StorageError: If the database cannot be used, a newer version has written it, or a key is missing.
    """
    database = await asyncio.to_thread(open_database, settings, executor)
    with (
        closing(database),
        ThreadPoolExecutor(_READ_THREADS, thread_name_prefix="agent-server-reader") as pool,
    ):
        base = Base(settings, executor, database, pool, engine=engine)
        try:
            async with executor.opened(), _listening(base, database):
                yield base
        finally:
            await _end_threads(base.parts.writer, pool, database)


async def _end_threads(writer: Writer, pool: ThreadPoolExecutor, database: Database) -> None:
    ending = asyncio.ensure_future(
        asyncio.gather(writer.close(), asyncio.to_thread(pool.shutdown, cancel_futures=True))
    )
    if not (await asyncio.wait([ending], timeout=_ENDING_SECONDS))[0]:
        # Threads that wait for a silent database end only when their connections break.
        database.sessions.cut()  # pragma: no cover - nox -s postgresql
    await ending


@asynccontextmanager
async def _listening(base: "Base", database: Database) -> AsyncGenerator[None]:
    if database.is_sqlite:
        yield
    else:  # pragma: no cover - nox -s postgresql
        server = base.parts.server.name
        listener = Listener(database, server=server, on_signals=base.on_signals)
        try:
            yield
        finally:
            await listener.close()


class Base:
    """The parts that all engines have, and the tasks in which they work.

    An engine sets `look` before they begin to work.

    Attributes:
        parts: The parts.
        wake: Called with the signals of what was written, here or by other servers; see `agent_server._store.signals`.
        look: Called soon after, once for many signals, to look at what others have written.
        file: The database's file; None if it has none.
        over_at: Until when the webhook may still be told, by the loop's clock, once the engine stops.
    """

    look: Callable[[set[str]], Coroutine[Any, Any, None]]

    def __init__(
        self,
        settings: ServerSettings,
        executor: Executor,
        database: Database,
        pool: ThreadPoolExecutor,
        *,
        engine: str,
    ) -> None:
        self._signals: set[str] = set()
        self._signalled = asyncio.Event()
        described = executor.agents()
        server = Server(
            name=settings.server_name or make_up_name(),
            token=secrets.token_hex(8),
            executor=executor.name,
            version=executor.version,
            engine=engine,
            key_id=database.encryption.key_id,
            keys=database.encryption.key_ids,
            agents={one.name for one in described},
            agent_versions={one.name: one.version for one in described if one.version},
        )
        webhook = settings.webhook()
        writer = Writer(
            database,
            server=server.name,
            on_signals=self.on_signals,
            has_webhook=webhook is not None,
            is_told=engine == TABLES,
        )
        readers = Readers(database, writer, pool)
        self.parts = Parts(
            settings=settings,
            server=server,
            writer=writer,
            readers=readers,
            encryption=database.encryption,
            hub=Hub(readers, database.encryption, max_watchers=settings.max_watchers),
            tallies=Tallies(),
            underway=Underway(),
        )
        self._janitor = Janitor(self.parts)
        self._sender = None if webhook is None else WebhookSender(self.parts, webhook)
        # PostgreSQL is shared by machines, whose processes nobody sees from here.
        self.file = Path(database.url.database or "") if database.is_sqlite else None
        self.over_at = 0.0
        self.wake: Callable[[set[str]], None] = lambda _: None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Keep the database tidy, and tell watchers and the webhook, until the end of the context."""
        others = [start_part(self._janitor.work()), start_part(self._follow_signals())]
        if self.parts.server.engine != TABLES:  # whose heartbeat looks
            others.append(start_part(self._look_now_and_then()))
        sending = [] if self._sender is None else [start_part(self._sender.work())]
        clock = asyncio.get_running_loop().time
        try:
            yield
        finally:
            await end_parts(sending)
            if self._sender is not None:
                await self._sender.stop(seconds=max(self.over_at - clock(), 0))
            await end_parts(others)

    async def _follow_signals(self) -> None:
        """Read what others have written whenever they signal it."""
        faults = FaultLog("what others have written could not be looked at")
        while True:
            await self._signalled.wait()
            self._signalled.clear()
            signals, self._signals = self._signals, set()
            with faults.suppressing():
                await self.look(signals)
                if EMITTED in signals:
                    await self.parts.hub.look()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look_now_and_then(self) -> None:
        while True:
            self.signal_all()
            await asyncio.sleep(self.parts.settings.lease_seconds / 3)

    def on_signals(self, signals: set[str]) -> None:
        """Note what other servers, or clients of this one, have written, so that it is read soon."""
        self.wake(signals)
        self.parts.underway.steered += STEERED in signals
        if NOTIFIED in signals and self._sender is not None:
            self._sender.wake()
        self._signals |= signals
        self._signalled.set()

    def signal_all(self) -> None:
        """Look at everything, in case a signal was lost."""
        self.on_signals(set(ALL_SIGNALS))


def start_part(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Start a part of an engine, which never ends by itself."""
    task = asyncio.create_task(work)
    task.add_done_callback(_log_end)
    return task


def _log_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled():  # pragma: no cover - none ends by itself
        _logger.critical("a part of the engine has ended", exc_info=task.exception())


async def end_parts(tasks: Sequence[asyncio.Task[None]]) -> None:
    """End parts of an engine."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def make_up_name() -> str:
    """Return a name for a server that no other has."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
