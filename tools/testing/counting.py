"""What an act costs, as no clock tells it: the same on each machine, however busy it is."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


# What does not go through a text once takes hours for those that are tried here, and what does takes a hundredth of this.
_FOR_EVER_SECONDS = 20


class CountedText(str):
    """A text whose every comparison is a step, as where it is looked for in a list."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)


@dataclass
class Steps:
    """Steps of Python: lines, rounds of a loop and calls of functions.

    Attributes:
        own: Of the thread that counts.
        others: Of all others.
    """

    own: int = 0
    others: int = 0


@contextmanager
def counted_steps() -> Iterator[Steps]:
    """Count what Python executes inside the block: not what C does, which `not_for_ever` is for."""
    steps, own = Steps(), threading.get_ident()

    def count(*_: object) -> None:
        if threading.get_ident() == own:
            steps.own += 1
        else:
            steps.others += 1

    tool, named = sys.monitoring.PROFILER_ID, sys.monitoring.events
    events = (named.LINE, named.JUMP, named.PY_START, named.PY_RESUME)
    sys.monitoring.use_tool_id(tool, "steps")
    for event in events:
        sys.monitoring.register_callback(tool, event, count)
    sys.monitoring.set_events(tool, sum(events))
    try:
        yield steps
    finally:
        sys.monitoring.set_events(tool, 0)
        for event in events:
            sys.monitoring.register_callback(tool, event, None)
        sys.monitoring.free_tool_id(tool)


def count_steps(act: Callable[[], object]) -> int:
    """Return how many steps of Python an act takes."""
    with counted_steps() as steps:
        act()
    return steps.own


def is_linear(act: Callable[[int], object], size: int) -> bool:
    """Return whether twice the size takes about twice the steps."""
    act(size)  # so that neither counts what is made once
    return count_steps(lambda: act(2 * size)) < 2.2 * count_steps(lambda: act(size))


@contextmanager
def not_for_ever() -> Iterator[None]:
    """Fail if what C does inside the block takes as long as only what never ends does."""
    before = time.process_time()
    yield
    assert time.process_time() - before < _FOR_EVER_SECONDS  # noqa: S101 - a test's own
