"""Telling a database that is away from one that is only busy."""

import asyncio
import time
from typing import Any


# As long as a client is let wait for a database that does nothing, before it hears that it is away.
PATIENCE_SECONDS = 4.0


class Pulse:
    """The time at which a database's threads last began a piece of work."""

    def __init__(self) -> None:
        self._beaten_at = time.monotonic()

    def beat(self) -> None:
        """Note that the next piece of work begins."""
        self._beaten_at = time.monotonic()

    async def wait_for(self, done: asyncio.Future[Any]) -> bool:
        """Wait for queued work, and return whether it is done; it is given up once no work has begun for seconds.

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
