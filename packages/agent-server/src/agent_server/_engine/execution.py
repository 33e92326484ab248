"""One attempt to execute a run, which gathers its events, and records and retries its steps."""

import asyncio
import contextvars
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from agent_server._store import claims
from agent_server._store.claims import Claim
from agent_server._store.endings import RunEnding, last_event
from agent_server._store.events import read_events
from agent_server._store.records import Event, now
from agent_server.executor import (
    EventLimitError,
    JsonObject,
    RunResult,
    StepWork,
    TransientError,
    Waiting,
)
from agent_server.runs import OWN_EVENTS, StoredEvent
from stream_text import dump_json

from .parts import Parts
from .reading import parse_stored


# Events are stored in batches of this many seconds or bytes. A write for each would cost more than
# everything else that a run does.
_GATHER_SECONDS = 0.1
_GATHER_BYTES = 4096
# How much may wait for the database; a run that emits more has to wait.
_MOST_WAITING_BYTES = 1024 * 1024
_EVENT_BYTES = 40  # besides its type and data
_PAGE = 500
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 60.0


@dataclass(slots=True)
class _Try:
    """A try of a step.

    Attributes:
        emitted: How many events were emitted since it began.
    """

    emitted: int = 0


_current_try = contextvars.ContextVar[_Try | None]("agent_server_try", default=None)


class RunExecution:
    """An attempt to execute a run; `agent_server.executor.Execution` describes it."""

    def __init__(self, claim: Claim, parts: Parts, *, on_lost: Callable[[], None]) -> None:
        """Begin with only the event `run_started`.

        Args:
            claim: The claim of the attempt.
            parts: The engine's parts that store and report it.
            on_lost: Called when the run no longer belongs to this server.
        """
        self.claim = claim
        self.run_id = claim.run_id
        self.tenant = claim.tenant
        self.agent = claim.agent
        self.request: JsonObject = {}
        self.metadata = claim.metadata
        self.attempt = claim.attempt
        self.part = claim.part
        self.resumption = claim.resumption
        self.cancel_reason: str | None = None
        self._writer = parts.writer
        self._encryption = parts.encryption
        self._hub = parts.hub
        self._readers = parts.readers
        self._settings = parts.settings
        self._on_lost = on_lost
        self._number = claim.started.number
        self._bytes = claim.stored_bytes
        # Emitted, but not yet on their way to the database.
        self._gathered: list[Event] = []
        self._gathered_bytes = 0
        # On their way, but not yet stored.
        self._waiting_bytes = 0
        self._is_broken = False
        self._timer: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._recorded = set(claim.recorded)
        # One per step: a second call for a step under way waits, and gets the recorded result.
        self._locks: dict[str, asyncio.Lock] = {}

    async def read_request(self) -> None:
        """Parse the request, a large one outside the event loop. Called before the executor reads it."""
        self.request = await parse_stored(self.claim.request)

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

    async def tell(self, type_: str, data: JsonObject) -> int:
        """Emit an event, and return its number."""
        if type_ in OWN_EVENTS:
            raise ValueError(f"type: expected none of the server's own events, got {type_}")
        text = dump_json(data)
        size = len(text) + len(type_) + _EVENT_BYTES
        if self._number >= self._settings.max_events:
            raise EventLimitError(f"expected at most {self._settings.max_events} events")
        if self._bytes + size > self._settings.max_event_bytes:
            raise EventLimitError(
                f"expected at most {self._settings.max_event_bytes} bytes of events"
            )
        if (current := _current_try.get()) is not None:
            current.emitted += 1
        self._number += 1
        number = self._number
        self._bytes += size
        self._gathered.append(Event(number=number, type=type_, created_at=now(), text=text))
        self._gathered_bytes += size
        if self._gathered_bytes >= _GATHER_BYTES:
            self._flush()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_GATHER_SECONDS, self._flush)
        while self._waiting_bytes > _MOST_WAITING_BYTES:
            await self._room.wait()
        return number

    async def step(
        self, key: str, work: StepWork, *, retries: bool = True, after_events: bool = False
    ) -> bytes:
        """Do a step once in the life of the run, and return its result."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key in self._recorded:
                return await self._writer.submit(claims.read_step, self.claim, key)
            result = await self._try(work, self._settings.retries if retries else 0, after_events)
            # If the run no longer belongs to this server, the task that awaits this is cancelled.
            await self._store(claims.record_step, key, result, emitted=self._take())
            self._recorded.add(key)
            return result

    async def end(self, ending: RunEnding) -> bool:
        """Store the end of the run, and return whether it still belonged to this server."""
        last = last_event(ending, number=self._number + 1)
        return await self._store(claims.end, ending, emitted=[*self._take(), last])

    async def admit(self, waiting: Waiting) -> Waiting | RunResult:
        """Return what the run is to wait for, or the result that ends it because its tenant has too many that wait.

        Raises:
            ValueError: If it would wait for nothing.
        """
        asked = waiting.request
        if not (asked.approvals or asked.results or asked.question):
            raise ValueError("request: expected an approval, a result or a question to wait for")
        maximum = self._settings.max_waiting_per_tenant
        if not await self._writer.submit(claims.has_waiting, self.tenant, maximum):
            return waiting
        return RunResult(
            status="failed",
            error=f"expected fewer than {maximum} runs that wait for an answer",
            error_type="too_many_waiting",
        )

    async def wait(self, waiting: Waiting) -> None:
        """Store that the run waits, and what for."""
        wait_id = secrets.token_hex(16)
        asked = {"wait_id": wait_id, **asdict(waiting.request)}
        last = Event(
            number=self._number + 1, type="run_waiting", created_at=now(), text=dump_json(asked)
        )
        await self._store(claims.wait, waiting, wait_id, emitted=[*self._take(), last])

    async def release(self) -> None:
        """Put the run back into the queue, with the events that it has emitted.

        If something of the run could not be stored, it is left for the next claim to find, which counts as the death of its server.
        """
        if not self._is_broken:
            await self._store(claims.release, emitted=self._take())

    async def _try(self, work: StepWork, retries: int, after_events: bool) -> bytes:  # noqa: FBT001
        number = 0
        while True:
            current = _Try()
            token = _current_try.set(current)
            try:
                return await work()
            except TransientError as error:
                if number == retries or (current.emitted and not after_events):
                    raise
                pause = error.retry_after_seconds
            finally:
                _current_try.reset(token)
            if pause is None:
                pause = _FIRST_PAUSE_SECONDS * 2**number * random.uniform(0.8, 1.2)  # noqa: S311
            await asyncio.sleep(min(pause, _LONGEST_PAUSE_SECONDS))
            number += 1

    def _take(self) -> list[Event]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        emitted, self._gathered, self._gathered_bytes = self._gathered, [], 0
        return emitted

    def _flush(self) -> None:
        size = self._gathered_bytes
        self._waiting_bytes += size
        stored = self._store(claims.append, emitted=self._take())
        stored.add_done_callback(lambda done: self._end_flush(done, size))

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
            self._on_lost()
        elif emitted:
            self._hub.publish(self.claim.seq, emitted)

    def _end_flush(self, done: "asyncio.Future[bool]", size: int) -> None:
        if done.exception() is not None:
            self._on_lost()
        self._waiting_bytes -= size
        self._room.set()
        self._room = asyncio.Event()
