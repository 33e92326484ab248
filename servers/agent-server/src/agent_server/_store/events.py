"""Reading the events of runs."""

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from agent_server.runs import RESTING, StoredEvent

from .encryption import Encryption
from .records import load_events
from .schema import events, runs


# A batch takes 4 kB unless one event is larger, so the first batches show how large those of a run are.
_FIRST_BATCHES = 4
_MOST_BATCHES = 64
_MOST_BYTES = 256 * 1024

# Statements that every run needs are built once: building one takes longer than executing it.
_IS_OF = events.c.run == sa.bindparam("found")
_POSITION = sa.bindparam("position", type_=sa.BigInteger)
# Where the batch with the next event begins, as a lower bound for an index.
_FIRST = sa.select(sa.func.max(events.c.first)).where(_IS_OF, events.c.first <= _POSITION + 1)
_READ = (
    sa.select(events.c.first, events.c.last, events.c.body)
    .where(
        _IS_OF,
        events.c.first >= sa.func.coalesce(_FIRST.scalar_subquery(), 1),
        events.c.last > _POSITION,
    )
    .order_by(events.c.first)
    .limit(sa.bindparam("together", type_=sa.Integer))
)
_REACH = sa.select(runs.c.seq, runs.c.last_event, runs.c.status).where(
    runs.c.seq.in_(sa.bindparam("found", expanding=True))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The newest event of a run, and whether more will come.

    Attributes:
        last: The number of the newest.
        is_resting: Whether no more will come by itself: the run has ended, or waits.
    """

    last: int
    is_resting: bool


def read_events(
    connection: sa.Connection, seq: int, *, after: int, limit: int, encryption: Encryption
) -> list[StoredEvent]:
    """Return the events of a run after a number, at most `limit`; fewer if they take more than 256 KiB, but at least one if there is one."""
    found: list[StoredEvent] = []
    position, size = after, 0
    together = min(limit, _FIRST_BATCHES)
    while len(found) < limit and size < _MOST_BYTES:
        values = {"found": seq, "position": position, "together": together}
        rows = connection.execute(_READ, values).all()
        for row in rows:
            if len(found) >= limit or size >= _MOST_BYTES:
                break
            size += len(row.body)
            batch = load_events(row.first, encryption.decrypt(row.body))
            found += [event for event in batch if event.number > position]
            position = row.last
        if len(rows) < together:
            break
        together = min(together * 2, _MOST_BATCHES)
    return found[:limit]


def read_reaches(connection: sa.Connection, seqs: Collection[int]) -> dict[int, Reach]:
    """Return how far the events of runs go; deleted runs are left out."""
    return {
        row.seq: Reach(last=row.last_event, is_resting=row.status in RESTING)
        for row in connection.execute(_REACH, {"found": sorted(seqs)})
    }
