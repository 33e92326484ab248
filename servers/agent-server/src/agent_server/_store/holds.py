"""Writing for a run that one holds.

It is fenced: each statement checks that the run still belongs to its owner, in this attempt. An owner that was taken
for dead and wakes up finds that nothing it writes is stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from agent_server.executor import Waiting

from . import contents
from .clock import clock
from .endings import RunEnding, cancelled, end_idle, forget_part, write_end, write_events
from .records import Event, decrypt_text, dump_events
from .schema import runs, steps
from .webhook_messages import notify
from .writer import Write


# Statements that every run needs are built once: building one takes longer than executing it.
IS_HELD = (
    (runs.c.seq == sa.bindparam("claimed"))
    & (runs.c.status == "running")
    & (runs.c.server == sa.bindparam("owner"))
    & (runs.c.attempt == sa.bindparam("current"))
)
"""Whether a run is held by the owner whose `Hold.fence` the parameters are."""

_FIND_CLAIMED = (
    sa.select(runs.c.last_event, runs.c.bytes, runs.c.cancel_requested)
    .where(IS_HELD)
    .with_for_update()
)
_GROW = (
    sa.update(runs)
    # The batch has to follow the stored events, so a repeated commit changes nothing.
    .where(IS_HELD, runs.c.last_event == sa.bindparam("before"))
    .values(last_event=sa.bindparam("newest"), bytes=runs.c.bytes + sa.bindparam("more"))
)
# A repeated commit finds the step recorded. SQLite takes this form of insert, too.
_RECORD = insert(steps).on_conflict_do_nothing()
_FIND_STEP = sa.select(steps.c.result).where(
    steps.c.run == sa.bindparam("claimed"), steps.c.key == sa.bindparam("named")
)

_WAIT = (
    sa.update(runs)
    .where(runs.c.seq == sa.bindparam("waits"))
    .values(
        status="waiting",
        server=None,
        losses=0,
        waiting_since=clock(runs.c.created_at),
        part_attempt=runs.c.attempt,
        answer=None,
        **{
            name: sa.bindparam(name)
            for name in ("wait_id", "question", "state", "last_event", "bytes")
        },
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """The right to write for a run, which is the owner's until another takes it over.

    Attributes:
        seq: The run's number in the store.
        server: The name of the owner.
        attempt: The number of the attempt.
    """

    seq: int
    server: str
    attempt: int

    @property
    def fence(self) -> Mapping[str, Any]:
        """The parameters with which a statement finds the run only while the owner holds it."""
        return {"claimed": self.seq, "owner": self.server, "current": self.attempt}


def append(write: Write, hold: Hold, emitted: Sequence[Event]) -> bool:
    """Store events of a run, and return whether the run still belongs to this server."""
    body = write.encryption.encrypt(dump_events(emitted))
    first, last = emitted[0].number, emitted[-1].number
    values = {**hold.fence, "before": first - 1, "newest": last, "more": len(body)}
    if write.connection.execute(_GROW, values).rowcount == 0:
        # A commit of unknown outcome is tried again, and may have succeeded the first time.
        row = find(write, hold)
        return row is not None and row[runs.c.last_event] >= last
    write_events(write, hold.seq, emitted, body)
    return True


def record_step(
    write: Write, hold: Hold, key: str, result: bytes, emitted: Sequence[Event]
) -> bool:
    """Store the result of a step with the events before it, and return whether the run still belongs to this server."""
    is_claimed = append(write, hold, emitted) if emitted else find(write, hold) is not None
    if is_claimed:
        values = {"run": hold.seq, "key": key, "result": write.encryption.encrypt(result)}
        write.connection.execute(_RECORD, values)
    return is_claimed


def end(write: Write, hold: Hold, ending: RunEnding, emitted: list[Event]) -> bool:
    """Store the end of a run, and return whether it still belonged to this server.

    A repeated commit whose first outcome was unknown may find the run ended, and counts as no longer belonging to this server.

    Args:
        write: The transaction.
        hold: The right to it.
        ending: How the run ends.
        emitted: The events that are not stored yet; the last one is that of the end.
    """
    row = find(write, hold)
    if row is None:
        return False
    write_end(write, hold.seq, ending, emitted, stored_bytes=row[runs.c.bytes])
    return True


def wait(
    write: Write, hold: Hold, waiting: Waiting, wait_id: str, emitted: Sequence[Event]
) -> bool:
    """Store that a run waits, with what it continues from, and return whether it still belonged to this server.

    Args:
        write: The transaction.
        hold: The right to it.
        waiting: What it waits for.
        wait_id: The id of the wait.
        emitted: The events that are not stored yet; the last one is `run_waiting`.
    """
    row = find(write, hold)
    if row is None:
        return False
    body = write.encryption.encrypt(dump_events(emitted))
    write_events(write, hold.seq, emitted, body)
    state = write.encryption.encrypt(waiting.state)
    forget_part(write, hold.seq, is_over=False)
    contents.keep_apart(write.connection, hold.seq, state=state)
    values = {
        "waits": hold.seq,
        "wait_id": wait_id,
        "question": write.encryption.encrypt_json(asdict(waiting.request)),
        "state": contents.in_row(state),
        "last_event": emitted[-1].number,
        "bytes": row[runs.c.bytes] + len(body),
    }
    write.connection.execute(_WAIT, values)
    notify(write, hold.seq, "waiting", wait_id=wait_id)
    if row[runs.c.cancel_requested]:
        # Since no server has it any more, none would hear of the cancel.
        waits = write.connection.execute(sa.select(runs).where(runs.c.seq == hold.seq)).one()
        end_idle(write, waits, cancelled(decrypt_text(waits.cancel_reason, write.encryption)))
    return True


def has_waiting(write: Write, tenant: str, maximum: int) -> bool:
    """Return whether at least so many runs of a tenant wait."""
    waiting = sa.select(runs.c.seq).where(
        runs.c.status == "waiting", runs.c.finished_at.is_(None), runs.c.tenant == tenant
    )
    # Only whether there are that many: counting all of them would take long.
    return write.connection.execute(waiting.offset(maximum - 1).limit(1)).first() is not None


def read_step(write: Write, hold: Hold, key: str) -> bytes:
    """Return the result of a recorded step."""
    return write.encryption.decrypt(find_step(write, hold, key) or b"")


def find(write: Write, hold: Hold) -> sa.RowMapping | None:
    """Return how far a run's events go, how large it is and whether it is to be cancelled; None if it is not held any more."""
    return write.connection.execute(_FIND_CLAIMED, hold.fence).mappings().one_or_none()


def find_step(write: Write, hold: Hold, key: str) -> bytes | None:
    """Return the result of a step in its stored form; None if it is not recorded."""
    return write.connection.scalar(_FIND_STEP, {"claimed": hold.seq, "named": key})
