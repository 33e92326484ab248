"""Waiting for the server's database, which may be away for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from agent_server.runs import DatabaseAwayError


_AWAY_SECONDS: Final = 0.5


async def wait_for_database[Result](work: Callable[[], Awaitable[Result]]) -> Result:
    """Do something with the database, again until it is there."""
    while True:
        try:
            return await work()
        except DatabaseAwayError:
            await asyncio.sleep(_AWAY_SECONDS)
