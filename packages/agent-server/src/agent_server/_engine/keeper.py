"""What a server does beside executing: it shows that it lives, takes over from those that do not, and keeps the database in bounds."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from agent_server._store import housekeeping, servers
from agent_server._store.endings import Ending
from agent_server._store.errors import StorageError
from agent_server._store.housekeeping import Retention
from agent_server._store.records import Event
from agent_server._store.servers import Beat, LeaseWatch, Server
from agent_server._store.writer import Writer
from agent_server.runs import DatabaseAwayError

from .dispatcher import Dispatcher
from .reading import Readers
from .statistics import Tally


_logger = logging.getLogger("agent_server")

_BEATS_A_LEASE = 4
_TIDY_SECONDS = 10.0
_PAUSE_SECONDS = 0.02


class ServerNameTakenError(StorageError):
    """A living server of the database has the name that this one was given."""


class Keeper:
    """The place of a server among the others of its database."""

    def __init__(
        self,
        server: Server,
        *,
        writer: Writer,
        readers: Readers,
        lease_seconds: float,
        retention: Retention,
    ) -> None:
        self._server = server
        self._writer = writer
        self._readers = readers
        self._lease_seconds = lease_seconds
        self._retention = retention

    async def enter(self) -> None:
        """Enter the server, or wait until who had its name is sure to be dead.

        Raises:
            ServerNameTakenError: If they live.
        """
        watch = LeaseWatch(lease_seconds=self._lease_seconds)
        seen: set[tuple[str, int]] = set()
        while not await self._writer.write(lambda write: servers.enter(write, self._server)):
            beats = [
                one for one in await self._read_beats() if one.server.name == self._server.name
            ]
            seen |= {(one.server.token, one.number) for one in beats}
            if len(seen) > 1:
                raise ServerNameTakenError(
                    f"server_name: expected a name that no living server has, got {self._server.name}"
                )
            await self._take_over(watch.find_silent(beats, now=_now()))
            await self._sleep()

    async def leave(self) -> None:
        """Take out the server, unless the database is away: then the others will see that it is silent."""
        leaving = self._writer.submit(lambda write: servers.leave(write, self._server))
        await asyncio.wait([leaving], timeout=0 if self._writer.is_away else None)

    async def keep(self, dispatcher: Dispatcher) -> None:
        """Show that this server lives, and take over from others that do not, until it is cancelled."""
        watch = LeaseWatch(lease_seconds=self._lease_seconds)
        while True:
            await self._sleep()
            if not await self._writer.submit(lambda write: servers.beat(write, self._server)):
                _logger.warning("others took this server for dead; it begins anew")
                dispatcher.give_up_all()
                await self._writer.submit(lambda write: servers.enter(write, self._server))
            with suppress(DatabaseAwayError):
                silent = watch.find_silent(await self._read_beats(), now=_now())
                await self._take_over([one for one in silent if one.server != self._server])
            dispatcher.wake()

    async def tidy(self, tally: Tally, on_ended: Callable[[int, Ending, Event], None]) -> None:
        """Keep the database in bounds and count what is in it, until it is cancelled.

        Args:
            tally: Where the counts go.
            on_ended: Hears of runs that were ended because nobody can go on with them.
        """
        while True:
            try:
                await self._tidy(tally, on_ended)
            except Exception:
                _logger.exception("the database could not be kept tidy")
            await asyncio.sleep(min(_TIDY_SECONDS, self._lease_seconds))

    async def _tidy(self, tally: Tally, on_ended: Callable[[int, Ending, Event], None]) -> None:
        executor = self._server.executor
        for row, ending, event in await self._writer.submit(
            lambda write: housekeeping.end_stranded(write, executor)
        ):
            on_ended(row.seq, ending, event)
        with suppress(DatabaseAwayError):
            counted = await self._readers.read(
                lambda connection: housekeeping.count(connection, executor)
            )
            tally.runs, tally.oldest_queued = counted.runs, counted.oldest_queued
        while await self._writer.submit(lambda write: housekeeping.prune(write, self._retention)):
            await self._writer.submit(housekeeping.free_space)
            await self._sleep_between()
        while await self._writer.submit(housekeeping.seal_anew):
            await self._sleep_between()

    async def _take_over(self, silent: Sequence[Beat]) -> None:
        taken = [
            one.server.name
            for one in silent
            if await self._writer.submit(lambda write, one=one: servers.take_over(write, one))
        ]
        for name in taken:
            _logger.warning("server %s is silent, its runs wait again", name)

    async def _read_beats(self) -> list[Beat]:
        return await self._readers.read(servers.read_beats)

    async def _sleep_between(self) -> None:
        # Whoever writes for long lets the runs of others wait.
        await asyncio.sleep(_PAUSE_SECONDS)

    async def _sleep(self) -> None:
        await asyncio.sleep(self._lease_seconds / _BEATS_A_LEASE)


def _now() -> float:
    return asyncio.get_running_loop().time()
