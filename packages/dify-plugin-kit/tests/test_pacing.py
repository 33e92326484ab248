import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from queue import Empty, SimpleQueue

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dify_plugin_kit.pacing import Pacer as AnyPacer


@dataclass(frozen=True)
class Delta:
    index: int
    text: str


@dataclass(frozen=True)
class End:
    pass


type Event = Delta | End | str

Pacer = partial(AnyPacer[Event], piece=Delta, end=End)


def delta(text: str, index: int = 0) -> Delta:
    return Delta(index, text)


END = End()
QUIET = "quiet"
LONG = 3600.0


class Source:
    """A stream of what a test puts in; it counts how often its reader had to wait."""

    def __init__(self, *events: Event) -> None:
        self.waits = 0
        self._come: SimpleQueue[Event | Exception | None] = SimpleQueue()
        self.put(*events)

    def put(self, *events: Event | Exception | None) -> None:
        """Let these arrive; None is the end."""
        for event in events:
            self._come.put(event)

    def read(self, pause: Callable[[], bool]) -> Iterator[list[Event]]:
        while (event := self._next(pause)) is not None:
            if isinstance(event, Exception):
                raise event
            yield [event]

    def _next(self, pause: Callable[[], bool]) -> Event | Exception | None:
        while True:
            try:
                return self._come.get_nowait()
            except Empty:
                if not pause():
                    break
        self.waits += 1
        return self._come.get()


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "stream-reader"]


def test_the_first_piece_of_a_block_leaves_at_once() -> None:
    source = Source(delta("a"))
    batches = Pacer(window_seconds=LONG).pace(source.read)

    assert next(batches) == [delta("a")]
    source.put(END, None)
    assert list(batches) == [[END]]


def test_what_arrives_within_the_window_leaves_together() -> None:
    source = Source(delta("a"))
    batches = Pacer(window_seconds=LONG).pace(source.read)
    next(batches)
    source.put(delta("b"))
    time.sleep(0.1)
    source.put(delta("c"), END, None)

    assert list(batches) == [[delta("b"), delta("c"), END]]
    assert source.waits <= 1


def test_a_batch_leaves_when_its_window_has_passed() -> None:
    source = Source(delta("a"))
    batches = Pacer(window_seconds=0.05).pace(source.read)

    assert next(batches) == [delta("a")]
    source.put(delta("b"))
    assert next(batches) == [delta("b")]
    source.put(None)
    assert list(batches) == []


def test_pieces_that_come_one_by_one_are_looked_for_a_few_times() -> None:
    pieces = [delta(str(number)) for number in range(60)]
    source = Source()

    def send() -> None:
        for piece in [*pieces, END, None]:
            time.sleep(0.002)
            source.put(piece)

    sender = threading.Thread(target=send)
    sender.start()
    # Nobody sends so slowly that there are two windows for each four pieces.
    batches = list(Pacer(window_seconds=0.5).pace(source.read))
    sender.join()

    assert list(chain.from_iterable(batches)) == [*pieces, END]
    assert len(batches) < len(pieces) / 2
    assert source.waits < len(pieces) / 2


def test_many_streams_at_once_have_longer_windows() -> None:
    pacer = Pacer(window_seconds=0.02)
    end_of_window = pacer.next_tick() - time.monotonic()
    sources = [Source(delta("a")) for _ in range(100)]
    streams = [pacer.pace(source.read) for source in sources]
    for stream in streams:
        assert next(stream) == [delta("a")]

    ticks = {round(pacer.next_tick() / 0.08, 6) for _ in range(3)}
    assert all(tick.is_integer() for tick in ticks)
    assert end_of_window <= 0.02
    assert pacer.longest_nap == 0.2
    for stream in streams:
        stream.close()
    for source in sources:
        source.put(None)
    assert pacer.longest_nap == 0.05


def test_a_stream_that_has_begun_lets_the_others_begin() -> None:
    has_left, order = threading.Event(), list[str]()

    def read_whole(_: Callable[[], bool]) -> Iterator[list[Event]]:
        has_left.set()
        yield [delta("a")]
        order.append("the rest")
        yield [delta("b"), END]

    def read_late(_: Callable[[], bool]) -> Iterator[list[Event]]:
        has_left.wait()
        order.append("another's first piece")
        yield [delta("a"), END]

    pacer = Pacer(window_seconds=LONG)
    idle = [pacer.pace(Source(delta("a"), None).read) for _ in range(50)]
    for stream in idle:
        next(stream)
    late, whole = pacer.pace(read_late), pacer.pace(read_whole)
    taker = threading.Thread(target=next, args=(late,))
    taker.start()
    batches = list(whole)
    taker.join()

    assert batches == [[delta("a")], [delta("b"), END]]
    assert order == ["another's first piece", "the rest"]
    assert pacer.nap_after_first <= 0.2
    for stream in (late, *idle):
        stream.close()
    assert pacer.nap_after_first == 0


def test_without_a_window_nothing_is_held_back() -> None:
    source = Source(delta("a"))
    batches = Pacer(window_seconds=0).pace(source.read)

    for text in "abc":
        assert next(batches) == [delta(text)]
        source.put(delta(chr(ord(text) + 1)))
    source.put(None)
    assert list(batches) == [[delta("d")]]


def test_what_has_no_text_leaves_and_opens_no_window() -> None:
    source = Source(QUIET)
    batches = Pacer(window_seconds=LONG).pace(source.read)

    assert next(batches) == [QUIET]
    source.put(QUIET)
    assert next(batches) == [QUIET]
    source.put(None)
    assert list(batches) == []


def test_a_new_block_does_not_wait_for_the_window() -> None:
    source = Source(delta("a"))
    batches = Pacer(window_seconds=LONG).pace(source.read)
    next(batches)
    source.put(delta("b", index=1))

    assert next(batches) == [delta("b", index=1)]
    source.put(None)
    assert list(batches) == []


def test_a_silence_is_broken_by_empty_batches() -> None:
    source = Source()
    batches = Pacer(keep_alive_seconds=0.01).pace(source.read)

    assert next(batches) == next(batches) == []
    source.put(END, None)
    assert [batch for batch in batches if batch] == [[END]]


@pytest.mark.parametrize("window", [0, LONG])
def test_an_error_comes_after_the_events_before_it(window: float) -> None:
    source = Source(delta("a"), delta("b"), ConnectionError("broken"))
    batches = Pacer(window_seconds=window).pace(source.read)
    events: list[Event] = []

    with pytest.raises(ConnectionError, match="broken"):
        events.extend(chain.from_iterable(batches))
    assert events == [delta("a"), delta("b")]


def test_a_reader_does_not_run_far_ahead() -> None:
    read: list[int] = []

    def flood(_: object) -> Iterator[list[Event]]:
        for number in range(10_000):
            read.append(number)
            yield [delta("a")]

    ahead: list[int] = []
    taken = 0
    for batch in Pacer(window_seconds=LONG).pace(flood):
        taken += len(batch)
        ahead.append(len(read) - taken)

    assert taken == 10_000
    assert max(ahead) <= 1024


def test_walking_away_from_a_reader_that_waits_for_room_ends_it() -> None:
    def flood(_: object) -> Iterator[list[Event]]:
        while True:
            yield [delta("a")]

    batches = Pacer(window_seconds=0).pace(flood)
    next(batches)
    threads = readers()
    batches.close()
    for reader in threads:
        reader.join(timeout=60)

    assert not any(reader.is_alive() for reader in threads)


def test_walking_away_closes_the_source_and_ends_the_reader() -> None:
    source = Source(delta("a"))
    closed = threading.Event()

    def close() -> None:
        closed.set()
        source.put(delta("b"), ConnectionError("was read on"))

    batches = Pacer().pace(source.read, close=close)
    next(batches)
    threads = readers()
    batches.close()
    for reader in threads:
        reader.join(timeout=60)

    assert closed.is_set()
    assert not any(reader.is_alive() for reader in threads)


@given(
    st.lists(st.builds(delta, st.text(min_size=1), st.integers(0, 3))),
    st.sampled_from([0.0, 0.001, LONG]),
)
def test_all_events_arrive_once_and_in_order(events: list[Event], window: float) -> None:
    source = Source(*events)
    source.put(None)

    assert list(chain.from_iterable(Pacer(window_seconds=window).pace(source.read))) == events
