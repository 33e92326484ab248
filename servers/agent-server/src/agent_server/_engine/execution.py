"""One attempt to execute a run, which gathers its events, and records and retries its steps."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from agent_server._store import claims, holds
from agent_server._store.claims import Claim
from agent_server._store.endings import Ended, RunEnding, last_event
from agent_server._store.events import read_events
from agent_server._store.failures import too_many_waiting
from agent_server._store.records import Event, measure, now
from agent_server._store.steering import read_steered
from agent_server.executor import (
    EventLimitError,
    JsonObject,
    RunResult,
    StepWork,
    Waiting,
)
from agent_server.logs import about
from agent_server.runs import StoredEvent, refuse_own_event
from stream_text import dump_json

from .gathering import Gathering, beside, try_step
from .parts import Parts
from .reading import parse_stored


_PAGE = 500


class RunExecution:
    """An attempt to execute a run; `agent_server.executor.Execution` describes it."""

    def __init__(self, claim: Claim, parts: Parts, *, on_lost: Callable[[], None]) -> None:
        """Begin with only the event `run_started`.

        Args:
            claim: The claim of the attempt.
            parts: The engine's parts that store and report it.
            on_lost: Called when the run no longer belongs to this server.
        """
        self.on_lost = on_lost
        self.claim = claim
        self.run_id = claim.run_id
        self.tenant = claim.tenant
        self.agent = claim.agent
        self.request: JsonObject = {}
        self.metadata = claim.metadata
        self.attempt = claim.attempt
        self.part = claim.part
        self.resumption = claim.resumption
        self.is_apart = False
        self.cancel_reason: str | None = None
        self._writer = parts.writer
        self._encryption = parts.encryption
        self._hub = parts.hub
        self._readers = parts.readers
        self._settings = parts.settings
        self._underway = parts.underway
        # How often runs may have been told something when this one had read it all.
        self._has_read = -1
        self._number = claim.started.number
        self._bytes = claim.stored_bytes
        self._gathering = Gathering()
        self._is_broken = False
        self._recorded = set(claim.recorded)
        # One per step: a second call for a step under way waits, and gets the recorded result.
        self._locks: dict[str, asyncio.Lock] = {}

    async def read_request(self) -> None:
        """Parse the request, a large one outside the event loop. Called before the executor reads it, and once: its text is not kept."""
        text, self.claim = self.claim.request.decode(), replace(self.claim, request=b"")
        self.request = await parse_stored(text)

    async def read_events(self) -> Sequence[StoredEvent]:
        """Return the events of this part of the run that earlier attempts have left, the oldest first."""
        found: list[StoredEvent] = []
        last = self.claim.part_event
        while not self.claim.is_first and last < self.claim.started.number:
            read = await self._readers.read(
                read_events, self.claim.seq, after=last, limit=_PAGE, encryption=self._encryption
            )
            found += [one for one in read if one.number < self.claim.started.number]
            last = read[-1].number
        return found

    async def read_steered(self, after: int) -> Sequence[Any]:
        """Return what the run was told after so many messages."""
        steered = self._underway.steered
        if steered == self._has_read:
            return ()
        # By the writer, which waits for a database that is away.
        found = await self._writer.submit(read_steered, self.claim.seq, after)
        if not found:
            self._has_read = steered
        return found

    async def tell(self, type_: str, data: JsonObject) -> None:
        """Emit an event."""
        refuse_own_event(type_)
        await self._gathering.await_room()
        text = (await beside(data, dump_json, data)).encode()
        if self._number >= self._settings.max_events:
            raise EventLimitError(f"expected at most {self._settings.max_events} events")
        event = Event(number=self._number + 1, type=type_, created_at=now(), text=text)
        if self._bytes + measure(event) > self._settings.max_event_bytes:
            raise EventLimitError(
                f"expected at most {self._settings.max_event_bytes} bytes of events"
            )
        self._number += 1
        self._bytes += measure(event)
        self._gathering.add(event, self._append)

    async def step(
        self,
        key: str,
        work: StepWork,
        *,
        retries: bool = True,
        after_events: bool = False,
        request: bytes = b"",  # noqa: ARG002 - the interface's
    ) -> bytes:
        """Do a step once in the life of the run, and return its result."""
        tool = getattr(key, "tool", None)
        key = str(key)  # One that has more to it would be kept with it until the run ends.
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key in self._recorded:
                return await self._writer.submit(holds.read_step, self.claim, key)
            tries = self._settings.retries if retries else 0
            with about(**{"tool": tool} if tool else {}), self._underway.making(key):
                result = await try_step(work, retries=tries, after_events=after_events)
            # If the run no longer belongs to this server, the task that awaits this is cancelled.
            await self._store(holds.record_step, key, result, emitted=self._gathering.take())
            self._recorded.add(key)
            return result

    async def end(self, ending: RunEnding) -> Ended | None:
        """Store the end of the run, and return it if the run still belonged to this server."""
        last = await beside(ending.data, last_event, ending, number=self._number + 1)
        if not await self._store(holds.end, ending, emitted=[*self._gathering.take(), last]):
            return None
        return Ended(
            seq=self.claim.seq,
            run_id=self.run_id,
            tenant=self.tenant,
            agent=self.agent,
            ending=ending,
            event=last,
            started_at=self.claim.started.created_at,
        )

    async def admit(self, waiting: Waiting) -> Waiting | RunResult:
        """Return what the run is to wait for, or the result that ends it because its tenant has too many that wait."""
        maximum = self._settings.max_waiting_per_tenant
        if not await self._writer.submit(holds.has_waiting, self.tenant, maximum):
            return waiting
        return too_many_waiting(maximum)

    async def wait(self, waiting: Waiting) -> None:
        """Store that the run waits, and what for."""
        wait_id = secrets.token_hex(16)
        asked = {"wait_id": wait_id, **asdict(waiting.request)}
        last = Event.emit(self._number + 1, "run_waiting", asked)
        await self._store(holds.wait, waiting, wait_id, emitted=[*self._gathering.take(), last])

    async def release(self) -> None:
        """Put the run back into the queue, with the events that it has emitted.

        If something of the run could not be stored, it is left for the next claim to find, which counts as the death of its server.
        """
        if not self._is_broken:
            await self._store(claims.release, emitted=self._gathering.take())

    def _append(self, emitted: list[Event]) -> "asyncio.Future[bool]":
        """Store a batch of events that nobody waits for."""
        stored = self._store(holds.append, emitted=emitted)
        stored.add_done_callback(lambda done: done.exception() is None or self.on_lost())
        return stored

    def _store(
        self, operation: Callable[..., bool], *args: object, emitted: list[Event]
    ) -> "asyncio.Future[bool]":
        """Do an operation for the claim and store events with it, and return whether the run still belongs to this server."""
        stored = self._writer.submit(operation, self.claim, *args, emitted)
        stored.add_done_callback(lambda done: self._on_stored(done, emitted))
        # Events are stored even if the task that waits for this is cancelled.
        return asyncio.shield(stored)

    def _on_stored(self, done: "asyncio.Future[bool]", emitted: list[Event]) -> None:
        if done.exception() is not None:
            self._is_broken = True  # The caller that awaits it gets the error.
        elif not done.result():
            self.on_lost()
        elif emitted:
            self._hub.publish(self.claim.seq, emitted)
