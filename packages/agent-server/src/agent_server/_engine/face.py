"""The runs of a database, as `agent_server.runs.Runs` draws them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

import sqlalchemy as sa

from agent_server._store.events import read_events
from agent_server._store.runs import Book
from agent_server._store.writer import Writer
from agent_server.runs import (
    NewRun,
    Run,
    RunFilter,
    RunPage,
    Statistics,
    StoredEvent,
)
from stream_text import has_many_values

from .hub import Hub
from .reading import Readers


_LARGEST_NUMBER = 2**31 - 2


class EngineRuns:
    """The runs that clients see."""

    def __init__(
        self,
        book: Book,
        *,
        writer: Writer,
        readers: Readers,
        hub: Hub,
        statistics: Callable[[str | None], Statistics],
    ) -> None:
        self._book = book
        self._writer = writer
        self._readers = readers
        self._hub = hub
        self._statistics = statistics

    async def create(self, run: NewRun) -> tuple[Run, bool]:
        """Accept a run, durably, and return it with whether it is new."""
        request = None
        if has_many_values(run.request):
            # Not where the database's only writer would be held up.
            request = await asyncio.to_thread(self._book.close_request, run)
        return await self._writer.write(lambda write: self._book.create(write, run, request))

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
        await self._hub.look()
        return asked

    async def read_events(
        self, run_id: str, *, tenant: str, after: int = 0, limit: int = 100
    ) -> Sequence[StoredEvent]:
        """Return the stored events behind a number, at most `limit`."""
        position = min(after, _LARGEST_NUMBER)

        def query(connection: sa.Connection) -> Sequence[StoredEvent]:
            seq = self._book.find(connection, run_id, tenant)
            return read_events(connection, seq, after=position, limit=limit, seal=self._book.seal)

        return await self._readers.read(query)

    async def watch_events(
        self, run_id: str, *, tenant: str, after: int = 0
    ) -> AsyncGenerator[Sequence[StoredEvent]]:
        """Yield the events behind a number as they come, up to and with the run's last one."""
        seq = await self._readers.read(
            lambda connection: self._book.find(connection, run_id, tenant)
        )
        async with aclosing(self._hub.watch(seq, tenant=tenant, after=after)) as batches:
            async for batch in batches:
                yield batch

    async def ping(self) -> None:
        """Return if runs can be accepted and executed now, by this server."""
        await self._writer.probe()

    def statistics(self, *, tenant: str | None = None) -> Statistics:
        """Return what `/metrics` tells."""
        return self._statistics(tenant)
