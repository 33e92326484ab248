import threading
import time
from collections.abc import Iterator
from itertools import chain
from queue import SimpleQueue

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpt5_messages import BlockDelta, ResponseEnded, StreamEvent
from gpt5_responses.pacing import pace


def delta(text: str, index: int = 0) -> BlockDelta:
    return BlockDelta(index=index, kind="text", text=text)


END = ResponseEnded(status="completed")
LONG = 3600.0


def test_the_first_piece_of_a_block_leaves_at_once() -> None:
    go_on = threading.Event()

    def events() -> Iterator[StreamEvent]:
        yield delta("a")
        go_on.wait()
        yield END

    batches = pace(events(), window_seconds=LONG)

    assert next(batches) == [delta("a")]
    go_on.set()
    assert list(batches) == [[END]]


def test_what_arrives_within_the_window_leaves_together() -> None:
    go_on = threading.Event()

    def events() -> Iterator[StreamEvent]:
        yield delta("a")
        go_on.wait()
        yield from (delta("b"), delta("c"), END)

    batches = pace(events(), window_seconds=LONG)
    next(batches)
    go_on.set()

    assert list(chain.from_iterable(batches)) == [delta("b"), delta("c"), END]


def test_a_batch_leaves_when_its_window_has_passed() -> None:
    first_taken, go_on = threading.Event(), threading.Event()

    def events() -> Iterator[StreamEvent]:
        yield delta("a")
        first_taken.wait()
        yield delta("b")
        go_on.wait()

    batches = pace(events(), window_seconds=0.05)

    assert next(batches) == [delta("a")]
    first_taken.set()
    assert next(batches) == [delta("b")]
    go_on.set()
    assert list(batches) == []


def test_pieces_that_come_one_by_one_leave_in_fewer_batches() -> None:
    pieces = [delta(str(number)) for number in range(60)]
    wire: SimpleQueue[StreamEvent] = SimpleQueue()

    def send() -> None:
        for piece in [*pieces, END]:
            time.sleep(0.002)
            wire.put(piece)

    sender = threading.Thread(target=send)
    sender.start()
    batches = list(pace(iter(wire.get, END), window_seconds=0.05))
    sender.join()

    assert list(chain.from_iterable(batches)) == pieces
    assert len(batches) < len(pieces) / 2


def test_without_a_window_nothing_is_held_back() -> None:
    taken, go_on = threading.Event(), threading.Event()

    def events() -> Iterator[StreamEvent]:
        yield delta("a")
        taken.wait()
        time.sleep(0.002)
        yield delta("b")
        go_on.wait()

    batches = pace(events(), window_seconds=0)

    assert next(batches) == [delta("a")]
    taken.set()
    assert next(batches) == [delta("b")]
    go_on.set()
    assert list(batches) == []


def test_a_new_block_does_not_wait_for_the_window() -> None:
    go_on, and_on = threading.Event(), threading.Event()

    def events() -> Iterator[StreamEvent]:
        yield delta("a")
        go_on.wait()
        yield delta("b", index=1)
        and_on.wait()

    batches = pace(events(), window_seconds=LONG)
    next(batches)
    go_on.set()

    assert next(batches) == [delta("b", index=1)]
    and_on.set()
    assert list(batches) == []


def test_a_silence_is_broken_by_empty_batches() -> None:
    go_on = threading.Event()

    def events() -> Iterator[StreamEvent]:
        go_on.wait()
        yield END

    batches = pace(events(), keep_alive_seconds=0.01)

    assert next(batches) == next(batches) == []
    go_on.set()
    assert [batch for batch in batches if batch] == [[END]]


def test_an_error_comes_after_the_events_before_it() -> None:
    def events() -> Iterator[StreamEvent]:
        yield delta("a")
        raise ConnectionError("broken")

    batches = pace(events())

    assert next(batches) == [delta("a")]
    with pytest.raises(ConnectionError, match="broken"):
        next(batches)


def test_a_reader_does_not_run_far_ahead() -> None:
    read: list[int] = []

    def events() -> Iterator[StreamEvent]:
        for number in range(10_000):
            read.append(number)
            yield delta("a")

    batches = pace(events(), window_seconds=LONG)
    ahead: list[int] = []
    taken = 0
    for batch in batches:
        taken += len(batch)
        ahead.append(len(read) - taken)

    assert taken == 10_000
    assert max(ahead) <= 1024


def test_walking_away_from_a_reader_that_waits_ends_it() -> None:
    def events() -> Iterator[StreamEvent]:
        while True:
            yield delta("a")

    batches = pace(events(), window_seconds=0)
    next(batches)
    readers = [thread for thread in threading.enumerate() if thread.name == "responses-reader"]
    batches.close()
    for reader in readers:
        reader.join(timeout=10)

    assert not any(reader.is_alive() for reader in readers)


def test_walking_away_closes_the_source_and_ends_the_reader() -> None:
    closed = threading.Event()

    def events() -> Iterator[StreamEvent]:
        yield delta("a")
        closed.wait()
        yield delta("b")
        pytest.fail("was read on")

    batches = pace(events(), close=closed.set)
    next(batches)
    readers = [thread for thread in threading.enumerate() if thread.name == "responses-reader"]
    batches.close()
    for reader in readers:
        reader.join(timeout=10)

    assert closed.is_set()
    assert not any(reader.is_alive() for reader in readers)


@given(
    st.lists(st.builds(delta, st.text(min_size=1), st.integers(0, 3))),
    st.sampled_from([0.0, 0.001]),
)
@settings(max_examples=30, deadline=None)
def test_all_events_arrive_once_and_in_order(events: list[StreamEvent], window: float) -> None:
    assert list(chain.from_iterable(pace(events, window_seconds=window))) == events
