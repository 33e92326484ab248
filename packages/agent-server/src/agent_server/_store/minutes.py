"""What is said once a minute, however often it happens."""

import time


_SECONDS = 60.0


class OnceAMinute:
    """A pace at which faults that last, or come and go, are told."""

    def __init__(self) -> None:
        self._told_at = -_SECONDS

    def is_due(self) -> bool:
        """Return whether to tell now; it counts as told."""
        now = time.monotonic()
        if now - self._told_at < _SECONDS:
            return False
        self._told_at = now
        return True
