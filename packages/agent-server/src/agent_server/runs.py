"""The runs of a database as clients see them, whichever server executes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from .executor import JsonObject, RunResult


__all__ = [
    "FINISHED",
    "LAST_EVENTS",
    "OWN_EVENTS",
    "DatabaseAwayError",
    "IdempotencyConflictError",
    "NewRun",
    "QueueFullError",
    "Run",
    "RunFilter",
    "RunNotFoundError",
    "RunPage",
    "RunStatus",
    "Statistics",
    "StoredEvent",
    "TooManyWatchersError",
]

type RunStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]
"""Where a run stands."""

FINISHED: frozenset[RunStatus] = frozenset({"succeeded", "failed", "cancelled"})
"""The states that a run does not leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A request for a run.

    Attributes:
        tenant: Whose it is.
        agent: The agent's name.
        request: As `Executor.check` returned it.
        metadata: What the client wants to find again with the run: at most 16 names of 64 characters with texts of 512.
        idempotency_key: Under the same key of a tenant the same run is returned; None for none.
        fingerprint: A digest of the client's body, by which another body under the same key is recognised; stored under the storage's key, where there is an idempotency key.
    """

    tenant: str
    agent: str
    request: JsonObject
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    idempotency_key: str | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run, from the moment it was accepted.

    Attributes:
        run_id: Its id, a UUID.
        tenant: Whose it is.
        agent: The agent's name.
        status: Where it stands.
        metadata: As the client gave it.
        attempt: How often it has been begun; 0 while it waits for the first time.
        created_at: When it was accepted, in UTC.
        started_at: When it was first begun; None before. A cancelled run keeps it.
        finished_at: When it ended; None before.
        cancel_requested: Whether somebody asked for its end.
        cancel_reason: Why; None if nobody said.
        last_event: The number of its newest event, 0 for none.
        result: How it ended; None before, and for a cancelled run.
    """

    run_id: str
    tenant: str
    agent: str
    status: RunStatus
    metadata: Mapping[str, str]
    attempt: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    cancel_requested: bool
    cancel_reason: str | None
    last_event: int
    result: RunResult | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event of a run.

    The server's own are `run_started` (`{"attempt": n}`) and, as the last of a run, `run_succeeded`, `run_failed` or `run_cancelled`
    (`{"reason": …}`), with the result as data; the others are the executor's.

    Attributes:
        number: Its number in the run, from 1 without gaps.
        type: Its type.
        created_at: When it was emitted, in UTC.
        data: What it says; not to be changed, for all who watch a run get the same events.
        shared: Where whoever sends the event to many keeps what was made of it once, such as the bytes of a stream's frame.
    """

    number: int
    type: str
    created_at: datetime
    data: JsonObject
    shared: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)


OWN_EVENTS: frozenset[str] = frozenset(
    {"run_started", "run_succeeded", "run_failed", "run_cancelled"}
)
"""The types of the server's own events, which no executor tells; all but `run_started` are a run's last."""

LAST_EVENTS: frozenset[str] = OWN_EVENTS - {"run_started"}
"""The types of a run's last event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """A selection of runs.

    Attributes:
        agent: Only of this agent.
        status: Only in one of these states; none for all.
        metadata: Only with these names and texts.
        created_after: Only later ones.
        created_before: Only earlier ones.
    """

    agent: str | None = None
    status: frozenset[RunStatus] = frozenset()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    created_after: datetime | None = None
    created_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """A page of runs, newest first.

    Attributes:
        runs: The runs.
        next_cursor: Where the next page begins; None if this is the last.
    """

    runs: Sequence[Run]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Statistics of a server since it started, for one tenant or for all.

    Attributes:
        runs: How many runs of the database are in each state, as last counted.
        oldest_queued_seconds: How long the oldest waiting run has waited.
        executing: How many runs this server executes now.
        watchers: How many follow events here now.
        ended: How many runs ended here, by state.
        duration_seconds: The durations of the runs that ended here: upper bounds of buckets in seconds, and how many ended within each.
        duration_sum_seconds: Their sum.
        tokens: Tokens used by the runs that ended here, by kind: `input`, `output`, `cached`, `reasoning`.
        database_is_away: Whether the database cannot be reached now.
    """

    runs: Mapping[RunStatus, int]
    oldest_queued_seconds: float
    executing: int
    watchers: int
    ended: Mapping[str, int]
    duration_seconds: Mapping[float, int]
    duration_sum_seconds: float
    tokens: Mapping[str, int]
    database_is_away: bool


class RunNotFoundError(Exception):
    """There is no such run, or it is another tenant's."""


class QueueFullError(Exception):
    """Too many runs wait."""


class IdempotencyConflictError(Exception):
    """An idempotency key came before, with another body."""


class TooManyWatchersError(Exception):
    """The server has as many watchers as it may."""


class DatabaseAwayError(Exception):
    """The database cannot be reached just now."""
