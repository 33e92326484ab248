"""Whether Temporal can be reached, for the metrics and the log."""

import logging
import time

from temporalio.service import RPCError

from agent_server.store import OnceAMinute


_logger = logging.getLogger("agent_temporal")


class Reach:
    """What is known of Temporal's being there.

    Args:
        target: Its address.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._away_since: float | None = None
        self._limit = OnceAMinute()
        self._is_told = False

    @property
    def is_away(self) -> bool:
        """Whether it did not answer when it was last asked."""
        return self._away_since is not None

    def lose(self, error: RPCError) -> None:
        """Note that it did not answer; the log says so once a minute."""
        if self._away_since is None:
            self._away_since = time.monotonic()
        if self._limit.is_due():
            self._is_told = True
            _logger.warning(
                "the engine is away, runs are accepted and wait: Temporal at %s did not answer: %s",
                *(self._target, error.message.partition("\n")[0]),
            )

    def regain(self) -> None:
        """Note that it has answered."""
        since, self._away_since = self._away_since, None
        if since is not None and self._is_told:
            self._is_told = False
            _logger.warning("the engine is back after %.0f s", time.monotonic() - since)
