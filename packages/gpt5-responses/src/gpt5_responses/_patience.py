"""How long a response may take: without an event, and in all."""

import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from ._connection import Connection
from ._errors import ConnectionTimeoutError
from ._failures import SILENT


REST_SECONDS = 0.25
"""How long the end of a body is waited for once its response is over; honest servers send both together."""

MOST_REST_BYTES = 64 * 1024
"""How much of it is read."""

_TOO_LONG = "The call took longer than it may in all ({}). What arrived is shown; try again, or ask for less at once."


class Patience:
    """The time that one call has.

    Bytes alone do not count as life: a server can send comments for ever.

    Args:
        connection: Whose limits these are.

    Raises:
        ConnectionTimeoutError: If the time is over when `note` or `validate` is called.
    """

    def __init__(self, connection: Connection) -> None:
        self._silent_seconds = connection.timeout_seconds
        self._total_seconds = connection.total_seconds
        self._limit = connection.total_limit
        self._progress = 0
        self._alive_at: float | None = None
        self._deadline: float | None = None

    @property
    def seconds_left(self) -> float | None:
        """The rest of the call's time, counted from the first question for it; None for no limit."""
        if self._total_seconds is None:
            return None
        if self._deadline is None:
            self._deadline = time.monotonic() + self._total_seconds
        return max(self._deadline - time.monotonic(), 0)

    def note(self, progress: int) -> None:
        """Take in how far the response has come."""
        now = time.monotonic()
        if progress != self._progress or self._alive_at is None:
            self._progress, self._alive_at = progress, now
        elif now - self._alive_at > self._silent_seconds:
            raise ConnectionTimeoutError(SILENT)

    def validate(self) -> None:
        """Refuse to go on where the whole call has taken too long."""
        if self.seconds_left == 0:
            raise self.took_too_long() from None

    @contextmanager
    def calling_at_the_end(self, end: Callable[[], None]) -> Generator[None]:
        """Call `end` if the time is over before the block is; nothing else could wake a reader from a silence."""
        if self.seconds_left is None:
            yield
            return
        timer = threading.Timer(self.seconds_left, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def took_too_long(self) -> ConnectionTimeoutError:
        """Return the error for a call that took longer than it may in all."""
        return ConnectionTimeoutError(_TOO_LONG.format(self._limit))


def is_delimited(headers: Mapping[str, str]) -> bool:
    """Return whether the end of a body can be told from the end of its connection."""
    return "transfer-encoding" in headers or "content-length" in headers
