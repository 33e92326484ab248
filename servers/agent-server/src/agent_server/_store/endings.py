"""Ending runs: the last event and the last state, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from agent_server.executor import JsonObject, RunResult
from agent_server.runs import RunStatus

from . import contents
from .clock import clock
from .records import Event, dump_events
from .schema import events, marks, payloads, runs, steps
from .signals import EMITTED
from .steering import IS_STEERED, MOST, read_steered
from .webhook_messages import notify
from .writer import Write


# Statements that every run needs are built once: building one takes longer than executing it.
_INSERT_EVENTS = sa.insert(events)
_END = (
    sa.update(runs)
    .where(runs.c.seq == sa.bindparam("ended"))
    .values(
        request=None,
        wait_id=None,
        waiting_since=None,
        question=None,
        answer=None,
        finished_at=clock(sa.func.coalesce(runs.c.started_at, runs.c.created_at)),
        **{
            name: sa.bindparam(name)
            for name in ("status", "last_event", "result", "state", "bytes")
        },
    )
)
_STEPS, _MARKS, _APART = (
    sa.delete(table).where(table.c.run == sa.bindparam("over"))
    for table in (steps, marks, payloads)
)
# A list of names would be built into the statement each time that it is executed.
_IS_OF_PART = (payloads.c.id == "answer") | (payloads.c.id == "state")
_FORGET_RUN = [_STEPS, _MARKS, _APART.where(_IS_OF_PART | (payloads.c.id == "request"))]
# What the run was told and has not read yet, it reads when it goes on.
_FORGET_PART = [_STEPS.where(~IS_STEERED), _MARKS, _APART.where(_IS_OF_PART)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnding:
    """The end of a run.

    Attributes:
        status: Its last state.
        data: The data of its last event.
        result: The stored result; None for a cancelled run.
    """

    status: RunStatus
    data: JsonObject
    result: RunResult | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run that was ended while no server executed it.

    Attributes:
        seq: The run's number in the store.
        run_id: Its id.
        tenant: Its tenant.
        agent: The agent's name.
        ending: How it ended.
        event: The event of its end.
        started_at: When it was first begun, in microseconds since 1970, or when it ended if it never was.
    """

    seq: int
    run_id: str
    tenant: str
    agent: str
    ending: RunEnding
    event: Event
    started_at: int


def cancelled(reason: str | None, left: RunResult | None = None) -> RunEnding:
    """Return the end of a cancelled run.

    Args:
        reason: Why it was cancelled.
        left: What its executor ended it with, if it took the time: its usage and details are told.
    """
    data: JsonObject = {"reason": reason}
    if left is not None:
        data |= {name: left.to_dict()[name] for name in ("usage", "details")}
    return RunEnding(status="cancelled", data=data, result=None)


def with_result(result: RunResult) -> RunEnding:
    """Return the end of a run with a result."""
    data = result.to_dict()
    del data["status"]
    return RunEnding(status=result.status, data=data, result=result)


def last_event(ending: RunEnding, *, number: int) -> Event:
    """Return the last event of a run."""
    return Event.emit(number, f"run_{ending.status}", ending.data)


def write_end(
    write: Write, seq: int, ending: RunEnding, emitted: list[Event], *, stored_bytes: int
) -> None:
    """Store a run's end.

    Args:
        write: The transaction.
        seq: The run, which this server may end.
        ending: How it ends.
        emitted: The events to store; the last is that of the end, which becomes another one if the run was told what nobody has read.
        stored_bytes: The size of the run so far.
    """
    ending = _with_unread(write, seq, ending, emitted)
    body = write.encryption.encrypt(dump_events(emitted))
    result = None if ending.result is None else write.encryption.encrypt(ending.result.to_json())
    kept = None if ending.result is None else ending.result.state
    state = None if kept is None else write.encryption.encrypt(kept)
    # The steps are deleted only with the end: until then a next attempt needs them.
    forget_part(write, seq)
    contents.keep_apart(write.connection, seq, state=state)
    write_events(write, seq, emitted, body)
    values = {
        "ended": seq,
        "status": ending.status,
        "last_event": emitted[-1].number,
        "result": result,
        "state": contents.in_row(state),
        "bytes": stored_bytes + len(body) + len(result or b""),
    }
    write.connection.execute(_END, values)
    notify(write, seq, ending.status)


def _with_unread(write: Write, seq: int, ending: RunEnding, emitted: list[Event]) -> RunEnding:
    """Return an end that says what the run was told too late."""
    result = ending.result
    if result is None or not (unread := read_steered(write, seq, result.steered, 1)):
        return ending
    # Nearly always there is none, for which one row is looked for.
    unread += read_steered(write, seq, result.steered + 1, MOST)
    details = {**result.details, "unread": [*result.details.get("unread", ()), *unread]}
    told = with_result(replace(result, details=details))
    emitted[-1] = last_event(told, number=emitted[-1].number)
    return told


def forget_part(write: Write, seq: int, *, is_over: bool = True) -> None:
    """Delete what no attempt at a run, or at a part of it, needs any more.

    Those are the recorded steps, the marks of those that were begun, and what the run or its part went on from.
    """
    for statement in _FORGET_RUN if is_over else _FORGET_PART:
        write.connection.execute(statement, {"over": seq})


def write_events(write: Write, seq: int, emitted: Sequence[Event], body: bytes) -> None:
    """Store a batch of events of a run, with its body already encrypted."""
    values = {"run": seq, "first": emitted[0].number, "last": emitted[-1].number, "body": body}
    write.connection.execute(_INSERT_EVENTS, values)
    write.signals.add(EMITTED)


def end_idle(write: Write, row: sa.Row[Any], ending: RunEnding) -> Ended:
    """End a run that no server executes."""
    emitted = [last_event(ending, number=row.last_event + 1)]
    write_end(write, row.seq, ending, emitted, stored_bytes=row.bytes)
    [event] = emitted
    return Ended(
        seq=row.seq,
        run_id=row.run_id,
        tenant=row.tenant,
        agent=row.agent,
        ending=ending,
        event=event,
        started_at=row.started_at or event.created_at,
    )
