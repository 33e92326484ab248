"""The time and the patience of a drive."""

import time
from collections.abc import Callable
from typing import Protocol, cast

from agent_loop import AgentRun, CallModel, CallWatch, Failure, TimeBudget, TimePassed, TimeShort


POLL_SECONDS = 0.25
"""How long a cancel may stay unseen while nothing comes."""

CANCELLED = Failure(message="The run was cancelled.", reason="cancelled")


def cancel(_: CallModel) -> Failure:
    """Answer in the place of a model that is not called any more."""
    return CANCELLED


class Settable(Protocol):
    """An event that somebody sets: of `threading`, of `asyncio` or of one's own."""

    def is_set(self) -> bool:
        """Return whether it is set."""
        ...


type Cancelled = Callable[[], bool] | Settable | None
"""What says that nobody wants the run any more: an event that is set, or a function that returns true."""


class Clock:
    """What there is of time, and whether the run is wanted still.

    Args:
        budget: How long the run and its calls may take; None for as long as they like.
        cancelled: What says that the run is cancelled.
    """

    def __init__(self, budget: TimeBudget | None, cancelled: Cancelled) -> None:
        self.budget = budget
        self._started = time.monotonic()
        self._is_cancelled = _read_cancelled(cancelled)

    @property
    def is_watched(self) -> bool:
        """Whether anything could end a wait."""
        return self.budget is not None or self._is_cancelled is not None

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody wants the run any more."""
        return self._is_cancelled is not None and self._is_cancelled()

    @property
    def now(self) -> float:
        """Seconds since the drive began."""
        return time.monotonic() - self._started

    def tell(self, run: AgentRun) -> None:
        """Tell a run what time it is."""
        run.feed(TimePassed(seconds=self.now))
        if self.budget is not None and self.budget.is_short(self.now):
            run.feed(TimeShort())

    def seconds_for_tools(self, *, has_closing_call: bool) -> float | None:
        """Return how long tools may still run; None for as long as they like."""
        if self.budget is None:
            return None
        left = self.budget.seconds_for_tools if has_closing_call else self.budget.seconds_left
        return left(self.now)

    def watch(self, call: CallModel) -> CallWatch | None:
        """Return what watches the time of a model call; None where there is none to watch."""
        if self.budget is None:
            return None
        return CallWatch(self.budget, now=self.now, is_closing=call.is_closing)


def _read_cancelled(cancelled: Cancelled) -> Callable[[], bool] | None:
    is_set = getattr(cancelled, "is_set", None)
    return cast("Callable[[], bool] | None", cancelled if is_set is None else is_set)
