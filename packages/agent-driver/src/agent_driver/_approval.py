"""Runs that stop for approval: how they are saved and how they continue."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from agent_loop import AgentRun, AskApproval, Decision, Event, validate_snapshot_key

from ._settings import DriveSettings
from ._tool_calls import ToolCalls


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The approval settings of one drive.

    Attributes:
        key: What snapshots are signed with; None where the run never asks.
        seconds: How long a snapshot is good.
        decisions: What a person has decided about the calls that the run has waited for; none where it begins.
        resumes: The log of the run that has stopped and goes on; None where it begins, or had no log.
    """

    key: bytes | None = None
    seconds: float = 0.0
    decisions: tuple[Decision, ...] = ()
    resumes: str | None = None

    def seal(
        self, run: AgentRun, calls: ToolCalls, events: tuple[Event, ...], *, log: str | None
    ) -> tuple[Event, ...]:
        """Return the events, with the run's snapshot added to an `AskApproval` at the end."""
        if not events or not isinstance(asked := events[-1], AskApproval):
            return events
        expires_at = time.time() + self.seconds
        key = cast("bytes", self.key)
        extra = {**calls.save(), "log": log}
        snapshot = run.to_snapshot(key=key, expires_at=expires_at, extra=extra)
        return (*events[:-1], replace(asked, snapshot=snapshot))


def prepare_approval(settings: DriveSettings, calls: ToolCalls) -> Approval:
    """Check the approval settings, bind the rules to the tools, and resume the run of a snapshot.

    Raises:
        DeclarationError: If a rule names no tool, or a path that its tool cannot have.
        SnapshotError: If the snapshot is none that can be taken up.
        TypeError: If an argument is of a kind that cannot be it.
        ValueError: If there is no key for a run that may ask or it is too short, or not one decision for each call that waits.
    """
    run, key, seconds = settings.run, settings.snapshot_key, settings.snapshot_seconds
    if key is not None:
        validate_snapshot_key(key)
    if run.approval_rules is not None:
        if key is None:
            raise ValueError("snapshot_key: expected a key, for the run has approval rules")
        schemas = {name: tool.parameters for name, tool in calls.tools.items()}
        run.approval_rules.for_tools(dict.fromkeys(schemas, ()), schemas)
        run.bind_by(calls.find_arguments)
    if settings.resume is None:
        if settings.decisions is not None:
            raise ValueError("decisions: expected none where nothing is resumed")
        return Approval(key=key, seconds=seconds)
    if key is None:
        raise ValueError("snapshot_key: expected the key that the snapshot was signed with")
    asked, extra = run.resume(settings.resume, key=key, now=time.time())
    if extra is not None:
        calls.load(extra)
    resumes = extra and extra.get("log")  # Of an earlier release there is none.
    decisions = _read_decisions(settings.decisions, asked)
    return Approval(key=key, seconds=seconds, decisions=decisions, resumes=resumes)


def _read_decisions(decisions: Any, asked: AskApproval) -> tuple[Decision, ...]:
    ids = [call.call_id for call in asked.calls]
    if isinstance(decisions, bool):
        decisions = dict.fromkeys(ids, decisions)
    if not isinstance(decisions, Mapping):
        expected = "true or false, or one for each call that waits, by its id"
        raise TypeError(f"decisions: expected {expected}, got {type(decisions).__name__}")
    given = cast("Mapping[str, Any]", decisions)
    for name in given.keys() ^ set(ids):
        problem = "none for this call" if name in ids else "one for a call that does not wait"
        raise ValueError(
            f"decisions[{name!r}]: expected one for each call that waits, got {problem}"
        )
    return tuple(_read_decision(given[name], name) for name in ids)


def _read_decision(decision: object, call_id: str) -> Decision:
    if isinstance(decision, Decision):
        return replace(decision, call_id=call_id)
    if isinstance(decision, bool):
        return Decision(call_id=call_id, is_approved=decision)
    expected = "true, false or a Decision"
    raise TypeError(f"decisions[{call_id!r}]: expected {expected}, got {type(decision).__name__}")
