"""The service that clients use: the runs of a database, whichever server executes them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import sqlalchemy as sa

from agent_server._store.encryption import Encryption
from agent_server._store.events import read_events
from agent_server._store.runs import RunRepository
from agent_server.runs import NewRun, Run, RunFilter, RunPage, Statistics, StoredEvent
from stream_text import has_many_values

from .dispatcher import Dispatcher
from .parts import Parts


_LARGEST_NUMBER = 2**31 - 2


class RunService:
    """The runs of a database. Every method raises `DatabaseAwayError` while the database cannot be reached.

    Args:
        parts: What reads and writes them.
        encryption: Encrypts what is written of them.
        dispatcher: Executes some of them.
    """

    def __init__(self, parts: Parts, encryption: Encryption, dispatcher: Dispatcher) -> None:
        self._parts = parts
        self._encryption = encryption
        self._dispatcher = dispatcher
        self._repository = RunRepository(
            server=parts.server, encryption=encryption, settings=parts.settings
        )

    async def create(self, run: NewRun) -> tuple[Run, bool]:
        """Store a run, and return it with whether it is new.

        Raises:
            QueueFullError: If too many runs wait, of all or of this tenant.
            IdempotencyConflictError: If the key came before with another body.
        """
        request = None
        if has_many_values(run.request):
            # Not where the database's only writer would be held up.
            request = await asyncio.to_thread(self._repository.encrypt_request, run)
        return await self._parts.writer.write(self._repository.create, run, request)

    async def get(self, run_id: str, *, tenant: str) -> Run:
        """Return a run.

        Raises:
            RunNotFoundError: If the tenant has none of this id.
        """
        return await self._parts.readers.read(self._repository.get, run_id, tenant)

    async def list(
        self, which: RunFilter, *, tenant: str, limit: int, cursor: str | None = None
    ) -> RunPage:
        """Return a page of a tenant's runs, newest first.

        Raises:
            RequestRefusedError: If the cursor is none of ours.
        """
        return await self._parts.readers.read(self._repository.list, which, tenant, limit, cursor)

    async def cancel(self, run_id: str, *, tenant: str, reason: str | None = None) -> Run:
        """Cancel a run; one that is finished stays as it is.

        Raises:
            RunNotFoundError: If the tenant has none of this id.
        """
        asked = await self._parts.writer.write(self._repository.cancel, run_id, tenant, reason)
        await self._parts.hub.look()
        return asked

    async def read_events(
        self, run_id: str, *, tenant: str, after: int = 0, limit: int = 100
    ) -> Sequence[StoredEvent]:
        """Return the stored events after a number, at most `limit`.

        Large ones may be fewer: it reads no more than 256 KiB and one batch, and none only where there is none.

        Raises:
            RunNotFoundError: If the tenant has none of this id.
        """
        position = min(after, _LARGEST_NUMBER)

        def query(connection: sa.Connection) -> Sequence[StoredEvent]:
            seq = self._repository.find(connection, run_id, tenant)
            return read_events(
                connection, seq, after=position, limit=limit, encryption=self._encryption
            )

        return await self._parts.readers.read(query)

    async def watch_events(
        self, run_id: str, *, tenant: str, after: int = 0
    ) -> AsyncGenerator[Sequence[StoredEvent]]:
        """Yield the events after a number as they come, in batches that are never empty, up to and including the run's last.

        Raises:
            RunNotFoundError: If the tenant has none of this id.
            TooManyWatchersError: If the server has as many watchers as it may.
        """
        seq = await self._parts.readers.read(self._repository.find, run_id, tenant)
        async with aclosing(self._parts.hub.watch(seq, tenant=tenant, after=after)) as batches:
            async for batch in batches:
                yield batch

    async def ping(self) -> None:
        """Return if runs can be accepted and executed now, by this server."""
        await self._parts.writer.probe()

    def statistics(self, *, tenant: str | None = None) -> Statistics:
        """Return the statistics of a tenant's runs, or of all, without asking the database, which may be away."""
        tallies = self._parts.tallies
        tally = tallies.of(tenant)
        executing, watchers = self._dispatcher.executing, self._parts.hub.watchers
        return Statistics(
            runs=tallies.runs(tenant),
            oldest_queued_seconds=tallies.waited_seconds(tenant),
            executing=executing.total() if tenant is None else executing[tenant],
            watchers=watchers.total() if tenant is None else watchers[tenant],
            ended=dict(tally.ended),
            duration_seconds=dict(tally.durations),
            duration_sum_seconds=tally.duration_sum,
            tokens=dict(tally.tokens),
            database_is_away=self._parts.writer.is_away,
        )
