"""Which of the servers on one database are alive.

A living server lets a number grow in the database. Whoever watches measures the silence with a clock of its own, so
clocks need not agree between machines.
"""

from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from .database import leases


class LeaseTable:
    """The beats of all servers on a database."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def beat(self, executor_id: str) -> None:
        """Show that a server is alive."""
        grow = (
            sa.update(leases)
            .where(leases.c.executor_id == executor_id)
            .values(beat=leases.c.beat + 1)
        )
        with self._engine.begin() as connection:
            if connection.execute(grow).rowcount == 0:
                row = {"executor_id": executor_id, "beat": 0}
                connection.execute(sa.insert(leases).values(row))

    def drop(self, executor_ids: Iterable[str]) -> None:
        """Remove servers from the table: they have stopped, or others have taken over their runs."""
        with self._engine.begin() as connection:
            connection.execute(
                sa.delete(leases).where(leases.c.executor_id.in_(list(executor_ids)))
            )

    def read_beats(self) -> dict[str, int]:
        """Return the beat of each server."""
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(leases.c.executor_id, leases.c.beat))
            return {row.executor_id: row.beat for row in rows}


class LeaseWatch:
    """A watch for servers that have been silent for too long."""

    def __init__(self, *, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._seen: dict[str, tuple[int, float]] = {}

    def find_silent(self, beats: Mapping[str, int], *, now: float) -> frozenset[str]:
        """Return the servers of which the beat has not grown for the time of a lease.

        Args:
            beats: The beats as they are now.
            now: The time by a clock that never goes back, in seconds.
        """
        self._seen = {
            executor_id: self._last_seen(executor_id, beat, now)
            for executor_id, beat in beats.items()
        }
        return frozenset(
            executor_id
            for executor_id, (_, since) in self._seen.items()
            if now - since >= self._lease_seconds
        )

    def _last_seen(self, executor_id: str, beat: int, now: float) -> tuple[int, float]:
        seen = self._seen.get(executor_id)
        return seen if seen is not None and seen[0] == beat else (beat, now)
