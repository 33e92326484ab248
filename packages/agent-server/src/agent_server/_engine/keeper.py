"""What a server does beside executing: it shows that it lives, takes over from those that do not, and keeps the database in bounds."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from agent_server._store import housekeeping, servers
from agent_server._store.endings import Ending
from agent_server._store.errors import StorageError
from agent_server._store.housekeeping import Retention
from agent_server._store.pulse import PATIENCE_SECONDS
from agent_server._store.records import Event
from agent_server._store.servers import Beat, LeaseWatch, Server
from agent_server._store.sessions import lift_limits
from agent_server._store.writer import Operation, Write, Writer
from agent_server.runs import DatabaseAwayError

from .dispatcher import Dispatcher
from .reading import Readers
from .statistics import Tallies
from .trials import Trials


_logger = logging.getLogger("agent_server")

_BEATS_A_LEASE = 4
_TIDY_SECONDS = 10.0
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of how long servers and runs are waited for, and what is kept.

    Attributes:
        lease_seconds: After how long a silence a server counts as dead.
        unserved_seconds: How long a run waits while no server has its agent.
        retention: What is kept of finished runs.
    """

    lease_seconds: float
    unserved_seconds: float
    retention: Retention


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearers:
    """The hearers of what a keeper does.

    Attributes:
        look: Looks whether others have written anything, should word of it have been lost on its way.
        on_ended: Hears of runs that were ended because nobody can go on with them.
        tallies: Where counts of what is in the database go.
    """

    look: Callable[[], None]
    on_ended: Callable[[sa.Row[Any], Ending, Event], None]
    tallies: Tallies


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
        terms: Terms,
    ) -> None:
        self._server = server
        self._writer = writer
        self._readers = readers
        self._lease_seconds = terms.lease_seconds
        self._unserved_seconds = terms.unserved_seconds
        self._retention = terms.retention
        self._unserved: Mapping[str, float] = {}
        self._must_wipe = False

    async def enter(self) -> None:
        """Enter the server, or wait until those that are in its way are sure to be dead.

        Raises:
            ServerNameTakenError: If who has its name lives.
            StorageError: If who has not got the key under which it seals lives.
        """
        watch = LeaseWatch(lease_seconds=self._lease_seconds)
        seen: set[tuple[str, str, int]] = set()
        while in_the_way := await self._writer.write(
            lambda write: servers.enter(write, self._server)
        ):
            names = {one.name for one in in_the_way}
            beats = [one for one in await self._read_beats() if one.server.name in names]
            seen |= {(one.server.name, one.server.token, one.number) for one in beats}
            living = [one for one in in_the_way if sum(name == one.name for name, _, _ in seen) > 1]
            if living:
                raise self._refuse(living[0])
            await self._take_over(watch.find_silent(beats, now=_now()))
            await self._sleep()

    def _refuse(self, other: Server) -> StorageError:
        if other.name == self._server.name:
            return ServerNameTakenError(
                f"server_name: expected a name that no living server has, got {other.name}"
            )
        return StorageError(
            f"storage_keys: expected a first key that all living servers have, and {other.name} has it not;"
            " give it to each behind the old one first, or stop them"
        )

    async def leave(self) -> None:
        """Take out the server, unless the database is away: then the others will see that it is silent."""
        leaving = self._writer.submit(lambda write: servers.leave(write, self._server))
        await asyncio.wait([leaving], timeout=0 if self._writer.is_away else PATIENCE_SECONDS)

    async def keep(self, dispatcher: Dispatcher, hearers: Hearers) -> None:
        """Show that this server lives, and take over from others that do not, until it is cancelled."""
        watch = LeaseWatch(lease_seconds=self._lease_seconds)
        beats = Trials("this server could not show that it lives")
        looks = Trials("it could not be seen which other servers live")
        while True:
            await self._sleep()
            with beats.made():
                await self._beat(dispatcher)
            with looks.made():
                silent = watch.find_silent(await self._read_beats(), now=_now())
                await self._take_over([one for one in silent if one.server != self._server])
            hearers.look()

    async def _beat(self, dispatcher: Dispatcher) -> None:
        if await self._writer.submit(lambda write: servers.beat(write, self._server)):
            return
        dispatcher.give_up_all()
        if in_the_way := await self._writer.submit(
            lambda write: servers.enter(write, self._server)
        ):
            raise self._refuse(in_the_way[0])
        _logger.warning("others took this server for dead; it has begun anew")

    async def tidy(self, hearers: Hearers) -> None:
        """Keep the database in bounds and count what is in it, until it is cancelled."""
        trials = Trials("the database could not be kept tidy")
        while True:
            with trials.made():
                await self._end_stranded(hearers)
                await self._tidy(hearers.tallies)
            await asyncio.sleep(min(_TIDY_SECONDS, self._lease_seconds))

    async def _end_stranded(self, hearers: Hearers) -> None:
        executor, seconds = self._server.executor, self._unserved_seconds
        ended = list(await self._maintain(lambda write: housekeeping.end_stranded(write, executor)))
        with suppress(DatabaseAwayError):
            unserved = await self._readers.read(
                lambda connection: housekeeping.read_unserved(connection, executor)
            )
            self._unserved = {name: self._unserved.get(name, _now()) for name in unserved}
            if due := [name for name, since in self._unserved.items() if _now() - since >= seconds]:
                ended += await self._maintain(
                    lambda write: housekeeping.end_unserved(write, executor, due, seconds=seconds)
                )
        for row, ending, event in ended:
            hearers.on_ended(row, ending, event)

    async def _tidy(self, tallies: Tallies) -> None:
        executor = self._server.executor
        with suppress(DatabaseAwayError):
            counted = await self._readers.read(
                lambda connection: housekeeping.count(connection, executor)
            )
            tallies.take(counted)
        while await self._maintain(lambda write: housekeeping.prune(write, self._retention)):
            self._must_wipe = True
            await self._sleep_between()
        while await self._writer.submit(housekeeping.free_space):
            await self._sleep_between()
        while await self._maintain(housekeeping.seal_anew):
            self._must_wipe = True
            await self._sleep_between()
        with suppress(DatabaseAwayError):
            if self._must_wipe:
                self._must_wipe = not await self._readers.read(housekeeping.wipe_log)

    async def _maintain[Result](self, work: Operation[Result]) -> Result:
        """Do what looks at all of the database, which may be large."""

        def unhurried(write: Write) -> Result | Exception:
            lift_limits(write.connection)
            return work(write)

        return await self._writer.submit(unhurried)

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
