"""Bringing events to a slow consumer in few batches, and a sign of life while there are none.

Every batch costs the plugin a chunk to build, to write and to have read. A person can't tell text that arrives token by token from text
that arrives every 50 ms, so after the first piece of each block what has come in the meantime leaves together.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable

from gpt5_messages import BlockDelta, ResponseEnded, ResponseError, StreamEvent


_MOST_WAITING = 1024  # events; a reader that is further ahead waits, for the memory and for whoever else wants a turn


class _Inbox:
    """What the reader has put in and the consumer has not taken out yet."""

    def __init__(self) -> None:
        # A plain lock: the default one may be taken again by its holder, which nobody here does and which costs more.
        self._changed = threading.Condition(threading.Lock())
        self._events: list[StreamEvent] = []
        self._started_blocks: set[int] = set()
        self._is_urgent = False
        self._is_empty_handed = False  # the consumer waits for anything at all
        self._failure: BaseException | None = None
        self._is_over = False
        self.is_abandoned = False

    def put(self, event: StreamEvent) -> bool:
        """Take an event in; say whether somebody waits for just this one."""
        with self._changed:
            self._events.append(event)
            is_urgent = self._is_first_of_its_kind(event)
            self._is_urgent = self._is_urgent or is_urgent
            if is_urgent or self._is_empty_handed:
                self._changed.notify()
            if len(self._events) >= _MOST_WAITING:
                self._wait_for_room()
            return is_urgent

    def _wait_for_room(self) -> None:
        self._is_urgent = True
        self._changed.notify()
        self._changed.wait_for(lambda: len(self._events) < _MOST_WAITING or self.is_abandoned)

    def abandon(self) -> None:
        """Say that nobody takes anything out any more."""
        with self._changed:
            self.is_abandoned = True
            self._changed.notify()

    def end(self, failure: BaseException | None) -> None:
        with self._changed:
            self._failure, self._is_over, self._is_urgent = failure, True, True
            self._changed.notify()

    def take(self, *, not_before: float, keep_alive_seconds: float) -> list[StreamEvent] | None:
        """Wait for events and return them all; an empty list after a silence, None at the end."""
        with self._changed:
            # Waking up costs as much as a delta: until the window has passed only what is urgent wakes the consumer.
            self._changed.wait_for(lambda: self._is_urgent, not_before - time.monotonic())
            self._is_empty_handed = True
            self._changed.wait_for(lambda: self._events or self._is_over, keep_alive_seconds)
            self._is_empty_handed = False
            events, self._events, self._is_urgent = self._events, [], self._is_over
            if len(events) >= _MOST_WAITING:
                self._changed.notify()
            if not events and self._is_over:
                if self._failure is not None:
                    raise self._failure
                return None
            return events

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
        window_seconds: At least this many seconds pass between two batches, unless a block begins or the stream ends; 0 hands on
            whatever has arrived at once.
        keep_alive_seconds: After this many seconds without an event an empty batch is yielded, as a sign of life.
        close: Called when the consumer stops early, to make the reader stop too.

    Yields:
        Lists of events, in order; all of them, once.

    Raises:
        BaseException: Whatever reading `events` raises, after the events before it.
    """
    inbox = _Inbox()
    reader = threading.Thread(
        target=_read, args=(events, inbox), name="responses-reader", daemon=True
    )
    reader.start()
    not_before = 0.0
    try:
        while (
            batch := inbox.take(not_before=not_before, keep_alive_seconds=keep_alive_seconds)
        ) is not None:
            yield batch
            not_before = time.monotonic() + window_seconds
    finally:
        inbox.abandon()
        if close is not None:
            close()


def _read(events: Iterable[StreamEvent], inbox: _Inbox) -> None:
    failure: BaseException | None = None
    try:
        for event in events:
            if inbox.put(event):
                # Where threads take turns of their own accord (gevent), the consumer gets one now and not when all has been read.
                time.sleep(0)
            if inbox.is_abandoned:
                break
    except BaseException as error:  # noqa: BLE001  it is raised again where the events are consumed
        failure = error
    inbox.end(failure)
