"""What a server goes on trying, whatever becomes of it."""

import logging
from collections.abc import Generator
from contextlib import contextmanager

from agent_server._store.minutes import OnceAMinute
from agent_server.runs import DatabaseAwayError


_logger = logging.getLogger("agent_server")


class Trials:
    """Attempts at one thing, of which none ends the others.

    Args:
        complaint: What is said where one fails by an error of ours, with the traceback, once a minute. Of a database that is away its writer tells.
    """

    def __init__(self, complaint: str) -> None:
        self._complaint = complaint
        self._pace = OnceAMinute()

    @contextmanager
    def made(self) -> Generator[None]:
        """Make an attempt within the context."""
        try:
            yield
        except Exception as error:
            if not isinstance(error, DatabaseAwayError) and self._pace.is_due():
                _logger.exception("%s, and it is tried again", self._complaint)
