"""What an act costs, as no clock tells it: the same on each machine, however busy it is."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


# What does not go through a text once takes hours for those that are tried here, and what does takes a hundredth of this.
_FOR_EVER_SECONDS = 20


@dataclass
class Steps:
    """A number of instructions of Python.

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

    tool, events = sys.monitoring.PROFILER_ID, sys.monitoring.events
    sys.monitoring.use_tool_id(tool, "steps")
    sys.monitoring.register_callback(tool, events.INSTRUCTION, count)
    sys.monitoring.set_events(tool, events.INSTRUCTION)
    try:
        yield steps
    finally:
        sys.monitoring.set_events(tool, 0)
        sys.monitoring.register_callback(tool, events.INSTRUCTION, None)
        sys.monitoring.free_tool_id(tool)


def count_steps(act: Callable[[], object]) -> int:
    """Return how many instructions of Python an act takes."""
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
