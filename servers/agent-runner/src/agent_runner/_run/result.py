"""The end of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from agent_runner._process.process import StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The end of a run.

    Attributes:
        status: `succeeded` if the script exited by itself with code 0, whatever it wrote to stderr.
        stop_reason: Why the script ended: it `exited`, it `timed_out`, or it wrote more than the `output_limit`.
        exit_code: The script's exit code; negative if a signal ended it, as in `subprocess`.
        runner_request_id: The id that the runner gave the run.
        client_request_id: The id that the caller gave the run, or None.
        duration_seconds: The time from start to end.
        metadata: For each of `_llm_usage`, `_profile_data` and `_trace_data` that the script printed, all its values in order. It is not meant
            for the caller: `to_dict()` leaves it out.
    """

    type: ClassVar[Literal["result"]] = "result"
    status: Literal["succeeded", "failed"]
    stop_reason: StopReason
    exit_code: int
    runner_request_id: str
    client_request_id: str | None
    duration_seconds: float
    metadata: Mapping[str, Sequence[Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON object: `type` and all attributes but the metadata."""
        shown = (one.name for one in fields(self) if one.name != "metadata")
        return {"type": self.type} | {name: getattr(self, name) for name in shown}
