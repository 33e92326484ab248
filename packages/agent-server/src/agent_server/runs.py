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
"""The state of a run."""

FINISHED: frozenset[RunStatus] = frozenset({"succeeded", "failed", "cancelled"})
"""The states that a run does not leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A request for a run.

    Attributes:
        tenant: The tenant who owns the run.
        agent: The agent's name.
        request: The request that `Executor.check` returned.
        metadata: Names and texts to find the run by: at most 16 names of 64 characters with texts of 512.
        idempotency_key: The same key of a tenant returns the same run; None for none.
        fingerprint: A digest of the client's body, by which another body under the same key is recognised. With an idempotency key, it is stored as an HMAC.
    """

    tenant: str
    agent: str
    request: JsonObject
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    idempotency_key: str | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that was accepted.

    Attributes:
        run_id: Its id, a UUID.
        tenant: The tenant who owns it.
        agent: The agent's name.
        status: Its state.
        metadata: The client's metadata.
        attempt: The number of attempts so far; 0 while it waits for the first.
        created_at: When it was accepted, in UTC.
        started_at: When its first attempt began; None before that. A cancelled run keeps it.
        finished_at: When it ended; None before that.
        cancel_requested: Whether it was asked to be cancelled.
        cancel_reason: The reason for cancelling it; None if none was given.
        last_event: The number of its newest event, 0 for none.
        result: Its result; None before the end, and for a cancelled run.
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
        data: Its data, which must not be changed: all watchers of a run share it.
        shared: A cache for what is built from the event once and sent to many, such as the bytes of a stream's frame.
    """

    number: int
    type: str
    created_at: datetime
    data: JsonObject
    shared: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)


OWN_EVENTS: frozenset[str] = frozenset(
    {"run_started", "run_succeeded", "run_failed", "run_cancelled"}
)
"""The types of the server's own events, which no executor may emit; all but `run_started` are a run's last event."""

LAST_EVENTS: frozenset[str] = OWN_EVENTS - {"run_started"}
"""The types of a run's last event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """A selection of runs.

    Attributes:
        agent: Only runs of this agent.
        status: Only runs in one of these states; all if empty.
        metadata: Only runs with these names and texts.
        created_after: Only runs that were created later.
        created_before: Only runs that were created earlier.
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
        next_cursor: The cursor of the next page; None if this is the last.
    """

    runs: Sequence[Run]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Statistics of a server since it started, for one tenant or for all.

    Attributes:
        runs: How many runs of the database are in each state, as last counted.
        oldest_queued_seconds: How long the oldest waiting run has waited.
        executing: How many runs this server is executing.
        watchers: How many watchers follow events here.
        ended: How many runs ended here, by state.
        duration_seconds: The durations of the runs that ended here: upper bounds of buckets in seconds, and how many ended within each.
        duration_sum_seconds: Their sum.
        tokens: Tokens used by the runs that ended here, by kind: `input`, `output`, `cached`, `reasoning`.
        database_is_away: Whether the database cannot be reached.
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
    """A run that does not exist, or belongs to another tenant."""


class QueueFullError(Exception):
    """A queue with as many waiting runs as it may have."""


class IdempotencyConflictError(Exception):
    """An idempotency key that was used before with another body."""


class TooManyWatchersError(Exception):
    """A server with as many watchers as it may have."""


class DatabaseAwayError(Exception):
    """A database that cannot be reached at the moment."""
