"""The service for clients: the runs of a database, whichever server executes them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import sqlalchemy as sa

from agent_server._store.events import read_events
from agent_server._store.runs import RunRepository
from agent_server.executor import ChecksAnswers, Executor, JsonObject
from agent_server.runs import NewAnswer, NewRun, Run, RunFilter, RunPage, Statistics, StoredEvent
from stream_text import has_many_values

from .dispatcher import Dispatcher
from .parts import Parts
from .reading import parse_stored


# Numbers are 32-bit integers in PostgreSQL, and the next one has to be one as well.
_LARGEST_NUMBER = 2**31 - 2


class RunService:
    """The runs of a database. Every method raises `DatabaseAwayError` while the database cannot be reached.

    Args:
        parts: The engine's parts, which read and write runs.
        executor: Checks answers to what runs wait for.
        dispatcher: Executes this server's runs.
    """

    def __init__(self, parts: Parts, executor: Executor, dispatcher: Dispatcher) -> None:
        self._parts = parts
        self._encryption = parts.encryption
        self._executor = executor
        self._dispatcher = dispatcher
        self._repository = RunRepository(
            server=parts.server, encryption=parts.encryption, settings=parts.settings
        )

    async def create(self, run: NewRun) -> tuple[Run, bool]:
        """Store a run, and return it with whether it is new.

        Raises:
            QueueFullError: If too many runs wait, in all or for this tenant.
            IdempotencyConflictError: If the key came before with another body.
        """
        encrypted = None
        if has_many_values(run.request):
            # In a thread of its own: in the writer, all other writes would wait.
            encrypted = await asyncio.to_thread(self._repository.encrypt_request, run)
        return await self._parts.writer.write(self._repository.create, run, encrypted)

    async def get(self, run_id: str, *, tenant: str) -> Run:
        """Return a run.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
        """
        return await self._parts.readers.read(self._repository.get, run_id, tenant)

    async def list(
        self, which: RunFilter, *, tenant: str, limit: int, cursor: str | None = None
    ) -> RunPage:
        """Return a page of a tenant's runs, newest first.

        Raises:
            RequestRefusedError: If the cursor is not one of ours.
        """
        return await self._parts.readers.read(self._repository.list, which, tenant, limit, cursor)

    async def cancel(self, run_id: str, *, tenant: str, reason: str | None = None) -> Run:
        """Cancel a run, and return it; a finished run stays as it is.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
        """
        asked = await self._parts.writer.write(self._repository.cancel, run_id, tenant, reason)
        await self._parts.hub.look()
        return asked

    async def answer(self, run_id: str, new: NewAnswer, *, tenant: str) -> tuple[Run, bool]:
        """Give a run what it waits for, so that it goes on, and return it with whether the answer is new: the same answer may come again.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
            AnswerConflictError: If it does not wait for this, or has had another answer to it.
            RequestRefusedError: If something is missing, nobody asked for it, or it does not fit the question.
        """
        if isinstance(self._executor, ChecksAnswers):
            run = await self.get(run_id, tenant=tenant)
            asked = run.waiting_for
            if asked is not None and asked.wait_id == new.wait_id:
                self._executor.check_answer(run.agent, asked.request, new.answer)
        is_new = await self._parts.writer.write(self._repository.answer, run_id, tenant, new)
        return await self.get(run_id, tenant=tenant), is_new

    async def delete(self, run_id: str, *, tenant: str) -> None:
        """Delete a run that has ended, with all that is stored of it.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
            RunActiveError: If it has not ended.
        """
        await self._parts.writer.write(self._repository.delete, run_id, tenant)

    async def read_state(self, run_id: str, *, tenant: str) -> bytes | None:
        """Return the `RunResult.state` of a run that has ended; None if it has none.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
        """
        return await self._parts.readers.read(self._repository.read_state, run_id, tenant)

    async def read_shown(self, run_id: str, *, tenant: str) -> JsonObject | None:
        """Return the `NewRun.shown` that a run was created with.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
        """
        text = await self._parts.readers.read(self._repository.read_shown, run_id, tenant)
        return None if text is None else await parse_stored(text)

    async def read_events(
        self, run_id: str, *, tenant: str, after: int = 0, limit: int = 100
    ) -> Sequence[StoredEvent]:
        """Return the stored events after a number, at most `limit`.

        There may be fewer if they are large: it reads up to 256 KiB plus one batch, and returns none only if there are none.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
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
        """Yield the events after a number as they come, in batches that are never empty, up to and including the run's last, or the one with which it waits.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
            TooManyWatchersError: If the server's limit of watchers is reached.
        """
        seq = await self._parts.readers.read(self._repository.find, run_id, tenant)
        async with aclosing(self._parts.hub.watch(seq, tenant=tenant, after=after)) as batches:
            async for batch in batches:
                yield batch

    async def ping(self) -> None:
        """Return if this server can accept and execute runs now; raise otherwise."""
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
