"""The service for clients: the runs of a database, whichever server executes them."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, override

import sqlalchemy as sa

from agent_server._store.events import read_events
from agent_server._store.records import measure_json
from agent_server._store.runs import RunRepository
from agent_server.executor import (
    ChecksAnswers,
    Executor,
    JsonObject,
    Problem,
    RequestRefusedError,
    Steerable,
)
from agent_server.runs import (
    NewAnswer,
    NewRun,
    Run,
    RunFilter,
    RunPage,
    Runs,
    Statistics,
    StoredEvent,
)
from stream_text import LARGE_TEXT, has_many_values

from .parts import Parts
from .reading import parse_stored


# Numbers are 32-bit integers in PostgreSQL, and the next one has to be one as well.
_LARGEST_NUMBER = 2**31 - 2


class RunService(Runs):
    """The runs of a database, by an engine's parts.

    Args:
        parts: The engine's parts, which read and write runs.
        executor: Checks answers to what runs wait for.
        executing: Returns how many runs of each tenant are executed here.
    """

    def __init__(
        self, parts: Parts, executor: Executor, executing: Callable[[], Counter[str]]
    ) -> None:
        self._parts = parts
        self._encryption = parts.encryption
        self._executor = executor
        self._executing = executing
        self._repository = RunRepository(
            server=parts.server, encryption=parts.encryption, settings=parts.settings
        )

    @override
    async def create(self, run: NewRun) -> tuple[Run, bool]:
        encrypted = None
        if self._parts.settings.traces:
            origin = dict(run.origin)
            from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415 - of an extra
                TraceContextTextMapPropagator,
            )

            TraceContextTextMapPropagator().inject(origin)
            run = replace(run, origin={k: v for k, v in origin.items() if k != "tracestate"})
        if has_many_values(run.request) or measure_json(run.request) > LARGE_TEXT:
            # In a thread of its own: in the writer, all other writes would wait.
            encrypted = await asyncio.to_thread(self._repository.encrypt_request, run)
            run = replace(run, request={}, shown=None)
        return await self._parts.writer.write(self._repository.create, run, encrypted)

    @override
    async def get(self, run_id: str, *, tenant: str) -> Run:
        return await self._parts.readers.read(self._repository.get, run_id, tenant)

    @override
    async def list(
        self, which: RunFilter, *, tenant: str, limit: int, cursor: str | None = None
    ) -> RunPage:
        return await self._parts.readers.read(self._repository.list, which, tenant, limit, cursor)

    @override
    async def cancel(self, run_id: str, *, tenant: str, reason: str | None = None) -> Run:
        asked = await self._parts.writer.write(self._repository.cancel, run_id, tenant, reason)
        await self._parts.hub.look()
        return asked

    @override
    async def answer(self, run_id: str, new: NewAnswer, *, tenant: str) -> tuple[Run, bool]:
        if isinstance(self._executor, ChecksAnswers):
            self.check_answer(await self.get(run_id, tenant=tenant), new)
        is_new = await self._parts.writer.write(self._repository.answer, run_id, tenant, new)
        return await self.get(run_id, tenant=tenant), is_new

    def check_answer(self, run: Run, new: NewAnswer) -> None:
        """Have the executor check an answer to what a run waits for.

        Raises:
            RequestRefusedError: If it does not fit.
        """
        asked = run.waiting_for
        if isinstance(self._executor, ChecksAnswers) and asked and asked.wait_id == new.wait_id:
            self._executor.check_answer(run.agent, asked.request, new.answer)

    @override
    async def steer(
        self, run_id: str, message: Any, *, tenant: str, key: str | None = None
    ) -> tuple[Run, bool]:
        run = await self.get(run_id, tenant=tenant)
        if not isinstance(self._executor, Steerable):
            told = "expected to be absent: runs of this server take no messages while under way"
            raise RequestRefusedError(Problem(field="steer", message=told))
        taken = self._executor.check_steer(run.agent, message)
        is_new = await self._parts.writer.write(self._repository.steer, run_id, tenant, taken, key)
        return await self.get(run_id, tenant=tenant), is_new

    @override
    async def delete(self, run_id: str, *, tenant: str) -> None:
        await self._parts.writer.write(self._repository.delete, run_id, tenant)

    @override
    async def read_state(self, run_id: str, *, tenant: str) -> bytes | None:
        return await self._parts.readers.read(self._repository.read_state, run_id, tenant)

    @override
    async def read_shown(self, run_id: str, *, tenant: str) -> JsonObject | None:
        text = await self._parts.readers.read(self._repository.read_shown, run_id, tenant)
        return None if text is None else await parse_stored(text.decode())

    @override
    async def read_events(
        self, run_id: str, *, tenant: str, after: int = 0, limit: int = 100
    ) -> Sequence[StoredEvent]:
        position = min(after, _LARGEST_NUMBER)

        def query(connection: sa.Connection) -> Sequence[StoredEvent]:
            seq = self._repository.find(connection, run_id, tenant)
            return read_events(
                connection, seq, after=position, limit=limit, encryption=self._encryption
            )

        return await self._parts.readers.read(query)

    @override
    async def watch_events(
        self, run_id: str, *, tenant: str, after: int = 0
    ) -> AsyncGenerator[Sequence[StoredEvent]]:
        seq = await self._parts.readers.read(self._repository.find, run_id, tenant)
        async with aclosing(self._parts.hub.watch(seq, tenant=tenant, after=after)) as batches:
            async for batch in batches:
                yield batch

    @override
    async def ping(self) -> None:
        await self._parts.writer.probe()

    @override
    def statistics(self, *, tenant: str | None = None) -> Statistics:
        tallies = self._parts.tallies
        tally = tallies.of(tenant)
        executing, watchers = self._executing(), self._parts.hub.watchers
        return Statistics(
            runs=tallies.runs(tenant),
            oldest_queued_seconds=tallies.waited_seconds(tenant, "queued"),
            oldest_unanswered_seconds=tallies.waited_seconds(tenant, "waiting"),
            webhook_messages=tallies.messages(tenant),
            longest_step_seconds=self._parts.underway.longest_seconds(tenant),
            executing=executing.total() if tenant is None else executing[tenant],
            watchers=watchers.total() if tenant is None else watchers[tenant],
            ended=dict(tally.ended),
            duration_seconds=dict(tally.durations),
            duration_sum_seconds=tally.duration_sum,
            tokens=dict(tally.tokens),
            ended_by_tenant=tallies.tenants() if tenant is None else {},
            database_is_away=self._parts.writer.is_away,
        )
