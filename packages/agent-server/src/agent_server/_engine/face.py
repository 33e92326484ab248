"""The runs of a database, as `agent_server.runs.Runs` draws them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

import sqlalchemy as sa

from agent_server._store.database import Database
from agent_server._store.errors import UNREACHABLE
from agent_server._store.events import Reach, read_events
from agent_server._store.runs import Book
from agent_server._store.writer import Writer
from agent_server.runs import (
    FINISHED,
    DatabaseAwayError,
    NewRun,
    Run,
    RunFilter,
    RunPage,
    Statistics,
    StoredEvent,
)

from .hub import Hub


# As long as a client is let wait before it hears that the database is away.
_PATIENCE_SECONDS = 4.0
_LARGEST_NUMBER = 2**31 - 2


class Readers:
    """A few threads that read the database."""

    def __init__(self, database: Database, writer: Writer, pool: ThreadPoolExecutor) -> None:
        self._database = database
        self._writer = writer
        self._pool = pool

    async def read[Result](self, query: Callable[[sa.Connection], Result]) -> Result:
        """Return what a query finds.

        Raises:
            DatabaseAwayError: If the database cannot be reached.
        """
        if self._writer.is_away:
            raise DatabaseAwayError
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await loop.run_in_executor(self._pool, self._query, query)
        except TimeoutError:
            raise DatabaseAwayError from None
        except UNREACHABLE as error:
            self._writer.suspect(error)
            raise DatabaseAwayError from None

    def _query[Result](self, query: Callable[[sa.Connection], Result]) -> Result:
        with self._database.reader.begin() as connection:
            return query(connection)


class EngineRuns:
    """The runs that clients see."""

    def __init__(
        self,
        book: Book,
        *,
        writer: Writer,
        readers: Readers,
        hub: Hub,
        statistics: Callable[[], Statistics],
    ) -> None:
        self._book = book
        self._writer = writer
        self._readers = readers
        self._hub = hub
        self._statistics = statistics

    async def create(self, run: NewRun) -> tuple[Run, bool]:
        """Accept a run, durably, and return it with whether it is new."""
        created = await self._writer.write(lambda write: self._book.create(write, run))
        if isinstance(created, Exception):
            raise created
        return created

    async def get(self, run_id: str, *, tenant: str) -> Run:
        """Return a run."""
        return await self._readers.read(
            lambda connection: self._book.get(connection, run_id, tenant)
        )

    async def list(
        self, which: RunFilter, *, tenant: str, limit: int, cursor: str | None = None
    ) -> RunPage:
        """Return a page of a tenant's runs, newest first."""
        return await self._readers.read(
            lambda connection: self._book.list(connection, which, tenant, limit, cursor)
        )

    async def cancel(self, run_id: str, *, tenant: str, reason: str | None = None) -> Run:
        """Ask for the end of a run; one that is finished stays as it is."""
        asked = await self._writer.write(
            lambda write: self._book.cancel(write, run_id, tenant, reason)
        )
        if isinstance(asked, Exception):
            raise asked
        await self._hub.look()
        return asked

    async def read_events(
        self, run_id: str, *, tenant: str, after: int = 0, limit: int = 100
    ) -> Sequence[StoredEvent]:
        """Return the stored events behind a number, at most `limit`."""
        position = min(after, _LARGEST_NUMBER)

        def query(connection: sa.Connection) -> Sequence[StoredEvent]:
            seq = self._book.find(connection, run_id, tenant).seq
            return read_events(connection, seq, after=position, limit=limit, seal=self._book.seal)

        return await self._readers.read(query)

    async def watch_events(
        self, run_id: str, *, tenant: str, after: int = 0
    ) -> AsyncGenerator[Sequence[StoredEvent]]:
        """Yield the events behind a number as they come, up to and with the run's last one."""
        row = await self._readers.read(
            lambda connection: self._book.find(connection, run_id, tenant)
        )
        reach = Reach(last=row.last_event, is_finished=row.status in FINISHED)
        async with aclosing(self._hub.watch(row.seq, reach, after=after)) as batches:
            async for batch in batches:
                yield batch

    async def ping(self) -> None:
        """Return if runs can be accepted and executed now, by this server."""
        await self._writer.write(lambda _: None)

    def statistics(self) -> Statistics:
        """Return what `/metrics` tells."""
        return self._statistics()
