"""The heartbeat, which shows that this server is alive, and takes over the runs of servers that are not."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from agent_server._store import servers
from agent_server._store.errors import StorageError
from agent_server._store.fault_log import FaultLog
from agent_server._store.pulse import PATIENCE_SECONDS
from agent_server._store.servers import Beat, LeaseWatch, Server

from .dispatcher import Dispatcher
from .parts import Parts
from .presence import Presence


_logger = logging.getLogger("agent_server")

_BEATS_A_LEASE = 4  # A busy server may miss some and still counts as alive.
# Between looks of a server that waits to enter: others may take over from its predecessor at any time.
_ENTRY_SECONDS = 0.5


class ServerNameTakenError(StorageError):
    """A server name that a living server of the database has already."""


class Heartbeat:
    """The heartbeat of a server, and its watch over those of others."""

    def __init__(self, parts: Parts, presence: Presence | None) -> None:
        self._presence = presence
        self._server = parts.server
        self._writer = parts.writer
        self._readers = parts.readers
        self._lease_seconds = parts.settings.lease_seconds

    async def enter(self) -> None:
        """Register the server, once conflicting servers are certain to be dead.

        Raises:
            ServerNameTakenError: If a living server has its name.
            StorageError: If a living server does not have the key that it encrypts with.
        """
        watch = LeaseWatch(lease_seconds=self._lease_seconds)
        seen: set[tuple[str, str, int]] = set()
        await self._take_over(self._find_gone(await self._read_beats()))
        while rivals := await self._writer.write(servers.enter, self._server):
            names = {one.name for one in rivals}
            beats = [one for one in await self._read_beats() if one.server.name in names]
            seen |= {(one.server.name, one.server.token, one.number) for one in beats}
            # A server whose number was seen to change is alive.
            living = [one for one in rivals if sum(name == one.name for name, _, _ in seen) > 1]
            if living:
                raise self._refuse(living[0])
            lost = [*self._find_gone(beats), *watch.find_silent(beats, now=_now())]
            await self._take_over(lost)
            await asyncio.sleep(min(_ENTRY_SECONDS, self._lease_seconds / _BEATS_A_LEASE))

    def _refuse(self, other: Server) -> StorageError:
        if other.name == self._server.name:
            return ServerNameTakenError(
                f"server_name: {other.name} is already used by a running server"
            )
        return StorageError(
            f"storage_keys: expected a first key that all living servers have, but {other.name} has no such key;"
            " add it behind the old one on every server first, or stop them all"
        )

    async def leave(self) -> None:
        """Deregister the server; if the database is away, the others will notice its silence."""
        leaving = self._writer.submit(servers.leave, self._server)
        await asyncio.wait([leaving], timeout=0 if self._writer.is_away else PATIENCE_SECONDS)

    async def keep(self, dispatcher: Dispatcher, look: Callable[[], None]) -> None:
        """Beat, and take over from servers that no longer do, until it is cancelled.

        Args:
            dispatcher: Executes the runs, which are lost if other servers took this one for dead.
            look: Called with each beat to look for what others have written, in case a signal was lost.
        """
        watch = LeaseWatch(lease_seconds=self._lease_seconds)
        unshown = FaultLog("this server could not show that it lives")
        unseen = FaultLog("this server could not see which others live")
        while True:
            await self._sleep()
            with unshown.suppressing():
                await self._beat(dispatcher)
            with unseen.suppressing():
                # This server may look silent itself, while it could not write its own beats.
                beats = await self._read_beats()
                lost = [*self._find_gone(beats), *watch.find_silent(beats, now=_now())]
                await self._take_over([one for one in lost if one.server != self._server])
            look()

    async def _beat(self, dispatcher: Dispatcher) -> None:
        if await self._writer.submit(servers.beat, self._server):
            return
        # The runs belong to other servers already. Only when all of them are given up may this server
        # register again and claim new ones.
        dispatcher.give_up_all()
        if rivals := await self._writer.submit(servers.enter, self._server):
            raise self._refuse(rivals[0])
        _logger.warning("others took this server for dead; it has registered again")

    def _find_gone(self, beats: Sequence[Beat]) -> list[Beat]:
        """Return the servers whose processes have ended, as far as that can be known."""
        if self._presence is None:  # pragma: no cover - nox -s postgresql
            return []
        return [one for one in beats if self._presence.is_gone(one.server.token)]

    async def _take_over(self, lost: Sequence[Beat]) -> None:
        taken = [one for one in lost if await self._writer.submit(servers.take_over, one)]
        for one in taken:
            _logger.warning("server %s is gone or silent, its runs wait again", one.server.name)

    async def _read_beats(self) -> list[Beat]:
        return await self._readers.read(servers.read_beats)

    async def _sleep(self) -> None:
        await asyncio.sleep(self._lease_seconds / _BEATS_A_LEASE)


def _now() -> float:
    return asyncio.get_running_loop().time()
