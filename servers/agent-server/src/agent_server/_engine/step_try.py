"""A step that is made apart from its run, as its executor sees it."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_server._store import apart
from agent_server._store.apart import ApartRuns, StepBegun, Telling, Try
from agent_server._store.records import Event
from agent_server._store.steering import read_steered
from agent_server.executor import Executor, JsonObject, MakesSteps, Resumption
from agent_server.runs import refuse_own_event

from .gathering import Gathering, beside, try_step
from .parts import Parts


class StepLostError(Exception):
    """A step that is not for this process to make any more: its run has ended, or another process makes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What a run is executed with, in one of its attempts.

    Attributes:
        run_id: Its id.
        tenant: Its tenant.
        agent: The agent's name.
        request: The accepted request.
        metadata: The client's metadata.
        part: How often it has waited and was answered.
        resumption: What it continues from; None until it was answered.
    """

    run_id: str
    tenant: str
    agent: str
    request: JsonObject
    metadata: Mapping[str, str]
    part: int
    resumption: Resumption | None


class StepTry:
    """A try of a step; `agent_server.executor.StepExecution` describes it."""

    def __init__(
        self, parts: Parts, runs: ApartRuns, one: Try, facts: RunFacts, begun: StepBegun
    ) -> None:
        self.run_id = facts.run_id
        self.tenant = facts.tenant
        self.agent = facts.agent
        self.request = facts.request
        self.resumption = facts.resumption
        self.key = one.key
        self.is_again = begun.emitted > 0
        self._parts = parts
        self._runs = runs
        self._try = one
        self._emitted = begun.emitted
        self._failure: Exception | None = None
        self._making: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._gathering = Gathering()

    async def tell(self, type_: str, data: JsonObject) -> None:
        """Emit an event."""
        refuse_own_event(type_)
        await self._gathering.await_room()
        self._gathering.add(await beside(data, Event.emit, 0, type_, data), self._store)

    async def read_steered(self, after: int) -> Sequence[Any]:
        """Return what the run was told after so many messages."""
        return await self._parts.writer.submit(read_steered, self._try.hold.seq, after)

    async def keep(self, name: str, content: bytes) -> None:
        """Keep something for later steps."""
        if not await self._parts.writer.submit(apart.keep, self._try.hold, name, content):
            raise StepLostError

    async def find(self, names: Collection[str]) -> Mapping[str, bytes]:
        """Return what was kept."""
        hold, encryption = self._try.hold, self._parts.encryption
        return await self._parts.readers.read(apart.find_kept, hold, names, encryption)

    async def make(self, executor: Executor, request: bytes) -> bytes:
        """Make the step, record its result and return it.

        Raises:
            StepLostError: If this is not the newest try of a run that is held.
            EventLimitError: If there are too many events.
        """
        if not isinstance(executor, MakesSteps):
            raise TypeError("executor: expected one that makes steps")
        work = try_step(
            lambda: executor.make_step(self, request), retries=self._parts.settings.retries
        )
        self._making = asyncio.ensure_future(work)
        try:
            with self._parts.underway.making(self.key):
                result = await self._making
        except asyncio.CancelledError:
            self._flush()
            self._check()
            raise
        except Exception:
            # What it has told is stored before anybody hears of its error, and may end the run.
            if (stored := self._flush()) is not None:
                await asyncio.wait([stored])
            self._check()
            raise
        self._check()
        telling = self._take(self._gathering.take())
        recorded = await self._parts.writer.submit(self._runs.record, self._try, result, telling)
        self._check()
        if recorded is None:
            raise StepLostError
        return recorded

    def _flush(self) -> "asyncio.Future[bool] | None":
        left = self._gathering.take()
        return self._store(left) if left else None

    def _store(self, emitted: list[Event]) -> "asyncio.Future[bool]":
        telling = self._take(emitted)
        stored = self._parts.writer.submit(self._runs.tell_step, self._try, telling)
        stored.add_done_callback(self._on_stored)
        return stored

    def _take(self, emitted: list[Event]) -> Telling:
        telling = Telling(first=self._emitted, events=emitted)
        self._emitted += len(emitted)
        return telling

    def _on_stored(self, done: "asyncio.Future[bool]") -> None:
        error = done.exception()
        if error is None and done.result():
            return
        if self._failure is None:  # The others follow from the first.
            self._failure = error if isinstance(error, Exception) else StepLostError()
        self._making.cancel()

    def _check(self) -> None:
        """Raise what has kept events from being stored, if anything has."""
        if self._failure is not None:
            raise self._failure
