"""The failures with which runs end by no executor's doing, the same with every engine."""

from agent_server.executor import EventLimitError, RunResult


def internal_error() -> RunResult:
    """Return the end of a run whose error is for the log alone."""
    return _fail("an error inside the server", "internal_error")


def event_limit(error: EventLimitError) -> RunResult:
    """Return the end of a run with too many events."""
    return _fail(str(error), "event_limit")


def too_many_waiting(maximum: int) -> RunResult:
    """Return the end of a run that may not wait."""
    return _fail(f"expected fewer than {maximum} runs that wait for an answer", "too_many_waiting")


def unanswered() -> RunResult:
    """Return the end of a run that has waited for too long."""
    return _fail("nobody has answered it in time", "input_expired")


def version_changed(version: str, executor: str) -> RunResult:
    """Return the end of a run that no server can continue with."""
    return _fail(
        f"it was begun by version {version} of {executor}, and no server of that version is left to continue it",
        "version_changed",
    )


def agent_gone(agent: str, seconds: float) -> RunResult:
    """Return the end of a run whose agent no server has had for a while."""
    return _fail(f"no server has had its agent {agent} for {seconds:g} s", "agent_gone")


def _fail(error: str, error_type: str) -> RunResult:
    return RunResult(status="failed", error=error, error_type=error_type)
