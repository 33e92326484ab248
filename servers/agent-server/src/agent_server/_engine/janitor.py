"""The janitor, which fails runs that no server can execute, deletes old ones and frees their space."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from agent_server._store import apart, housekeeping, webhook_messages
from agent_server._store.fault_log import FaultLog
from agent_server._store.servers import TABLES
from agent_server._store.sessions import lift_limits
from agent_server._store.writer import Operation, Write
from agent_server.runs import DatabaseAwayError

from .parts import Parts


_logger = logging.getLogger("agent_server")

_TIDY_SECONDS = 10.0
_PAUSE_SECONDS = 0.02  # Between two pieces of work, so that runs get their turn at the writer.


class Janitor:
    """The upkeep of a database every few seconds, which each of its servers does."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._executor = parts.server.executor
        # Since when agents are missing. Each server measures by itself, so clocks need not agree.
        self._unserved: Mapping[str, float] = {}
        self._must_wipe = False

    async def work(self) -> None:
        """Tidy the database and count its runs, until it is cancelled."""
        faults = FaultLog("the database could not be kept tidy")
        while True:
            self._parts.underway.tell()
            with faults.suppressing():
                if self._parts.server.engine == TABLES:
                    await self._end_stranded()
                else:
                    await self._maintain(apart.enter)
                await self._tidy()
            await asyncio.sleep(min(_TIDY_SECONDS, self._parts.settings.lease_seconds))

    async def _end_stranded(self) -> None:
        """Fail runs whose version or agent no living server has, and those that nobody has answered."""
        seconds = self._parts.settings.unserved_seconds
        days = self._parts.settings.keep_waiting_days
        ended = [
            *await self._maintain(housekeeping.end_stranded, self._executor),
            *await self._maintain(housekeeping.end_unanswered, self._executor, days=days),
        ]
        with suppress(DatabaseAwayError):
            unserved = await self._parts.readers.read(housekeeping.read_unserved, self._executor)
            now = asyncio.get_running_loop().time()
            self._unserved = {name: self._unserved.get(name, now) for name in unserved}
            if due := [name for name, since in self._unserved.items() if now - since >= seconds]:
                ended += await self._maintain(
                    housekeeping.end_unserved, self._executor, due, seconds=seconds
                )
        for one in ended:
            self._parts.hub.publish(one.seq, [one.event])
            self._parts.tallies.count(replace(one, started_at=one.event.created_at))

    async def _tidy(self) -> None:
        with suppress(DatabaseAwayError):
            counted = await self._parts.readers.read(housekeeping.count, self._executor)
            self._parts.tallies.take(counted)
        while await self._maintain(housekeeping.prune, self._parts.settings):
            self._must_wipe = True
            await self._pause()
        await self._drop_messages()
        while await self._parts.writer.submit(housekeeping.free_space):
            await self._pause()
        while await self._maintain(housekeeping.reencrypt):
            self._must_wipe = True
            await self._pause()
        with suppress(DatabaseAwayError):
            if self._must_wipe:
                # SQLite's log still holds what was deleted, or encrypted with the old key.
                self._must_wipe = not await self._parts.readers.read(housekeeping.wipe_log)

    async def _drop_messages(self) -> None:
        dropped = 0
        while found := await self._maintain(webhook_messages.drop_some):
            dropped += found
            await self._pause()
        if dropped:
            _logger.warning(
                "webhook: %d messages were dropped: %s", dropped, webhook_messages.LIMITS
            )

    async def _maintain[**Arguments, Result](
        self,
        work: Operation[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Do work on the whole database, without the time limit of other statements."""

        def unhurried(write: Write) -> Result | Exception:
            lift_limits(write.connection)
            return work(write, *args, **kwargs)

        return await self._parts.writer.submit(unhurried)

    async def _pause(self) -> None:
        await asyncio.sleep(_PAUSE_SECONDS)
