"""The time that a run has left."""

import time

from ._settings import Settings


class Clock:
    """A clock that counts down from the moment it is made."""

    def __init__(self, settings: Settings) -> None:
        self._closing_seconds = settings.closing_seconds
        self._end = time.monotonic() + settings.run_seconds

    @property
    def seconds_left(self) -> float:
        """Seconds until the run must be over; never under 0."""
        return max(0.0, self._end - time.monotonic())

    @property
    def seconds_for_tools(self) -> float:
        """Seconds until nothing but the closing call fits; never under 0."""
        return max(0.0, self.seconds_left - self._closing_seconds)

    @property
    def is_short(self) -> bool:
        """Whether only the closing call fits."""
        return self.seconds_for_tools == 0

    @property
    def is_over(self) -> bool:
        """Whether the run must be over."""
        return self.seconds_left == 0
