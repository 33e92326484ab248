"""The servers of a database: which of them are alive, and the runs of those that are not.

A living server lets a number grow in the database. Who watches measures the silence with a clock of its own, so clocks need not agree
between machines.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import sqlalchemy as sa

from .encryption import check_keys, enter_key
from .schema import runs, servers
from .signals import QUEUED
from .writer import Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server, as the others see it.

    Attributes:
        name: Its name.
        token: Tells it from a later one of the same name.
        executor: The kind of runs that it executes.
        version: Of the steps that its executor understands.
        key_id: Of the key with which it encrypts.
        keys: The ids of all keys that it has.
        agents: The names of the agents that it has; more may come.
    """

    name: str
    token: str
    executor: str
    version: str
    key_id: str
    keys: tuple[str, ...]
    agents: set[str] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """The last sign of life of a server.

    Attributes:
        server: The server.
        number: The number that grows.
    """

    server: Server
    number: int


def enter(write: Write, server: Server) -> Sequence[Server]:
    """Register a server, or return the servers in its way: one with its name, and those without its key.

    Raises:
        StorageError: If it has not got the keys of all that is stored.
    """
    check_keys(write.connection, write.encryption)
    others = [one.server for one in read_beats(write.connection)]
    rivals = [one for one in others if one.name == server.name or server.key_id not in one.keys]
    if rivals:
        return rivals
    enter_key(write.connection, write.encryption)
    lists = {"keys": ",".join(server.keys), "agents": _dump(server.agents)}
    write.connection.execute(sa.insert(servers).values(**asdict(server) | lists, beat=0))
    # Runs under this name are those of a server that is gone.
    requeue(write, runs.c.server == server.name, is_lost=True)
    return []


def beat(write: Write, server: Server) -> bool:
    """Let a server's beat grow, and return whether it is still registered."""
    grown = (
        sa.update(servers)
        .where(servers.c.name == server.name, servers.c.token == server.token)
        .values(beat=servers.c.beat + 1, agents=_dump(server.agents))
    )
    return write.connection.execute(grown).rowcount == 1


def leave(write: Write, server: Server) -> None:
    """Deregister a server that stops, and put its runs back into the queue."""
    mine = (servers.c.name == server.name) & (servers.c.token == server.token)
    _deregister(write, mine, server.name, is_lost=False)


def take_over(write: Write, silent: Beat) -> bool:
    """Deregister a silent server and put its runs back into the queue, and return whether it was still silent."""
    same = (
        (servers.c.name == silent.server.name)
        & (servers.c.token == silent.server.token)
        & (servers.c.beat == silent.number)
    )
    return _deregister(write, same, silent.server.name, is_lost=True)


def _deregister(write: Write, which: sa.ColumnElement[bool], name: str, *, is_lost: bool) -> bool:
    is_removed = write.connection.execute(sa.delete(servers).where(which)).rowcount == 1
    # Nothing is taken from who is no longer entered, or has come back to life.
    requeue(write, runs.c.server.in_([name] if is_removed else []), is_lost=is_lost)
    return is_removed


def requeue(write: Write, which: sa.ColumnElement[bool], *, is_lost: bool) -> bool:
    """Put running runs back into the queue, and return whether there were any; `is_lost` counts a death of their server."""
    statement = (
        sa.update(runs)
        .where(which, runs.c.status == "running", runs.c.finished_at.is_(None))
        .values(status="queued", server=None, losses=runs.c.losses + int(is_lost))
    )
    if write.connection.execute(statement).rowcount == 0:
        return False
    write.signals.add(QUEUED)
    return True


def _dump(agents: set[str]) -> str:
    return json.dumps(sorted(agents))


def read_beats(connection: sa.Connection) -> list[Beat]:
    """Return the beat of each server."""
    return [
        Beat(
            server=Server(
                name=row.name,
                token=row.token,
                executor=row.executor,
                version=row.version,
                key_id=row.key_id,
                keys=tuple(row.keys.split(",")),
                agents=set(json.loads(row.agents)),
            ),
            number=row.beat,
        )
        for row in connection.execute(sa.select(servers).order_by(servers.c.name))
    ]


class LeaseWatch:
    """A watch for servers that have been silent for too long."""

    def __init__(self, *, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._looked_at: float | None = None
        self._seen: Mapping[tuple[str, str], tuple[int, float]] = {}

    def find_silent(self, beats: list[Beat], *, now: float) -> list[Beat]:
        """Return the servers whose beat has not grown for the time of a lease.

        Who could not look for half of that time, because the database was away or the process stood still, begins anew: the others may
        have been as unable to show that they live.

        Args:
            beats: The beats as they are now.
            now: The time by a clock that never goes back, in seconds.
        """
        was_away = self._looked_at is None or now - self._looked_at > self._lease_seconds / 2
        seen: Mapping[tuple[str, str], tuple[int, float]] = {} if was_away else self._seen
        self._looked_at = now
        self._seen = {}
        for one in beats:
            key = (one.server.name, one.server.token)
            number, since = seen.get(key, (one.number, now))
            self._seen = {**self._seen, key: (one.number, since if number == one.number else now)}
        return [
            one
            for one in beats
            if now - self._seen[one.server.name, one.server.token][1] >= self._lease_seconds
        ]
