"""The time that a run has left."""

import time

from agent_loop import TimeBudget


class Clock:
    """A clock that runs from the moment it is made, and knows what time there is.

    Attributes:
        budget: The time of the run.
    """

    def __init__(self, budget: TimeBudget) -> None:
        self.budget = budget
        self._started = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._started

    @property
    def seconds_left(self) -> float:
        """Seconds until the run must be over; never under 0."""
        return self.budget.seconds_left(self.now)

    @property
    def seconds_for_tools(self) -> float:
        """Seconds until nothing but the closing call fits; never under 0."""
        return self.budget.seconds_for_tools(self.now)

    @property
    def is_short(self) -> bool:
        """Whether only the closing call fits."""
        return self.budget.is_short(self.now)
