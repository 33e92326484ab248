"""Reading the database outside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Concatenate

import sqlalchemy as sa

from agent_server._store.database import Database
from agent_server._store.errors import is_outage
from agent_server._store.pulse import Pulse
from agent_server._store.writer import Writer
from agent_server.runs import DatabaseAwayError
from stream_text import LARGE_TEXT, TRUSTED_DEPTH, parse_json


async def parse_stored(text: str) -> Any:
    """Return stored JSON, a large one parsed outside the event loop."""
    # What is stored has limits, so that to parse it holds nobody up for long.
    parse = partial(parse_json, text, max_depth=TRUSTED_DEPTH)
    return await asyncio.to_thread(parse) if len(text) > LARGE_TEXT else parse()


class Readers:
    """The threads that read the database."""

    def __init__(self, database: Database, writer: Writer, pool: ThreadPoolExecutor) -> None:
        self._database = database
        self._writer = writer
        self._pool = pool
        self._pulse = Pulse(database.patience_seconds)

    async def read[**Arguments, Result](
        self,
        query: Callable[Concatenate[sa.Connection, Arguments], Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Call a query with a connection and the arguments, and return its result.

        Raises:
            DatabaseAwayError: If the database cannot be reached.
        """
        if self._writer.is_away:
            raise DatabaseAwayError

        def find() -> Result:
            # Shows that the threads get on, however long the queue is.
            self._pulse.beat()
            with self._database.reader.begin() as connection:
                return query(connection, *args, **kwargs)

        done = asyncio.get_running_loop().run_in_executor(self._pool, find)
        if not await self._pulse.wait_for(done):  # pragma: no cover - nox -s postgresql
            raise DatabaseAwayError
        try:
            return done.result()
        except Exception as error:
            if not is_outage(error):
                raise
            self._writer.suspect(error)
            raise DatabaseAwayError from None
