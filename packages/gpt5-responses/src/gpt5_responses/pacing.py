"""Bringing events to a slow consumer in few batches, and a sign of life while there are none.

Every batch costs the plugin a chunk to build, to write and to have read. A person can't tell text that arrives token by token from text
that arrives every 50 ms, so after the first piece of each block what arrives within that time leaves together. Being woken for a
token costs more than the token itself, so the reader sleeps while a batch collects, and then takes in all that has come. Batches leave
at ticks that all streams share: what a batch needs of the processor's caches is then still there from the one before.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable

from gpt5_messages import BlockDelta, ResponseEnded, ResponseError, StreamEvent


_MOST_WAITING = 1024  # events; a reader that is further ahead waits, for the memory and for whoever else wants a turn
_LONGEST_NAP = (
    0.05  # seconds; what nobody should wait for, such as the end, may come while the reader sleeps
)
_NO_WAIT = 0.001  # seconds; an event that took less to come was there already, and more may be
_SOON = 0.002  # seconds; not worth being woken for again


class _Inbox:
    """What the reader has put in and the consumer has not taken out yet."""

    def __init__(self, window_seconds: float) -> None:
        self._window_seconds = window_seconds
        # A plain lock: a condition's own may be taken again by its holder, which nobody here does and which costs more.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._events: list[StreamEvent] = []
        self._due_at = 0.0
        self._started_blocks: set[int] = set()
        self._is_called = False  # the consumer has been told that there is something
        self._is_urgent = False
        self._failure: BaseException | None = None
        self._is_over = False
        self.is_abandoned = False

    def put(self, event: StreamEvent) -> bool:
        """Take an event in; say whether somebody waits for just this one."""
        with self._lock:
            if not self._events:
                self._due_at = self._next_tick()
            self._events.append(event)
            is_urgent = self._is_first_of_its_kind(event)
            if is_urgent:
                self._is_urgent = True
                self._call()
            if len(self._events) >= _MOST_WAITING:
                self._wait_for_room()
            return is_urgent

    def has_news(self) -> bool:
        """Say whether there is something that the consumer has not been told of."""
        return not self._is_called and bool(self._events)

    def seconds_left(self) -> float:
        """Return how long the batch may still collect."""
        return self._due_at - time.monotonic()

    def call(self) -> None:
        """Tell the consumer that there is something, unless it has found out."""
        with self._lock:
            self._is_called = bool(self._events)
            self._changed.notify()

    def _call(self) -> None:
        self._is_called = True
        self._changed.notify()

    def _wait_for_room(self) -> None:
        self._is_urgent = True
        self._call()
        self._changed.wait_for(lambda: len(self._events) < _MOST_WAITING or self.is_abandoned)

    def abandon(self) -> None:
        """Say that nobody takes anything out any more."""
        with self._lock:
            self.is_abandoned = True
            self._changed.notify()

    def end(self, failure: BaseException | None) -> None:
        with self._lock:
            self._failure, self._is_over, self._is_urgent = failure, True, True
            self._call()

    def take(self, *, keep_alive_seconds: float) -> list[StreamEvent] | None:
        """Wait for events and return them all; an empty list after a silence, None at the end."""
        with self._lock:
            if self._changed.wait_for(lambda: self._is_called, keep_alive_seconds):
                left = self.seconds_left()
                if left > _SOON:
                    self._changed.wait_for(lambda: self._is_urgent, left)
            events, self._events = self._events, []
            self._is_called = self._is_urgent = self._is_over
            if len(events) >= _MOST_WAITING:
                self._changed.notify()
            if not events and self._is_over:
                if self._failure is not None:
                    raise self._failure
                return None
            return events

    def _next_tick(self) -> float:
        now = time.monotonic()
        return (
            now - now % self._window_seconds + self._window_seconds if self._window_seconds else now
        )

    def _is_first_of_its_kind(self, event: StreamEvent) -> bool:
        """Say whether somebody waits for just this event: the first piece of a block, or the end."""
        if isinstance(event, BlockDelta):
            is_first = event.index not in self._started_blocks
            self._started_blocks.add(event.index)
            return is_first
        return isinstance(event, (ResponseEnded, ResponseError))


def pace(
    events: Iterable[StreamEvent],
    *,
    window_seconds: float = 0.05,
    keep_alive_seconds: float = 15.0,
    close: Callable[[], None] | None = None,
) -> Generator[list[StreamEvent]]:
    """Yield events in batches, reading ahead in a thread of its own.

    Args:
        events: What to read, such as a `ResponseStream`.
        window_seconds: What arrives within this many seconds leaves together. The first piece of a block and the end of the stream
            do not wait for it, but for a sleeping reader: up to 0.05 s, and no longer than the window. 0 hands on at once
            whatever has arrived.
        keep_alive_seconds: After this many seconds without an event an empty batch is yielded, as a sign of life.
        close: Called when the consumer stops early, to make the reader stop too.

    Yields:
        Lists of events, in order; all of them, once.

    Raises:
        BaseException: Whatever reading `events` raises, after the events before it.
    """
    inbox = _Inbox(window_seconds)
    reader = threading.Thread(
        target=_read, args=(events, inbox), name="responses-reader", daemon=True
    )
    reader.start()
    try:
        while (batch := inbox.take(keep_alive_seconds=keep_alive_seconds)) is not None:
            yield batch
    finally:
        inbox.abandon()
        if close is not None:
            close()


def _read(events: Iterable[StreamEvent], inbox: _Inbox) -> None:
    failure: BaseException | None = None
    try:
        asked_at = time.monotonic()
        for event in events:
            has_waited = time.monotonic() - asked_at > _NO_WAIT
            if inbox.put(event):
                # Where threads take turns of their own accord (gevent), the consumer gets one now and not when all has been read.
                time.sleep(0)
            elif inbox.has_news():
                if has_waited and isinstance(event, BlockDelta):
                    time.sleep(min(max(inbox.seconds_left(), 0), _LONGEST_NAP))
                inbox.call()
            if inbox.is_abandoned:
                break
            asked_at = time.monotonic()
    except BaseException as error:  # noqa: BLE001  it is raised again where the events are consumed
        failure = error
    inbox.end(failure)
