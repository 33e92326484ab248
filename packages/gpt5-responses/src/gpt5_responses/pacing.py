"""Handing on the events of a stream in few batches, with an empty one as a keep-alive during silences.

Made for one user, the Dify plugin `openai_gpt5_responses`; nothing else in this package needs it. There each batch becomes a chunk, which the
plugin has to build and write and Dify has to read, and Dify gives up on a plugin that is silent for too long.

A person can't tell text that arrives token by token from text that arrives every 50 ms. So after the first piece of each block what
arrives within that window leaves together. Being woken for a token costs more than the token itself, so the reader sleeps while
a batch collects, and then takes in all that has come. Batches leave at ticks that all streams share: what a batch needs of the
processor's caches is then still there from the one before.

The reader is a thread. In the plugin's process gevent has replaced threads by greenlets, of which one runs until it waits: a reader to whom
all of an answer has come already would keep the first piece from leaving. So it gives its turn away after whatever is waited for. Nothing of
gevent is imported for that, and with ordinary threads it does no harm.

Source: docs/contracts/openai-gpt5-responses.md, A34 and A35.
"""

import threading
import time
from collections.abc import Callable, Generator, Iterable

from gpt5_messages import BlockDelta, ResponseEnded, ResponseFailure, StreamEvent


__all__ = ["pace"]

_MOST_WAITING = 1024  # events; a reader that is further ahead waits, for the memory and for whoever else wants a turn
_LONGEST_NAP = 0.05  # seconds; an event that must not wait, such as the end, may come meanwhile
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
        self._is_announced = False  # whether the consumer has been told that there is something
        self._is_urgent = False
        self._failure: BaseException | None = None
        self._is_over = False
        self.is_abandoned = False

    def put(self, event: StreamEvent) -> bool:
        """Take an event in and return whether it is one that must not wait."""
        with self._lock:
            if not self._events:
                self._due_at = self._next_tick()
            self._events.append(event)
            is_urgent = self._leaves_at_once(event)
            if is_urgent:
                self._is_urgent = True
                self._announce()
            if len(self._events) >= _MOST_WAITING:
                self._wait_for_room()
            return is_urgent

    def has_unannounced(self) -> bool:
        """Return whether there is something that the consumer has not been told of."""
        return not self._is_announced and bool(self._events)

    def seconds_left(self) -> float:
        """Return how long the batch may still collect."""
        return self._due_at - time.monotonic()

    def announce(self) -> None:
        """Tell the consumer that there is something, unless it has taken it already."""
        with self._lock:
            self._is_announced = bool(self._events)
            self._changed.notify()

    def abandon(self) -> None:
        """Let the reader know that nobody takes anything out any more."""
        with self._lock:
            self.is_abandoned = True
            self._changed.notify()

    def end(self, failure: BaseException | None) -> None:
        """Take in that nothing follows, and why if reading failed."""
        with self._lock:
            self._failure, self._is_over, self._is_urgent = failure, True, True
            self._announce()

    def take(self, *, keep_alive_seconds: float) -> list[StreamEvent] | None:
        """Wait for events and return them all; an empty list after a silence, None at the end."""
        with self._lock:
            if self._changed.wait_for(lambda: self._is_announced, keep_alive_seconds):
                left = self.seconds_left()
                if left > _SOON:
                    self._changed.wait_for(lambda: self._is_urgent, left)
            events, self._events = self._events, []
            self._is_announced = self._is_urgent = self._is_over
            if len(events) >= _MOST_WAITING:
                self._changed.notify()
            if not events and self._is_over:
                if self._failure is not None:
                    raise self._failure
                return None
            return events

    def _announce(self) -> None:
        self._is_announced = True
        self._changed.notify()

    def _wait_for_room(self) -> None:
        self._is_urgent = True
        self._announce()
        self._changed.wait_for(lambda: len(self._events) < _MOST_WAITING or self.is_abandoned)

    def _next_tick(self) -> float:
        now = time.monotonic()
        return (
            now - now % self._window_seconds + self._window_seconds if self._window_seconds else now
        )

    def _leaves_at_once(self, event: StreamEvent) -> bool:
        """Return whether somebody waits for just this event: the first piece of a block, or the end."""
        if isinstance(event, BlockDelta):
            is_first = event.index not in self._started_blocks
            self._started_blocks.add(event.index)
            return is_first
        return isinstance(event, (ResponseEnded, ResponseFailure))


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
        keep_alive_seconds: After this many seconds without an event an empty batch is yielded, as a keep-alive.
        close: Called when the consumer stops early, to make the reader stop too.

    Yields:
        Lists of events, in order; all of them, once.

    Raises:
        BaseException: If reading `events` raises it; after the events before it.
    """
    inbox = _Inbox(window_seconds)
    reader = threading.Thread(
        target=_read_ahead, args=(events, inbox), name="responses-reader", daemon=True
    )
    reader.start()
    try:
        while (batch := inbox.take(keep_alive_seconds=keep_alive_seconds)) is not None:
            yield batch
    finally:
        inbox.abandon()
        if close is not None:
            close()


def _read_ahead(events: Iterable[StreamEvent], inbox: _Inbox) -> None:
    failure: BaseException | None = None
    try:
        asked_at = time.monotonic()
        for event in events:
            has_waited = time.monotonic() - asked_at > _NO_WAIT
            if inbox.put(event):
                # Under gevent the consumer gets its turn now, and not when all has been read.
                time.sleep(0)
            elif inbox.has_unannounced():
                if has_waited and isinstance(event, BlockDelta):
                    time.sleep(min(max(inbox.seconds_left(), 0), _LONGEST_NAP))
                inbox.announce()
            if inbox.is_abandoned:
                break
            asked_at = time.monotonic()
    except BaseException as error:  # noqa: BLE001  it is raised again where the events are consumed
        failure = error
    inbox.end(failure)
