"""Logging faults that last, or come and go, at most once a minute."""

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager

from agent_server.runs import DatabaseAwayError


_logger = logging.getLogger("agent_server")

_SECONDS = 60.0


class OnceAMinute:
    """A limit on how often something is logged."""

    def __init__(self) -> None:
        # So that the first fault is logged even when the clock has just started at 0.
        self._logged_at = -_SECONDS

    def is_due(self) -> bool:
        """Return whether to log now, which counts as logged."""
        now = time.monotonic()
        if now - self._logged_at < _SECONDS:
            return False
        self._logged_at = now
        return True


class FaultLog:
    """The log of a task that a server repeats for ever, whatever goes wrong.

    Args:
        complaint: The message that is logged, with the traceback, if an attempt fails. The writer logs it if the database is away.
    """

    def __init__(self, complaint: str) -> None:
        self._complaint = complaint
        self._limit = OnceAMinute()

    @contextmanager
    def suppressing(self) -> Generator[None]:
        """Log an error that is raised inside the context, and continue after it."""
        try:
            yield
        except Exception as error:
            if not isinstance(error, DatabaseAwayError) and self._limit.is_due():
                _logger.exception("%s, and it is tried again", self._complaint)
