"""The hub, which pushes a run's events to its watchers, reading each only once for all of them."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from agent_server._store.encryption import Encryption
from agent_server._store.events import Reach, read_events, read_reaches
from agent_server._store.records import Event, to_stored
from agent_server.runs import LAST_EVENTS, StoredEvent, TooManyWatchersError

from .reading import Readers


_PAGE = 500
# The newest events of a watched run, kept so that its watchers need not read them from the database.
_KEPT_EVENTS = 1000
_KEPT_BYTES = 1024 * 1024
# How long a run's watchers wait between two batches, per watcher: many get larger batches less often.
_PACE_SECONDS_PER_WATCHER = 0.0015
_PACE_SECONDS = 2.0
_LAST = LAST_EVENTS | {"run_waiting"}


class _Page(list[StoredEvent]):
    """Events, which others may have as long as somebody has them."""


@dataclass(slots=True, eq=False)
class _Channel:
    """A run that is watched.

    Attributes:
        last: The number of the newest event that is known to be stored.
        is_over: Whether no more will come for now: the run has ended, or waits.
        recent: The newest events, without gaps, up to `last`.
        parts: The number of events and the bytes of each published batch in `recent`, the oldest first.
        changed: Set when watchers should look for more.
        watchers: The number of watchers.
        reads: The reads under way, by the number after which they begin.
        pages: What was read and is still held by a watcher, likewise: watchers that do not read stand at the same places.
        woken_at: When the watchers were last woken, by the loop's clock.
        timer: Wakes them. There is one for all, since a thousand timers cost more than what they wait for.
    """

    last: int = 0
    is_over: bool = False
    recent: list[StoredEvent] = field(default_factory=list)
    parts: list[tuple[int, int]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    watchers: int = 0
    reads: dict[int, asyncio.Task[Sequence[StoredEvent]]] = field(default_factory=dict)
    pages: WeakValueDictionary[int, _Page] = field(default_factory=WeakValueDictionary[int, _Page])
    woken_at: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def wake(self) -> None:
        """Wake the watchers: at once if they have not been woken for a while or the run is over, otherwise later, together."""
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
        """Note how far the stored events go."""
        # What was read may be older than what this server has stored since.
        if reach.last < self.last or (reach.last, reach.is_resting) == (self.last, self.is_over):
            return
        if reach.last > self.last:
            self.last = reach.last
            self.recent, self.parts = [], []
        self.is_over = reach.is_resting
        self.wake()

    def take(self, emitted: Sequence[StoredEvent], size: int) -> None:
        """Keep events that this server has stored, for the watchers."""
        follows = emitted[0].number == self.last + 1
        self.recent = [*(self.recent if follows else ()), *emitted]
        self.parts = [*(self.parts if follows else ()), (len(emitted), size)]
        while len(self.parts) > 1 and (
            len(self.recent) > _KEPT_EVENTS or sum(part[1] for part in self.parts) > _KEPT_BYTES
        ):
            count, _ = self.parts.pop(0)
            del self.recent[:count]
        self.last = max(self.last, emitted[-1].number)
        self.is_over = emitted[-1].type in _LAST
        self.wake()


class Hub:
    """The watched runs of a server, and their watchers."""

    def __init__(self, readers: Readers, encryption: Encryption, *, max_watchers: int) -> None:
        """Start without watchers.

        Args:
            readers: The threads that read events from the database.
            encryption: Decrypts them.
            max_watchers: How many may watch at a time.
        """
        self._readers = readers
        self._encryption = encryption
        self._max_watchers = max_watchers
        self._channels: dict[int, _Channel] = {}
        self.watchers: Counter[str] = Counter()

    def publish(self, seq: int, emitted: Sequence[Event]) -> None:
        """Push events that this server has stored to the watchers of their run."""
        if (channel := self._channels.get(seq)) is not None:
            size = sum(len(event.text) for event in emitted)
            channel.take([to_stored(event) for event in emitted], size)

    async def look(self) -> None:
        """Look for events that other servers have stored for watched runs."""
        if self._channels:
            await self._look_at(dict(self._channels))

    async def _look_at(self, channels: Mapping[int, _Channel]) -> None:
        reaches = await self._readers.read(read_reaches, list(channels))
        for seq, channel in channels.items():
            # A run that is missing was deleted.
            channel.reach(reaches.get(seq, Reach(last=channel.last, is_resting=True)))

    async def watch(
        self, seq: int, *, tenant: str, after: int
    ) -> AsyncGenerator[Sequence[StoredEvent]]:
        """Yield a run's events after a number as they come, up to the last, or until it waits.

        Args:
            seq: The run.
            tenant: Its tenant.
            after: The number of the last event that the watcher has; a number that the run has not reached counts as its newest.

        Raises:
            TooManyWatchersError: If the limit of watchers is reached.
        """
        if self.watchers.total() >= self._max_watchers:
            raise TooManyWatchersError
        is_new = seq not in self._channels
        channel = self._channels.setdefault(seq, _Channel())
        self.watchers[tenant] += 1
        channel.watchers += 1
        try:
            if is_new or after > channel.last or channel.is_over:
                # A new channel looks only now that it exists: what is stored from here on is published to
                # it. And another server may have stored more of a run than this one knows of, such as
                # the answer to what it waited for.
                await self._look_at({seq: channel})
            # A watcher that claims to have more events than there are gets those that come.
            position = after if channel.is_over else min(after, channel.last)
            while True:
                changed = channel.changed
                if position < channel.last:
                    batch = await self._next(seq, channel, position)
                    if not batch:  # The run was deleted.
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
        if (page := channel.pages.get(position)) is not None:
            return page
        read = channel.reads.get(position)
        if read is None:
            # Watchers that ask for the same events at the same time share one read.
            read = asyncio.ensure_future(self._read_page(seq, channel, position))
            channel.reads[position] = read
            read.add_done_callback(lambda _: channel.reads.pop(position))
        return await asyncio.shield(read)

    async def _read_page(self, seq: int, channel: _Channel, after: int) -> Sequence[StoredEvent]:
        found = await self._readers.read(
            read_events, seq, after=after, limit=_PAGE, encryption=self._encryption
        )
        page = channel.pages[after] = _Page(found)
        return page
