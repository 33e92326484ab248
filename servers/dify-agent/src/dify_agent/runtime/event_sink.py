"""Sinks, which take the events of runs."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from typing import Protocol

from dify_agent.protocol import RunEvent


__all__ = ["InMemoryRunEventSink", "RunEventSink"]


class RunEventSink(Protocol):
    """A sink for the events of runs, such as `InMemoryRunEventSink`; an engine has one of its own."""

    async def emit(self, event: RunEvent, /) -> None:
        """Take the next event of its run, and number it.

        A runner awaits one call before it makes the next.
        """
        ...


class InMemoryRunEventSink:
    """The events of runs in memory, for one process and as long as it lives.

    Readers may come and go at any time: each gets every event of its run from the number that it asks for.
    """

    def __init__(self) -> None:
        self._events: defaultdict[str, list[RunEvent]] = defaultdict(list)
        self._grown = asyncio.Event()

    async def emit(self, event: RunEvent, /) -> None:
        """Number the event from 1 within its run, keep it, and wake the readers.

        This never waits, so cancelling a run cannot lose an event half-way.
        """
        events = self._events[event.run_id]
        events.append(event.model_copy(update={"sequence": len(events) + 1}))
        self._grown.set()
        # Setting the old one wakes all who wait; the new one is for those who wait for the next event.
        self._grown = asyncio.Event()

    def events(self, run_id: str, *, after: int = 0) -> list[RunEvent]:
        """Return the events so far whose number is over `after`; none for an unknown run."""
        return self._events.get(run_id, [])[after:]

    async def iter_events(self, run_id: str, *, after: int = 0) -> AsyncGenerator[RunEvent]:
        """Yield the events with numbers over `after` as they come, up to and including the run's last one.

        Args:
            run_id: The run; it need not have begun.
            after: The number of the last event that the reader has, 0 for none.
        """
        while True:
            found = self.events(run_id, after=after)
            for event in found:
                yield event
                after = event.sequence
            if not found:
                if any(event.is_terminal for event in self.events(run_id)[-1:]):
                    return
                await self._grown.wait()
