"""A run as a server knows it, from the moment it was accepted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


type RunStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a run, as it is kept.

    Attributes:
        status: Whether the script exited by itself with code 0.
        stop_reason: As in `RunResult`; `interrupted` if the server died under the script, `not_started` if the agent could not be run,
            `cancelled` if somebody asked for it, `internal_error` if the server is at fault.
        exit_code: The script's, if there is one.
        duration_seconds: Of the last attempt, if it came to its end.
    """

    status: Literal["succeeded", "failed", "cancelled"]
    stop_reason: str
    exit_code: int | None = None
    duration_seconds: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        return {
            "status": self.status,
            "stop_reason": self.stop_reason,
            "exit_code": self.exit_code,
            "duration_seconds": self.duration_seconds,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run of a server's history.

    Attributes:
        run_id: What the script knows as `runner_request_id`.
        agent: Name of the agent.
        client_request_id: The caller's own id for the run, or None.
        status: Whether it waits, runs, or how it ended.
        attempts: How often its script was started.
        created_at: When it was accepted, in ISO 8601, UTC.
        finished_at: When it ended, or None.
        outcome: How it ended, or None.
    """

    run_id: str
    agent: str
    client_request_id: str | None
    status: RunStatus
    attempts: int
    created_at: str
    finished_at: str | None
    outcome: Outcome | None

    def to_dict(self) -> dict[str, Any]:
        """Return the run as a JSON object; what is not known yet is null."""
        outcome: Mapping[str, Any] = self.outcome.to_dict() if self.outcome else {}
        return {
            "run_id": self.run_id,
            "agent": self.agent,
            "client_request_id": self.client_request_id,
            "status": self.status,
            "attempts": self.attempts,
            "created_at": self.created_at,
            "finished_at": self.finished_at,
            "stop_reason": outcome.get("stop_reason"),
            "exit_code": outcome.get("exit_code"),
            "duration_seconds": outcome.get("duration_seconds"),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """Something that happened in a run: an output, the start of an attempt, or the end.

    Attributes:
        id: Where it stands in the run's events; whoever has seen it can go on from there.
        data: A JSON object; its `type` says what it is.
    """

    id: str
    data: Mapping[str, Any]
