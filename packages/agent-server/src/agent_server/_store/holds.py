"""Runs that a server holds: claimed, told of, their steps recorded, and let go, each only as long as they are its own."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from agent_server.executor import RunResult

from .clock import clock
from .endings import Ending, cancelled, end_waiting, with_result, write_end, write_events
from .errors import StorageError
from .records import Event, dump_events, dump_json, load_text, now
from .schema import runs, servers, steps
from .sealing import Seal
from .signals import QUEUED
from .writer import Write


# Statements of every run are built once: building one takes longer than executing it.
_IS_HELD = (
    (runs.c.seq == sa.bindparam("held"))
    & (runs.c.status == "running")
    & (runs.c.server == sa.bindparam("holder"))
    & (runs.c.attempt == sa.bindparam("current"))
)
_FIND_HELD = sa.select(runs.c.last_event, runs.c.bytes).where(_IS_HELD).with_for_update()
_GROW = (
    sa.update(runs)
    .where(_IS_HELD, runs.c.last_event == sa.bindparam("before"))
    .values(last_event=sa.bindparam("newest"), bytes=runs.c.bytes + sa.bindparam("more"))
)
_BEGIN = (
    sa.update(runs)
    .where(runs.c.seq == sa.bindparam("found"))
    .values(
        status="running",
        server=sa.bindparam("holder"),
        version=sa.bindparam("understood"),
        attempt=runs.c.attempt + 1,
        started_at=sa.func.coalesce(runs.c.started_at, clock(runs.c.created_at)),
        last_event=sa.bindparam("newest"),
        bytes=runs.c.bytes + sa.bindparam("more"),
    )
)
_FIND_WAITING = (
    sa.select(runs)
    .where(
        runs.c.executor == sa.bindparam("kind"),
        runs.c.agent.in_(sa.bindparam("served", expanding=True)),
        runs.c.status == "queued",
        runs.c.finished_at.is_(None),
        (runs.c.attempt == 0) | (runs.c.version == sa.bindparam("understood")),
    )
    .order_by(runs.c.seq)
    .limit(sa.bindparam("most"))
    .with_for_update(skip_locked=True)
)
# Whoever takes a server out waits for the lock, and then finds what it has claimed.
_FIND_ENTRY = (
    sa.select(servers.c.name)
    .where(servers.c.name == sa.bindparam("holder"), servers.c.token == sa.bindparam("entered_as"))
    .with_for_update(read=True, key_share=True)
)
_FIND_STEP = sa.select(steps.c.result).where(
    steps.c.run == sa.bindparam("held"), steps.c.key == sa.bindparam("named")
)

_UNREADABLE = RunResult(
    status="failed",
    error="what was stored of it cannot be read any more",
    error_type="unreadable",
)

type Verdict = Callable[[str, int], RunResult | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The server that claims runs.

    Attributes:
        server: The name of the server.
        token: Tells it from a later one of the same name.
        executor: The kind of runs that it executes.
        version: Of the steps that its executor understands.
        agents: The names of those that it has; runs of others are left for others.
        max_attempts: How many servers may die under a run.
        interrupted: What becomes of a run that was begun before, by its id and how often; None to begin it again.
    """

    server: str
    token: str
    executor: str
    version: str
    agents: Collection[str]
    max_attempts: int
    interrupted: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """An attempt to execute a run, which is this server's as long as nobody takes it over.

    Attributes:
        seq: The run's number in the store.
        run_id: Its id.
        tenant: Whose it is.
        agent: The agent's name.
        request: As it was accepted, in JSON.
        metadata: As the client gave it.
        server: Who holds it.
        attempt: The number of this attempt.
        started: The event that told of the attempt.
        told_bytes: What its events and request take up to here.
        recorded: The keys of the steps that earlier attempts recorded.
    """

    seq: int
    run_id: str
    tenant: str
    agent: str
    request: bytes
    metadata: Mapping[str, str]
    server: str
    attempt: int
    started: Event
    told_bytes: int
    recorded: frozenset[str]

    @property
    def fence(self) -> Mapping[str, Any]:
        """What tells in a statement that the run is still held."""
        return {"held": self.seq, "holder": self.server, "current": self.attempt}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run that was ended instead of being begun again.

    Attributes:
        seq: The run's number in the store.
        tenant: Whose it is.
        ending: How it ended.
        event: What told of it.
        started_at: When it was first begun, in microseconds since 1970; when it ended, if it never was.
    """

    seq: int
    tenant: str
    ending: Ending
    event: Event
    started_at: int


def claim(
    write: Write, holder: Holder, *, limit: int, held: Collection[int]
) -> Sequence[Hold | Ended]:
    """Take the oldest runs that wait; none for a server that others took for dead, before it has entered again.

    Args:
        write: The transaction.
        holder: Who takes them.
        limit: At most how many.
        held: The runs that the server knows it holds. Others that the store says are its own were claimed by a transaction of which it
            never heard whether it was committed: they count as interrupted.
    """
    entry = {"holder": holder.server, "entered_as": holder.token}
    if write.connection.scalar(_FIND_ENTRY, entry) is None:
        return []
    unknown = (runs.c.server == holder.server) & runs.c.seq.not_in(sorted(held))
    _requeue(write, unknown, is_lost=True)
    wanted = {
        "kind": holder.executor,
        "served": sorted(holder.agents),
        "understood": holder.version,
        "most": limit,
    }
    waiting = write.connection.execute(_FIND_WAITING, wanted).all()
    return [_begin(write, row, holder) for row in waiting]


def _begin(write: Write, row: sa.Row[Any], holder: Holder) -> Hold | Ended:
    ending = _refuse(row, holder, write.seal) if row.attempt else None
    content = _read(row, write.seal)
    if content is None or ending is not None:
        ending = ending or with_result(_UNREADABLE)
        event = end_waiting(write, row, ending)
        return Ended(
            seq=row.seq,
            tenant=row.tenant,
            ending=ending,
            event=event,
            started_at=row.started_at or event.created_at,
        )
    attempt = row.attempt + 1
    started = Event(
        number=row.last_event + 1,
        type="run_started",
        created_at=now(),
        text=dump_json({"attempt": attempt}),
    )
    body = write.seal.close(dump_events([started]))
    write_events(write, row.seq, [started], body)
    values = {
        "found": row.seq,
        "holder": holder.server,
        "understood": holder.version,
        "newest": started.number,
        "more": len(body),
    }
    write.connection.execute(_BEGIN, values)
    recorded = sa.select(steps.c.key).where(steps.c.run == row.seq)
    keys = write.connection.execute(recorded).scalars().all() if row.attempt else ()
    return Hold(
        seq=row.seq,
        run_id=row.run_id,
        tenant=row.tenant,
        agent=row.agent,
        request=content[0],
        metadata=content[1],
        server=holder.server,
        attempt=attempt,
        started=started,
        told_bytes=row.bytes + len(body),
        recorded=frozenset(keys),
    )


def _read(row: sa.Row[Any], seal: Seal) -> tuple[bytes, Mapping[str, str]] | None:
    """Return the request, in JSON, and the metadata of a run; None if something has changed what was stored, for all keys are there."""
    try:
        return seal.open(row.request), json.loads(seal.open(row.metadata))
    except StorageError:
        return None


def _refuse(row: sa.Row[Any], holder: Holder, seal: Seal) -> Ending | None:
    if row.cancel_requested:
        return cancelled(load_text(row.cancel_reason, seal))
    result = holder.interrupted(row.run_id, row.attempt)
    if result is None and row.losses >= holder.max_attempts:
        result = RunResult(
            status="failed",
            error=f"its server died {row.losses} times while the run was executed",
            error_type="interrupted",
        )
    return None if result is None else with_result(result)


def append(write: Write, hold: Hold, told: Sequence[Event]) -> bool:
    """Store events of a run, and return whether it is still held."""
    body = write.seal.close(dump_events(told))
    first, last = told[0].number, told[-1].number
    values = {**hold.fence, "before": first - 1, "newest": last, "more": len(body)}
    if write.connection.execute(_GROW, values).rowcount == 0:
        # A commit of which nobody heard whether it was done is tried again.
        row = _find(write, hold)
        return row is not None and row[runs.c.last_event] >= last
    write_events(write, hold.seq, told, body)
    return True


def record_step(write: Write, hold: Hold, key: str, result: bytes, told: Sequence[Event]) -> bool:
    """Store what a step came to, with the events that it told, and return whether the run is still held."""
    is_held = append(write, hold, told) if told else _find(write, hold) is not None
    if is_held and _find_step(write, hold, key) is None:
        values = {"run": hold.seq, "key": key, "result": write.seal.close(result)}
        write.connection.execute(sa.insert(steps), values)
    return is_held


def end(write: Write, hold: Hold, ending: Ending, told: Sequence[Event]) -> bool:
    """Store the end of a run, and return whether it was still held.

    A commit of which nobody heard whether it was done finds the run ended, and counts as no longer held.

    Args:
        write: The transaction.
        hold: The attempt.
        ending: How the run ends.
        told: What is not stored yet of its events; the last one is that of the end.
    """
    row = _find(write, hold)
    if row is None:
        return False
    write_end(write, hold.seq, ending, told, stored_bytes=row[runs.c.bytes])
    return True


def let_go(write: Write, hold: Hold, told: Sequence[Event]) -> bool:
    """Put a run back into the queue, with what it told, for another attempt or another server; return whether it was still held."""
    is_held = append(write, hold, told) if told else True
    mine = (runs.c.seq == hold.seq) & (runs.c.attempt == hold.attempt)
    # Whoever stops in good order has not died of the run.
    return _requeue(write, mine & (runs.c.server == hold.server), is_lost=False) and is_held


def take_from(write: Write, names: Sequence[str], *, is_lost: bool) -> None:
    """Put all runs of servers back into the queue.

    Args:
        write: The transaction.
        names: Of the servers.
        is_lost: Whether they have died, which is counted.
    """
    _requeue(write, runs.c.server.in_(names), is_lost=is_lost)


def read_step(write: Write, hold: Hold, key: str) -> bytes:
    """Return what a recorded step came to."""
    return write.seal.open(_find_step(write, hold, key) or b"")


def read_cancelled(connection: sa.Connection, server: str, seal: Seal) -> dict[int, str | None]:
    """Return the runs of a server of which the end was asked for, and why."""
    statement = sa.select(runs.c.seq, runs.c.cancel_reason).where(
        runs.c.server == server,
        runs.c.status == "running",
        runs.c.finished_at.is_(None),
        runs.c.cancel_requested,
    )
    return {row.seq: load_text(row.cancel_reason, seal) for row in connection.execute(statement)}


def _find(write: Write, hold: Hold) -> sa.RowMapping | None:
    return write.connection.execute(_FIND_HELD, hold.fence).mappings().one_or_none()


def _find_step(write: Write, hold: Hold, key: str) -> bytes | None:
    return write.connection.scalar(_FIND_STEP, {"held": hold.seq, "named": key})


def _requeue(write: Write, which: sa.ColumnElement[bool], *, is_lost: bool) -> bool:
    statement = (
        sa.update(runs)
        .where(which, runs.c.status == "running", runs.c.finished_at.is_(None))
        .values(status="queued", server=None, losses=runs.c.losses + int(is_lost))
    )
    if write.connection.execute(statement).rowcount == 0:
        return False
    write.signals.add(QUEUED)
    return True
