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


class _RunLog:
    """The events of one run, which wakes those who wait for more."""

    def __init__(self) -> None:
        self.events: list[RunEvent] = []
        self._grown = asyncio.Event()

    def append(self, event: RunEvent) -> None:
        self.events.append(event.model_copy(update={"sequence": len(self.events) + 1}))
        self._grown.set()
        # Setting the old one wakes all who wait; the new one is for those who wait for the next
        # event.
        self._grown = asyncio.Event()

    async def wait_for_event(self, index: int) -> RunEvent | None:
        """Return the event at an index once it is there; None if the run ends before."""
        while len(self.events) <= index and not self._is_over():
            await self._grown.wait()
        return self.events[index] if len(self.events) > index else None

    def _is_over(self) -> bool:
        return bool(self.events) and self.events[-1].is_terminal


class InMemoryRunEventSink:
    """The events of runs in memory, for one process and as long as it lives.

    Readers may come and go at any time: each gets every event of its run from the number that it asks for.
    """

    def __init__(self) -> None:
        self._logs: defaultdict[str, _RunLog] = defaultdict(_RunLog)

    async def emit(self, event: RunEvent, /) -> None:
        """Number the event from 1 within its run, keep it, and wake the readers.

        This never waits, so cancelling a run cannot lose an event half-way.
        """
        self._logs[event.run_id].append(event)

    def events(self, run_id: str, *, after: int = 0) -> list[RunEvent]:
        """Return the events so far whose number is over `after`; none for an unknown run."""
        return self._logs[run_id].events[after:] if run_id in self._logs else []

    async def iter_events(self, run_id: str, *, after: int = 0) -> AsyncGenerator[RunEvent]:
        """Yield the events with numbers over `after` as they come, up to and including the run's last one.

        Args:
            run_id: The run; it need not have begun.
            after: The number of the last event that the reader has, 0 for none.
        """
        log = self._logs[run_id]
        index = after
        while (event := await log.wait_for_event(index)) is not None:
            yield event
            index += 1
