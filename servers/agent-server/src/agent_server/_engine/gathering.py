"""Gathering events, so that many are stored together."""

import asyncio
import contextvars
import logging
import random
from collections.abc import Callable
from typing import Any

from agent_server._store.records import Event, measure
from agent_server.executor import JsonObject, StepWork, TransientError
from stream_text import has_many_values


# Events are stored in batches of this many seconds or bytes. A write for each would cost more than
# everything else that a run does.
_GATHER_SECONDS = 0.1
_GATHER_BYTES = 4096
# How much may wait for the database; a run that emits more has to wait.
_MOST_WAITING_BYTES = 1024 * 1024
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 60.0
_MOST_FAULT = 300

_logger = logging.getLogger("agent_server")

type Store = Callable[[list[Event]], "asyncio.Future[Any]"]
"""Stores a batch of events."""

# How many events the try of a step has emitted.
_emitted = contextvars.ContextVar[list[None] | None]("agent_server_emitted", default=None)


class Gathering:
    """Events that are emitted, but not yet on their way to the database.

    It does not know who stores them: whoever has a gathering would stand in a circle with it.
    """

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._bytes = 0
        # On their way, but not yet stored.
        self._waiting_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()

    async def await_room(self) -> None:
        """Return once there is room: this waits only if the database is far behind."""
        while self._waiting_bytes > _MOST_WAITING_BYTES:
            await self._room.wait()

    def add(self, event: Event, store: Store) -> None:
        """Add an event, which is stored soon.

        Args:
            event: The event.
            store: Stores a batch.
        """
        if (emitted := _emitted.get()) is not None:
            emitted.append(None)
        self._events.append(event)
        self._bytes += measure(event)
        if self._bytes >= _GATHER_BYTES:
            self._flush(store)
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_GATHER_SECONDS, self._flush, store)

    def take(self) -> list[Event]:
        """Return what is gathered, for the caller to store."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        taken, self._events, self._bytes = self._events, [], 0
        return taken

    def _flush(self, store: Store) -> None:
        size = self._bytes
        self._waiting_bytes += size
        store(self.take()).add_done_callback(lambda _: self._end_flush(size))

    def _end_flush(self, size: int) -> None:
        self._waiting_bytes -= size
        self._room.set()
        self._room = asyncio.Event()


async def beside[**Arguments, Result](
    data: JsonObject,
    work: Callable[Arguments, Result],
    *args: Arguments.args,
    **kwargs: Arguments.kwargs,
) -> Result:
    """Do work on data: outside the event loop if there is much of it, and at once if not, since a thread costs more than most of that."""
    if has_many_values(data):
        return await asyncio.to_thread(work, *args, **kwargs)
    return work(*args, **kwargs)


async def try_step(work: StepWork, *, retries: int, after_events: bool = False) -> bytes:
    """Do a step, again after a transient error, and return its result.

    Args:
        work: Does it.
        retries: How often it may be tried again.
        after_events: Whether it may be tried again even if the try has emitted events.
    """
    number = 0
    while True:
        emitted: list[None] = []
        token = _emitted.set(emitted)
        try:
            return await work()
        except TransientError as error:
            if number == retries or (emitted and not after_events):
                raise
            pause, fault = error.retry_after_seconds, str(error)[:_MOST_FAULT]
        finally:
            _emitted.reset(token)
        if pause is None:
            pause = _FIRST_PAUSE_SECONDS * 2**number * random.uniform(0.8, 1.2)  # noqa: S311
        pause, number = min(pause, _LONGEST_PAUSE_SECONDS), number + 1
        _logger.warning(
            "a step is tried again in %.1f s, %d of %d: %s", pause, number, retries, fault
        )
        await asyncio.sleep(pause)
