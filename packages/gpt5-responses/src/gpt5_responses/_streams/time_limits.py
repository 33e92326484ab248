"""Time limits of a response: without an event, and in all."""

import time
from collections.abc import Mapping

from gpt5_responses._errors import ConnectionTimeoutError
from gpt5_responses._http.error_messages import SILENT, took_too_long
from gpt5_responses._settings.connection import Connection


REST_SECONDS = 0.25
"""How long to wait for the end of a body once its response is over; honest servers send both together."""

MOST_REST_BYTES = 64 * 1024
"""How much of the rest of a body to read."""


class TimeLimits:
    """The time limits of one call.

    Bytes alone do not count as progress: a server can send comments for ever.

    Args:
        connection: Whose limits these are.
        seconds: How long the caller waits in all, if that is less than the connection's limit.

    Attributes:
        total_seconds: How long the call may take in all; None for no limit.
    """

    def __init__(self, connection: Connection, *, seconds: float | None = None) -> None:
        self._silent_seconds = connection.timeout_seconds
        self.total_seconds = connection.total_seconds
        self._limit = connection.total_limit
        if seconds is not None and (self.total_seconds is None or seconds < self.total_seconds):
            self.total_seconds, self._limit = seconds, "seconds"
        self._progress = 0
        self._silent_until: float | None = None
        self._deadline: float | None = None  # set when first asked for, as the call begins
        self._rest_until: float | None = None

    @property
    def seconds_left(self) -> float | None:
        """The rest of the call's time, which begins when this is first read; None for no limit."""
        if self.total_seconds is None:
            return None
        if self._deadline is None:
            self._deadline = time.monotonic() + self.total_seconds
        return max(self._deadline - time.monotonic(), 0)

    def begin_answer(self) -> None:
        """Note that another HTTP answer begins, which restarts the limit on silence."""
        self._silent_until = self._rest_until = None

    @property
    def is_over(self) -> bool:
        """Whether the call has taken as long as it may."""
        return self.seconds_left == 0

    def note(self, progress: int) -> None:
        """Note the response's progress.

        Raises:
            ConnectionTimeoutError: If there was none for too long, or the call took too long.
        """
        if progress != self._progress or self._silent_until is None:
            self._progress = progress
            self._silent_until = time.monotonic() + self._silent_seconds
        elif time.monotonic() >= min(self._silent_until, self._rest_until or self._silent_until):
            raise ConnectionTimeoutError(SILENT)
        self.validate()

    def wait_seconds(self) -> float:
        """Return how many seconds to wait for more of the body, counted from the last `note`; above 0."""
        ends = (self._silent_until, self._deadline, self._rest_until)
        # A timeout of 0 would not wait, and fail in another way.
        return max(min(end for end in ends if end is not None) - time.monotonic(), 0.001)

    def begin_rest(self) -> None:
        """Note that the response is over, which leaves little time for the rest of its body."""
        self._rest_until = time.monotonic() + REST_SECONDS

    def validate(self) -> None:
        """Raise if the whole call has taken too long.

        Raises:
            ConnectionTimeoutError: If it has.
        """
        if self.seconds_left == 0:
            raise self.took_too_long() from None

    def took_too_long(self) -> ConnectionTimeoutError:
        """Return the error for a call that took longer than it may in all."""
        return took_too_long(self._limit)


def is_delimited(headers: Mapping[str, str]) -> bool:
    """Return whether the end of a body can be told from the end of its connection."""
    return "transfer-encoding" in headers or "content-length" in headers
