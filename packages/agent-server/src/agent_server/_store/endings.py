"""The last event of a run, and its last state, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from agent_server.executor import JsonObject, RunResult
from agent_server.runs import RunStatus

from .clock import clock
from .records import Event, dump_events, dump_json, dump_result, now, result_data
from .schema import events, runs, steps
from .signals import TOLD
from .writer import Write


# Statements of every run are built once: building one takes longer than executing it.
_INSERT_EVENTS = sa.insert(events)
_END = (
    sa.update(runs)
    .where(runs.c.seq == sa.bindparam("ended"))
    .values(
        request=None,
        finished_at=clock(sa.func.coalesce(runs.c.started_at, runs.c.created_at)),
        **{name: sa.bindparam(name) for name in ("status", "last_event", "result", "bytes")},
    )
)
_FORGET_STEPS = sa.delete(steps).where(steps.c.run == sa.bindparam("ended"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of a run.

    Attributes:
        status: Its last state.
        data: Of its last event.
        result: What is kept as its result; None for a cancelled run.
    """

    status: RunStatus
    data: JsonObject
    result: RunResult | None


def cancelled(reason: str | None) -> Ending:
    """Return the end of a run that somebody asked for."""
    return Ending(status="cancelled", data={"reason": reason}, result=None)


def with_result(result: RunResult) -> Ending:
    """Return the end that an executor reached."""
    return Ending(status=result.status, data=result_data(result), result=result)


def last_event(ending: Ending, *, number: int) -> Event:
    """Return the event that tells of an end."""
    return Event(
        number=number, type=f"run_{ending.status}", created_at=now(), text=dump_json(ending.data)
    )


def write_end(
    write: Write, seq: int, ending: Ending, told: Sequence[Event], *, stored_bytes: int
) -> None:
    """Store a run's end.

    Args:
        write: The transaction.
        seq: The run, which is this server's to end.
        ending: How it ends.
        told: The events to store; the last is that of the end.
        stored_bytes: What the run's events before take.
    """
    body = write.seal.close(dump_events(told))
    result = None if ending.result is None else write.seal.close(dump_result(ending.result))
    write_events(write, seq, told, body)
    values = {
        "ended": seq,
        "status": ending.status,
        "last_event": told[-1].number,
        "result": result,
        "bytes": stored_bytes + len(body) + len(result or b""),
    }
    write.connection.execute(_END, values)
    write.connection.execute(_FORGET_STEPS, {"ended": seq})


def write_events(write: Write, seq: int, told: Sequence[Event], body: bytes) -> None:
    """Store a batch of events of a run, of which the body is sealed."""
    values = {"run": seq, "first": told[0].number, "last": told[-1].number, "body": body}
    write.connection.execute(_INSERT_EVENTS, values)
    write.signals.add(TOLD)


def end_waiting(write: Write, row: sa.Row[Any], ending: Ending) -> Event:
    """End a run that nobody executes, and return its last event."""
    event = last_event(ending, number=row.last_event + 1)
    write_end(write, row.seq, ending, [event], stored_bytes=row.bytes)
    return event
