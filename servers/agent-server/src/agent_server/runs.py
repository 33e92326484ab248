"""The runs of a database as clients see them, whichever server and engine execute them."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from .executor import InputAnswer, InputRequest, JsonObject, RunResult, StoredEvent


__all__ = [
    "FINISHED",
    "LAST_EVENTS",
    "OWN_EVENTS",
    "RESTING",
    "AnswerConflictError",
    "DatabaseAwayError",
    "IdempotencyConflictError",
    "NewAnswer",
    "NewRun",
    "QueueFullError",
    "Run",
    "RunActiveError",
    "RunFilter",
    "RunNotFoundError",
    "RunPage",
    "RunStatus",
    "Runs",
    "Statistics",
    "SteerConflictError",
    "StoredEvent",
    "TooManyWatchersError",
    "TooMuchUnreadError",
    "WaitingFor",
    "refuse_own_event",
]

type RunStatus = Literal["queued", "running", "waiting", "succeeded", "failed", "cancelled"]
"""The state of a run; one that is `waiting` waits for a person or for its client, and is not executed."""

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
        fingerprint: A digest of the client's body, by which another body under the same key is recognised. With an
            idempotency key, it is stored as an HMAC.
        keep_seconds: How long the run is kept once it has ended, however long it has waited before; None for as long as
            the settings say, which is also the most.
        shown: What clients may read of the request, beside the events: it is kept as long as the run, while the request is deleted at its end.
    """

    tenant: str
    agent: str
    request: JsonObject
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    idempotency_key: str | None = None
    fingerprint: str = ""
    keep_seconds: float | None = None
    shown: JsonObject | None = None
    origin: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFor:
    """What a run waits for.

    Attributes:
        wait_id: The id of this wait; an answer names it, so that none is taken for the answer to another question.
        since: Since when it waits, in UTC.
        request: What has to be answered.
    """

    wait_id: str
    since: datetime
    request: InputRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAnswer:
    """An answer for a run that waits.

    Attributes:
        wait_id: The id of the wait that it answers.
        answer: The answer, complete.
        key: A digest of the key of whom it comes from, for the record; None if the server needs no keys.
    """

    wait_id: str
    answer: InputAnswer
    key: str | None = None


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
        result: Its result, without its state; None before the end, and for a cancelled run.
        waiting_for: What it waits for; None if it does not wait.
        part: How often it has waited and was answered.
        is_kept: Whether it is kept as long as the settings say, and not only for its own `keep_seconds`.
        conversation: The id of the first run of its conversation.
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
    waiting_for: WaitingFor | None = None
    part: int = 0
    is_kept: bool = True
    conversation: str = ""


LAST_EVENTS: frozenset[str] = frozenset({"run_succeeded", "run_failed", "run_cancelled"})
"""The types of a run's last event."""

OWN_EVENTS: frozenset[str] = LAST_EVENTS | {"run_started", "run_waiting", "run_answered"}
"""The types of the server's own events, which no executor may emit."""


def refuse_own_event(type_: str) -> None:
    """Refuse an executor's event of a type of the server's own.

    Raises:
        ValueError: If it is one.
    """
    if type_ in OWN_EVENTS:
        raise ValueError(f"type: expected none of the server's own events, got {type_}")


RESTING: frozenset[RunStatus] = frozenset({*FINISHED, "waiting"})
"""The states in which nothing happens to a run by itself."""


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
        oldest_queued_seconds: How long the oldest queued run has waited for a server.
        oldest_unanswered_seconds: How long the oldest waiting run has waited for an answer.
        webhook_messages: How many messages the webhook has yet to take.
        longest_step_seconds: How long the oldest steps under way here have taken, by kind, such as `model` and `tool`.
        executing: How many runs this server is executing.
        watchers: How many watchers follow events here.
        ended: How many runs ended here, by state.
        duration_seconds: The durations of the runs that ended here: upper bounds of buckets in seconds, and how many ended within each.
        duration_sum_seconds: Their sum.
        tokens: Tokens used by the runs that ended here, by kind: `input`, `output`, `cached`, `reasoning`.
        ended_by_tenant: How many runs of each tenant ended here; of none but all are asked for.
        database_is_away: Whether the database cannot be reached.
        engine_is_away: Whether an engine of another package cannot be reached.
    """

    runs: Mapping[RunStatus, int]
    oldest_queued_seconds: float
    oldest_unanswered_seconds: float
    webhook_messages: int
    longest_step_seconds: Mapping[str, float]
    executing: int
    watchers: int
    ended: Mapping[str, int]
    duration_seconds: Mapping[float, int]
    duration_sum_seconds: float
    tokens: Mapping[str, int]
    database_is_away: bool
    ended_by_tenant: Mapping[str, int] = field(default_factory=dict[str, int])
    engine_is_away: bool = False


class RunNotFoundError(Exception):
    """A run that does not exist, or belongs to another tenant."""


class QueueFullError(Exception):
    """A queue with as many waiting runs as it may have."""


class AnswerConflictError(Exception):
    """An answer to another question than the run waits for, or a second, different answer to the same."""

    OTHER_QUESTION = "The run does not wait for this answer: it waits for another, or for none."
    OTHER_ANSWER = "The run has had another answer to this."


class SteerConflictError(Exception):
    """A message for a run that is not under way."""

    WAITS = "The run waits for an answer: send one that names the wait_id, not a message."
    ENDED = "The run has ended, or is about to."


class RunActiveError(Exception):
    """A run that cannot be deleted, because it has not ended."""


class IdempotencyConflictError(Exception):
    """An idempotency key that was used before with another body."""


class TooManyWatchersError(Exception):
    """A server with as many watchers as it may have."""


class TooMuchUnreadError(Exception):
    """A tenant whose clients have not read what is held for them."""


class DatabaseAwayError(Exception):
    """A database that cannot be reached at the moment."""


class Runs(Protocol):
    """The runs of a database, as every engine gives them to clients. Each method raises `DatabaseAwayError` while they cannot be reached."""

    async def create(self, run: NewRun) -> tuple[Run, bool]:
        """Store a run, and return it with whether it is new.

        Raises:
            QueueFullError: If too many runs wait, in all or for this tenant.
            IdempotencyConflictError: If the key came before with another body.
        """
        ...

    async def get(self, run_id: str, *, tenant: str) -> Run:
        """Return a run.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
        """
        ...

    async def list(
        self, which: RunFilter, *, tenant: str, limit: int, cursor: str | None = None
    ) -> RunPage:
        """Return a page of a tenant's runs, newest first.

        Raises:
            RequestRefusedError: If the cursor is not one of ours.
        """
        ...

    async def cancel(self, run_id: str, *, tenant: str, reason: str | None = None) -> Run:
        """Cancel a run, and return it; a finished run stays as it is.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
        """
        ...

    async def answer(self, run_id: str, new: NewAnswer, *, tenant: str) -> tuple[Run, bool]:
        """Answer a waiting run, so that it continues, and return it with whether the answer is new: the same answer may come again.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
            AnswerConflictError: If it does not wait for this, or has had another answer to it.
            RequestRefusedError: If something is missing, nobody asked for it, or it does not fit the question.
        """
        ...

    async def steer(
        self, run_id: str, message: Any, *, tenant: str, key: str | None = None
    ) -> tuple[Run, bool]:
        """Send a message to a run under way, which reads it before its next round, and return the run with whether that is new.

        A message for which no round is left is in the `unread` of the result's details.

        Args:
            run_id: The run.
            message: The message, in a form that the executor takes (`Steerable`).
            tenant: The tenant.
            key: An idempotency key: the same message may come again with it.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
            SteerConflictError: If it waits for an answer, has ended, or has had too many messages.
            RequestRefusedError: If the executor does not take it.
            IdempotencyConflictError: If the key came before with another message.
        """
        ...

    async def delete(self, run_id: str, *, tenant: str) -> None:
        """Delete a run that has ended, with all that is stored of it.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
            RunActiveError: If it has not ended.
        """
        ...

    async def read_state(self, run_id: str, *, tenant: str) -> bytes | None:
        """Return the `RunResult.state` of a run that has ended; None if it has none.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
        """
        ...

    async def read_shown(self, run_id: str, *, tenant: str) -> JsonObject | None:
        """Return the `NewRun.shown` that a run was created with.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
        """
        ...

    async def read_events(
        self, run_id: str, *, tenant: str, after: int = 0, limit: int = 100
    ) -> Sequence[StoredEvent]:
        """Return the stored events after a number, at most `limit`.

        There may be fewer if they are large: it reads up to 256 KiB plus one batch, and returns none only if there are none.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
        """
        ...

    def watch_events(
        self, run_id: str, *, tenant: str, after: int = 0
    ) -> AsyncGenerator[Sequence[StoredEvent]]:
        """Yield the events after a number as they come, up to the run's last, or the one with which it waits.

        Batches are never empty.

        Raises:
            RunNotFoundError: If the tenant has no run with this id.
            TooManyWatchersError: If the server's limit of watchers is reached.
        """
        ...

    async def ping(self) -> None:
        """Return if this server can accept and execute runs now; raise otherwise."""
        ...

    def statistics(self, *, tenant: str | None = None) -> Statistics:
        """Return the statistics of a tenant's runs, or of all, without asking the database, which may be away."""
        ...
