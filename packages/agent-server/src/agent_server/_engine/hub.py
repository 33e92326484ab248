"""Events on their way to those who watch runs: read once, by one task, for all of them."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent_server._store.events import Reach
from agent_server.runs import LAST_EVENTS, StoredEvent, TooManyWatchersError


type ReadEvents = Callable[[int, int], Awaitable[Sequence[StoredEvent]]]
type ReadReaches = Callable[[list[int]], Awaitable[dict[int, Reach]]]

_KEPT_EVENTS = 1000
_KEPT_BYTES = 1024 * 1024
# How long a run's watchers wait from one batch to the next, for each of them: many get larger batches less often.
_PACE_SECONDS_PER_WATCHER = 0.0015
_PACE_SECONDS = 2.0


@dataclass(slots=True, eq=False)
class _Channel:
    """A run that is watched.

    Attributes:
        last: The number of the newest event that is known to be stored.
        is_over: Whether no more will come.
        recent: The newest events, without gaps, up to `last`.
        parts: How many of them were told together, and their bytes, the oldest first.
        changed: Set when watchers shall look for more.
        watchers: How many watch.
        reads: Reads under way, by the number behind which they begin.
        woken_at: When watchers were last let look, by the loop's clock.
        timer: Will let them look; one for all, for a thousand timers cost more than what they wait for.
    """

    last: int = 0
    is_over: bool = False
    recent: list[StoredEvent] = field(default_factory=list)
    parts: list[tuple[int, int]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    watchers: int = 0
    reads: dict[int, asyncio.Task[Sequence[StoredEvent]]] = field(default_factory=dict)
    woken_at: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def wake(self) -> None:
        """Let watchers look for more: at once if they have not looked for a while or the run is over, else when their time has come."""
        loop = asyncio.get_running_loop()
        rest = 0.0 if self.is_over else self.woken_at + self._pace_seconds() - loop.time()
        if rest <= 0:
            self._wake_now()
        elif self.timer is None:
            self.timer = loop.call_later(rest, self._wake_now)

    def _wake_now(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        self.woken_at = asyncio.get_running_loop().time()
        self.changed.set()
        self.changed = asyncio.Event()

    def _pace_seconds(self) -> float:
        return min(self.watchers * _PACE_SECONDS_PER_WATCHER, _PACE_SECONDS)

    def reach(self, reach: Reach) -> None:
        """Take in how far the events in the store go."""
        if reach.last > self.last or reach.is_finished > self.is_over:
            if reach.last > self.last:
                self.last = reach.last
                self.recent, self.parts = [], []
            self.is_over = self.is_over or reach.is_finished
            self.wake()

    def take(self, told: Sequence[StoredEvent], size: int) -> None:
        """Take in what was stored by this server."""
        follows = told[0].number == self.last + 1
        self.recent = [*(self.recent if follows else ()), *told]
        self.parts = [*(self.parts if follows else ()), (len(told), size)]
        while len(self.parts) > 1 and (
            len(self.recent) > _KEPT_EVENTS or sum(part[1] for part in self.parts) > _KEPT_BYTES
        ):
            count, _ = self.parts.pop(0)
            del self.recent[:count]
        self.last = max(self.last, told[-1].number)
        self.is_over = told[-1].type in LAST_EVENTS
        self.wake()


class Hub:
    """The runs that are watched on this server."""

    def __init__(
        self, *, read_events: ReadEvents, read_reaches: ReadReaches, max_watchers: int
    ) -> None:
        """Take the ways to read.

        Args:
            read_events: Returns a page of the stored events of a run behind a number.
            read_reaches: Returns how far the events of runs go.
            max_watchers: How many may watch at a time.
        """
        self._read_events = read_events
        self._read_reaches = read_reaches
        self._max_watchers = max_watchers
        self._channels: dict[int, _Channel] = {}
        self.watchers: Counter[str] = Counter()

    def is_watched(self, seq: int) -> bool:
        """Return whether anybody watches a run."""
        return seq in self._channels

    def publish(self, seq: int, told: Sequence[StoredEvent], *, size: int) -> None:
        """Push events of a watched run that have been stored by this server, and take so many bytes."""
        self._channels[seq].take(told, size)

    async def look(self) -> None:
        """Look whether watched runs got events from other servers."""
        if self._channels:
            await self._look_at(dict(self._channels))

    async def _look_at(self, channels: Mapping[int, _Channel]) -> None:
        reaches = await self._read_reaches(list(channels))
        for seq, channel in channels.items():
            # A run that is not there any more was deleted.
            channel.reach(reaches.get(seq, Reach(last=channel.last, is_finished=True)))

    async def watch(
        self, seq: int, *, tenant: str, after: int
    ) -> AsyncGenerator[Sequence[StoredEvent]]:
        """Yield the events of a run behind a number as they come, up to its last one.

        Args:
            seq: The run.
            tenant: Whose it is.
            after: The number of the last event that the watcher has; one that the run has not reached counts as its newest.

        Raises:
            TooManyWatchersError: If there are as many watchers as there may be.
        """
        if self.watchers.total() >= self._max_watchers:
            raise TooManyWatchersError
        is_new = seq not in self._channels
        channel = self._channels.setdefault(seq, _Channel())
        self.watchers[tenant] += 1
        channel.watchers += 1
        try:
            if is_new:
                # Only now: what is told from here on is heard.
                await self._look_at({seq: channel})
            if after > channel.last and not is_new:
                # Another server may have told it, and this one has not heard of it yet.
                await self._look_at({seq: channel})
            # Who says that it has more than there is hears what comes.
            position = after if channel.is_over else min(after, channel.last)
            while True:
                changed = channel.changed
                if position < channel.last:
                    batch = await self._next(seq, channel, position)
                    if not batch:  # it was deleted
                        return
                    yield batch
                    position = batch[-1].number
                elif channel.is_over:
                    return
                else:
                    await changed.wait()
        finally:
            self.watchers[tenant] -= 1
            channel.watchers -= 1
            if not channel.watchers:
                self._channels.pop(seq)

    async def _next(self, seq: int, channel: _Channel, position: int) -> Sequence[StoredEvent]:
        recent = channel.recent
        if recent and recent[0].number <= position + 1:
            return recent[position + 1 - recent[0].number :]
        read = channel.reads.get(position)
        if read is None:
            # Who asks for the same at the same time gets the same.
            read = asyncio.ensure_future(self._read_events(seq, position))
            channel.reads[position] = read
            read.add_done_callback(lambda _: channel.reads.pop(position))
        return await asyncio.shield(read)
