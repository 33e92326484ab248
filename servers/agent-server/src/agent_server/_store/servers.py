"""The servers of a database: which of them are alive, and the runs of those that are not.

A living server keeps increasing a number in the database. The others measure its silence with their own clocks, so the clocks of
different machines need not agree.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import sqlalchemy as sa

from .encryption import check_keys, enter_key
from .schema import runs, servers
from .signals import QUEUED
from .writer import Write


TABLES: Final = "tables"
"""The engine whose servers execute runs by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server, as other servers see it.

    Attributes:
        name: Its name.
        token: Distinguishes it from a later server of the same name.
        executor: The kind of runs that it executes.
        version: The version of steps that its executor understands.
        key_id: The id of the key that it encrypts with.
        keys: The ids of all keys that it has.
        agents: The names of its agents; more may be added.
        engine: The engine that executes the runs that it accepts.
        agent_versions: The versions of the states of those agents that have versions of their own.
    """

    name: str
    token: str
    executor: str
    version: str
    key_id: str
    keys: tuple[str, ...]
    agents: set[str] = field(compare=False)
    engine: str = field(default=TABLES, compare=False)
    agent_versions: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)

    def version_of(self, agent: str) -> str:
        """Return the version of a run of an agent that is begun here."""
        own = self.agent_versions.get(agent)
        return self.version if own is None else f"{self.version} {agent} {own}"

    @property
    def versions(self) -> Sequence[str]:
        """The versions of runs that it can continue with."""
        return [self.version, *map(self.version_of, self.agent_versions)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """The latest heartbeat of a server.

    Attributes:
        server: The server.
        number: The growing number.
    """

    server: Server
    number: int


def enter(write: Write, server: Server) -> Sequence[Server]:
    """Register a server, or return the servers that prevent it: one with the same name, and those without its key.

    Raises:
        StorageError: If it lacks a key of stored content.
    """
    check_keys(write.connection, write.encryption)
    others = [one.server for one in read_beats(write.connection)]
    rivals = [one for one in others if one.name == server.name or server.key_id not in one.keys]
    if rivals:
        return rivals
    enter_key(write.connection, write.encryption)
    values = {
        **{name: getattr(server, name) for name in ("name", "token", "executor", "version")},
        "key_id": server.key_id,
        "keys": ",".join(server.keys),
        "agents": _dump(server.agents),
        "versions": _dump(server.versions),
        "beat": 0,
    }
    write.connection.execute(sa.insert(servers).values(values))
    # Running runs under this name belong to a server that is gone.
    requeue(write, have_runs([server.name]), is_lost=True)
    return []


def beat(write: Write, server: Server) -> bool:
    """Increase a server's beat, and return whether it is still registered."""
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
    # Nothing is taken from a server that is not registered any more or has shown that it lives.
    requeue(write, have_runs([name] if is_removed else []), is_lost=is_lost)
    return is_removed


def have_runs(names: Collection[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a run is one of some servers: an owner of another engine's runs may have the name of one."""
    return (runs.c.engine == TABLES) & runs.c.server.in_(names)


def requeue(write: Write, which: sa.ColumnElement[bool], *, is_lost: bool) -> bool:
    """Put running runs back into the queue, and return whether there were any; with `is_lost`, the death of their server is counted."""
    statement = (
        sa.update(runs)
        .where(which, runs.c.status == "running", runs.c.finished_at.is_(None))
        .values(status="queued", server=None, losses=runs.c.losses + int(is_lost))
    )
    if write.connection.execute(statement).rowcount == 0:
        return False
    write.signals.add(QUEUED)
    return True


def _dump(texts: Iterable[str]) -> str:
    return json.dumps(sorted(texts))


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
    """A watch over servers, which finds those that have been silent for too long."""

    def __init__(self, *, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._looked_at: float | None = None
        self._seen: Mapping[tuple[str, str], tuple[int, float]] = {}

    def find_silent(self, beats: list[Beat], *, now: float) -> list[Beat]:
        """Return the servers whose beat has not grown for the time of a lease.

        If this server could not look for half of that time, because the database was away or the process was suspended, it starts anew: the
        others may have been just as unable to show that they are alive.

        Args:
            beats: The beats as they are now.
            now: The time of a monotonic clock, in seconds.
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
