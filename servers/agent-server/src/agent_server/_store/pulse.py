"""Distinguishing a database that is away from one that is only busy."""

import asyncio
import time
from typing import Any


PATIENCE_SECONDS = 4.0
"""How long a client waits for a database that does nothing, before that counts as away."""

FILE_PATIENCE_SECONDS = 60.0
"""The same for a file, where what takes long is work: a large request on a busy machine, and not a network."""


class Pulse:
    """The time at which a database's threads last began a piece of work.

    Args:
        patience: How many seconds may pass without any.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._beaten_at = time.monotonic()

    def beat(self) -> None:
        """Note that the next piece of work begins."""
        self._beaten_at = time.monotonic()

    async def wait_for(self, done: asyncio.Future[Any]) -> bool:
        """Wait for queued work, and return whether it is done; it is given up once no other work has begun for some seconds.

        So work that is queued behind five hundred others, or in a busy process, may wait for longer.
        """
        try:
            while not done.done():
                await asyncio.wait([done], timeout=self._patience)
                silence = time.monotonic() - self._beaten_at
                if (
                    not done.done() and silence >= self._patience
                ):  # pragma: no cover - nox -s postgresql
                    done.cancel()
                    return False
        except asyncio.CancelledError:
            done.cancel()
            raise
        return True
