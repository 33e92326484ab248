"""Pacing of streams: their events are handed on in few batches, with an empty one as a keep-alive during silences.

In a model plugin each batch becomes a chunk, which the plugin has to build and write and Dify has to read, and Dify
gives up on a plugin that is silent for too long.

A person can't tell text that arrives token by token from text that arrives every 50 ms. So the first piece of each
block leaves at once, and when a batch with text has left, the stream is not looked at again before the window has
ended; then all that has come leaves together. Being woken for a token costs more than the token itself. Windows end at
ticks that all streams share, because the data that one stream needs is then still in the processor's caches from the
one before. Where many streams come in at once, windows grow with them.

The reader is a thread. In the plugin's process gevent has replaced threads by greenlets, and a greenlet runs until it
waits: a reader whose whole answer has already come would keep the first piece from leaving, and other streams from
beginning. So it yields after each event that somebody waits for, and once its first piece has left, it sleeps for as
long as it takes to begin the others. Nothing of gevent is imported for that, and with ordinary threads it does no harm.

Source: docs/contracts/openai-gpt5-responses.md, A34 and A35.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Protocol


__all__ = ["Pacer"]

_MOST_COLLECTED = 256  # events that wait for the end of a window
# Not yet taken by the consumer; then the reader waits, to save memory and let others run.
_MOST_BATCHES = 4
_LONGEST_NAP = 0.05  # seconds; an event that must not wait, such as the end, may come meanwhile
_BEGINNING_SECONDS = 0.004  # of processor time, from a call to the first piece of its stream
_MOST_BEGINNING_SECONDS = 0.2
_STREAMS = 25  # up to so many at once keep the window as it was set
_MOST_GROWTH = 4

type Read[Event] = Callable[[Callable[[], bool]], Iterable[list[Event]]]
"""A reader of a stream, such as `ResponseStream.batches` of gpt5-responses.

It calls its argument before it waits, and if that returns True, looks for events again first.
"""


class Piece(Protocol):
    """An event with a piece of a block's text."""

    @property
    def index(self) -> int:
        """The block that it belongs to."""
        ...


class Pacer[Event]:
    """Pace of all streams of a process.

    Args:
        piece: The class of events with text.
        end: The class of the event that ends a stream.
        window_seconds: What arrives within this many seconds leaves together; with more than 25 streams at once the
            window grows with them, up to four times. The first piece of a block and the end of the stream do not wait
            for it, but for a sleeping reader: up to 0.05 s, grown likewise, and no longer than the window. 0 hands on
            at once whatever has arrived.
        keep_alive_seconds: After this many seconds without an event an empty batch is yielded, as a keep-alive.
    """

    def __init__(
        self,
        *,
        piece: type[Piece],
        end: type[object],
        window_seconds: float = 0.05,
        keep_alive_seconds: float = 15.0,
    ) -> None:
        self.piece, self.end = piece, end
        self.window_seconds = window_seconds
        self.keep_alive_seconds = keep_alive_seconds
        self._streams: set[_ReadAhead[Event]] = set()

    def pace(
        self, read: Read[Event], *, close: Callable[[], None] | None = None
    ) -> Generator[list[Event]]:
        """Yield events in batches, reading ahead in a thread of its own.

        Args:
            read: What to read, such as the `batches` of a `ResponseStream`.
            close: Called when the consumer stops early, to make the reader stop too.

        Yields:
            Lists of events, in order; all of them, once.

        Raises:
            BaseException: If reading raises it; after the events before it.
        """
        ahead = _ReadAhead(self)
        self._streams.add(ahead)
        reader = threading.Thread(target=ahead.run, args=(read,), name="stream-reader", daemon=True)
        reader.start()
        try:
            while (batch := ahead.take(self.keep_alive_seconds)) is not None:
                yield batch
        finally:
            self._streams.discard(ahead)
            ahead.abandon()
            if close is not None:
                close()

    def next_tick(self) -> float:
        """Return when a window that begins now ends, by the monotonic clock."""
        window = self.window_seconds * self._growth
        now = time.monotonic()
        return now - now % window + window if window else 0

    @property
    def longest_nap(self) -> float:
        """How long a reader may sleep at a time, in seconds."""
        return _LONGEST_NAP * self._growth

    @property
    def nap_after_first(self) -> float:
        """How long a reader sleeps once the first piece of its stream has left, in seconds: as long as it takes to begin the others."""
        if not self.window_seconds:
            return 0
        others = max(len(self._streams) - 1, 0)
        return min(others * _BEGINNING_SECONDS, _MOST_BEGINNING_SECONDS)

    @property
    def _growth(self) -> float:
        return min(max(len(self._streams) / _STREAMS, 1), _MOST_GROWTH)


class _ReadAhead[Event]:
    """Read-ahead of one stream: the events that its reader has read and its consumer has not taken."""

    def __init__(self, pacer: Pacer[Event]) -> None:
        self._pacer = pacer
        self._piece, self._end = pacer.piece, pacer.end
        self._collected: list[Event] = []
        self._has_text = False  # what has been collected
        self._due_at = 0.0
        self._started_blocks: set[int] = set()
        self._batches: deque[list[Event]] = deque()
        # These only wake the other side, which then looks at the fields above and below.
        self._ready = threading.Event()
        self._taken = threading.Event()
        self._failure: BaseException | None = None
        self._is_over = False
        self._is_abandoned = False

    def run(self, read: Read[Event]) -> None:
        """Read a stream to its end, or until its consumer is gone."""
        try:
            for events in read(self._pause):
                self._collect(events)
                if self._is_abandoned:
                    break
        except BaseException as error:  # noqa: BLE001  raised again where the events are consumed
            self._failure = error
        # In this order: a consumer that sees the end does not look for another batch.
        self._hand_on()
        self._is_over = True
        self._ready.set()

    def take(self, keep_alive_seconds: float) -> list[Event] | None:
        """Wait for events and return them all; an empty list after a silence, None at the end."""
        while not self._batches and not self._is_over:
            if not self._ready.wait(keep_alive_seconds):
                return []
            self._ready.clear()
        events: list[Event] = []
        while self._batches:
            events += self._batches.popleft()
        self._taken.set()
        if events:
            return events
        if self._failure is not None:
            raise self._failure
        return None

    def abandon(self) -> None:
        """Tell the reader that its consumer is gone."""
        self._is_abandoned = True
        self._taken.set()

    def _collect(self, events: list[Event]) -> None:
        for event in events:
            self._collected.append(event)
            if self._leaves_at_once(event):
                self._hand_on()
                self._give_turn(event)
        if len(self._collected) >= _MOST_COLLECTED:
            self._hand_on()

    def _give_turn(self, event: Event) -> None:
        """Let the consumer run, and after the first piece of a stream let other streams begin."""
        is_first = isinstance(event, self._piece) and len(self._started_blocks) == 1
        # Under gevent even a sleep of 0 s lets other greenlets run.
        time.sleep(self._pacer.nap_after_first if is_first else 0)

    def _leaves_at_once(self, event: Event) -> bool:
        """Return whether somebody waits for just this event: the first piece of a block, or the end."""
        if isinstance(event, self._piece):
            self._has_text = True
            if event.index in self._started_blocks:
                return False
            self._started_blocks.add(event.index)
            return True
        return isinstance(event, self._end)

    def _pause(self) -> bool:
        """Hand on what is due, and sleep while a window is open; return whether one was."""
        now = time.monotonic()
        if now >= self._due_at:
            self._hand_on()
        left = self._due_at - now
        if left <= 0:
            return False
        time.sleep(min(left, self._pacer.longest_nap))
        return True

    def _hand_on(self) -> None:
        """Give the collected events to the consumer, and open a window if there is text among them."""
        if not self._collected:
            return
        if self._has_text:
            self._due_at = self._pacer.next_tick()
        self._batches.append(self._collected)
        self._collected, self._has_text = [], False
        self._ready.set()
        while len(self._batches) >= _MOST_BATCHES and not self._is_abandoned:
            # Not for ever: the line below may clear what was set just before it.
            self._taken.wait(_LONGEST_NAP)
            self._taken.clear()
