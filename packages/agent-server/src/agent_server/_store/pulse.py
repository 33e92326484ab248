"""Whether a database that keeps clients waiting is away, or has only much to do."""

import asyncio
import time
from typing import Any


# As long as a client is let wait for a database that does nothing, before it hears that it is away.
PATIENCE_SECONDS = 4.0


class Pulse:
    """The last sign that threads at the database get on with their work."""

    def __init__(self) -> None:
        self._beaten_at = time.monotonic()

    def beat(self) -> None:
        """Note that the next piece of work begins."""
        self._beaten_at = time.monotonic()

    async def wait_for(self, done: asyncio.Future[Any]) -> bool:
        """Wait for a piece of work that is queued, and return whether it is done; if not, nothing was begun for seconds.

        Whoever stands behind five hundred others, or asks a process that has much else to do, waits for longer than that.
        """
        try:
            while not done.done():
                await asyncio.wait([done], timeout=PATIENCE_SECONDS)
                silence = time.monotonic() - self._beaten_at
                if (
                    not done.done() and silence >= PATIENCE_SECONDS
                ):  # pragma: no cover - nox -s postgresql
                    done.cancel()
                    return False
        except asyncio.CancelledError:
            done.cancel()
            raise
        return True
