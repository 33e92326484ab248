"""The engine of the tables: servers on one database share its runs, and take over from those that die."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager

from agent_server._store import claims
from agent_server._store.errors import NO_DATABASE, StorageError
from agent_server._store.signals import CANCELLED, QUEUED
from agent_server.executor import Executor
from agent_server.runs import DatabaseAwayError
from agent_server.settings import ServerSettings

from .base import Base, end_parts, open_base, start_part
from .dispatcher import Dispatcher
from .heartbeat import Heartbeat
from .presence import Presence
from .service import RunService


@asynccontextmanager
async def open_tables(settings: ServerSettings, executor: Executor) -> AsyncGenerator[RunService]:
    """Execute the runs of a database on the running loop until the end of the context.

    Servers on the same database share the runs of executors with the same name. At the end of the context, runs get `stop_seconds` to end;
    those that are left wait for another server, or for the next start of this one.

    Raises:
        StorageError: If the database cannot be used, a newer version has written it, or a key is missing.
        ServerNameTakenError: If a living server has the name that the settings give.
    """
    async with open_base(settings, executor) as base:
        dispatcher = Dispatcher(base.parts, executor)
        with _present(base) as presence:
            heartbeat = Heartbeat(base.parts, presence)
            async with _executing(base, dispatcher, heartbeat):
                yield RunService(base.parts, executor, lambda: dispatcher.executing)


@contextmanager
def _present(base: Base) -> Generator[Presence | None]:
    """Show other servers of this machine that this one lives, if they can have the same database."""
    if base.file is None:  # pragma: no cover - nox -s postgresql
        yield None
        return
    with closing(Presence(base.file, base.parts.server.token)) as presence:
        yield presence


@asynccontextmanager
async def _executing(
    base: Base, dispatcher: Dispatcher, heartbeat: Heartbeat
) -> AsyncGenerator[None]:
    """Register the server, and execute runs until the end of the context."""
    parts = base.parts

    def wake(signals: set[str]) -> None:
        if QUEUED in signals:
            dispatcher.wake()

    async def look(signals: set[str]) -> None:
        if CANCELLED in signals and dispatcher.executing:
            server, encryption = parts.server.name, parts.encryption
            dispatcher.cancel(await parts.readers.read(claims.read_cancelled, server, encryption))

    base.wake, base.look = wake, look
    try:
        await heartbeat.enter()
    except DatabaseAwayError:
        raise StorageError(NO_DATABASE) from None
    dispatching = start_part(dispatcher.work())
    beating = start_part(heartbeat.keep(dispatcher, base.signal_all))
    try:
        async with base.running():
            try:
                yield
            finally:
                # First no new runs are taken, then the others end. Until then other servers have to
                # see that this one is alive.
                seconds = parts.settings.stop_seconds
                base.over_at = asyncio.get_running_loop().time() + seconds
                await end_parts([dispatching])
                await dispatcher.stop(seconds=seconds)
    finally:
        await end_parts([beating])
        await heartbeat.leave()
