"""One attempt to execute a run: its events gather here, its steps are recorded, its faults are tried again."""

import asyncio
import contextvars
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from agent_server._store import holds
from agent_server._store.endings import Ending, last_event
from agent_server._store.holds import Hold
from agent_server._store.records import Event, dump_json, now
from agent_server._store.writer import Operation, Writer
from agent_server.executor import EventLimitError, JsonObject, StepWork, TransientError
from agent_server.runs import OWN_EVENTS
from stream_text import parse_json


_GATHER_SECONDS = 0.1
_GATHER_BYTES = 4096
# What may wait for the database; a run that tells more waits itself.
_MOST_WAITING_BYTES = 1024 * 1024
_EVENT_BYTES = 40  # beside its data
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 60.0
_LARGE_CHARACTERS = 128 * 1024
_DEEPEST = 10_000  # Whoever accepted the request has looked.


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a run may do.

    Attributes:
        max_events: How many events it may tell.
        max_event_bytes: How much they may take together.
        retries: How often a step is tried again after a transient fault.
    """

    max_events: int
    max_event_bytes: int
    retries: int


@dataclass(slots=True)
class _Try:
    """A try of a step, inside which events may be told."""

    told: int = 0


_current_try = contextvars.ContextVar[_Try | None]("agent_server_try", default=None)


class RunExecution:
    """An attempt, as `agent_server.executor.Execution` draws it."""

    def __init__(
        self,
        hold: Hold,
        *,
        writer: Writer,
        bounds: Bounds,
        on_stored: Callable[[int, Sequence[Event]], None],
        on_lost: Callable[[], None],
    ) -> None:
        """Begin with nothing told but the start.

        Args:
            hold: The attempt.
            writer: What stores it.
            bounds: What it may do.
            on_stored: Hears of each batch of events of the run once it is stored.
            on_lost: Hears that the run is no longer this server's.
        """
        self.hold = hold
        self.reason: str | None = None
        self._request: JsonObject = {}
        self._writer = writer
        self._bounds = bounds
        self._on_stored = on_stored
        self._on_lost = on_lost
        self._number = hold.started.number
        self._bytes = hold.told_bytes
        self._gathered: list[Event] = []
        self._gathered_bytes = 0
        self._waiting_bytes = 0
        self._is_broken = False
        self._timer: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._recorded = set(hold.recorded)
        self._locks: dict[str, asyncio.Lock] = {}

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.hold.run_id

    @property
    def tenant(self) -> str:
        """Whose it is."""
        return self.hold.tenant

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self.hold.agent

    @property
    def request(self) -> JsonObject:
        """What is to be done."""
        return self._request

    @property
    def metadata(self) -> Mapping[str, str]:
        """What the client wants to find again."""
        return self.hold.metadata

    @property
    def attempt(self) -> int:
        """The number of this attempt."""
        return self.hold.attempt

    @property
    def cancel_reason(self) -> str | None:
        """Why the run is being cancelled."""
        return self.reason

    async def read_request(self) -> None:
        """Read what is to be done, of a large request beside the loop; before the executor asks for it."""
        text = self.hold.request.decode()
        read = partial(parse_json, text, max_depth=_DEEPEST, yields=True)
        self._request = await asyncio.to_thread(read) if len(text) > _LARGE_CHARACTERS else read()

    async def tell(self, type_: str, data: JsonObject) -> int:
        """Append an event, and return its number."""
        if type_ in OWN_EVENTS:
            raise ValueError(f"type: expected none of the server's own events, got {type_}")
        text = dump_json(data)
        size = len(text) + len(type_) + _EVENT_BYTES
        if self._number >= self._bounds.max_events:
            raise EventLimitError(f"expected at most {self._bounds.max_events} events")
        if self._bytes + size > self._bounds.max_event_bytes:
            raise EventLimitError(
                f"expected at most {self._bounds.max_event_bytes} bytes of events"
            )
        if (current := _current_try.get()) is not None:
            current.told += 1
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
        """Do something once in the life of the run, and return what came of it."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key in self._recorded:
                return await self._writer.submit(
                    lambda write: holds.read_step(write, self.hold, key)
                )
            result = await self._try(work, self._bounds.retries if retries else 0, after_events)
            told = self._take()
            # Where the run is not this server's any more, the task that waits for this is cancelled.
            await self._store(
                told,
                lambda write: holds.record_step(write, self.hold, key, result, told),
            )
            self._recorded.add(key)
            return result

    async def end(self, ending: Ending) -> bool:
        """Store the end of the run, and return whether it was still this server's to end."""
        told = self._take()
        told.append(last_event(ending, number=self._number + 1))
        return await self._store(told, lambda write: holds.end(write, self.hold, ending, told))

    async def let_go(self) -> None:
        """Put the run back into the queue, with what it told.

        One of which something could not be stored is left for the next claim to find, which counts it among those whose server died.
        """
        if self._is_broken:
            return
        told = self._take()
        await self._store(told, lambda write: holds.let_go(write, self.hold, told))

    async def _try(self, work: StepWork, retries: int, after_events: bool) -> bytes:  # noqa: FBT001
        number = 0
        while True:
            current = _Try()
            token = _current_try.set(current)
            try:
                return await work()
            except TransientError as error:
                if number == retries or (current.told and not after_events):
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
        told, self._gathered, self._gathered_bytes = self._gathered, [], 0
        return told

    def _flush(self) -> None:
        size = self._gathered_bytes
        told = self._take()
        self._waiting_bytes += size
        stored = self._store(told, lambda write: holds.append(write, self.hold, told))
        stored.add_done_callback(lambda done: self._end_flush(done, size))

    def _store(self, told: list[Event], operation: Operation[bool]) -> "asyncio.Future[bool]":
        stored = self._writer.submit(operation)
        stored.add_done_callback(lambda done: self._hear(done, told))
        # What was told is stored also where whoever waits for it is cancelled.
        return asyncio.shield(stored)

    def _hear(self, done: "asyncio.Future[bool]", told: list[Event]) -> None:
        if done.exception() is not None:
            self._is_broken = True  # whoever waits for it hears why
        elif not done.result():
            self._on_lost()
        elif told:
            self._on_stored(self.hold.seq, told)

    def _end_flush(self, done: "asyncio.Future[bool]", size: int) -> None:
        if done.exception() is not None:
            self._on_lost()
        self._waiting_bytes -= size
        self._room.set()
        self._room = asyncio.Event()
