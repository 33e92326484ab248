"""Runs that stop for approval: how they are saved and how they continue."""

import time
from dataclasses import replace
from typing import Any, Final

from agent_driver._declare.drive_settings import DriveSettings
from agent_driver._declare.tool_options import iter_all, iter_hosted
from agent_driver._tools.calls import ToolCalls, find_seen
from agent_loop import AgentRun, AskApproval, Decision, Event, validate_snapshot_key
from stream_text import is_object


_NEVER: Final = 253_402_300_800.0  # When the year 9999 ends.


def add_snapshot(
    events: tuple[Event, ...],
    run: AgentRun,
    settings: DriveSettings,
    calls: ToolCalls,
    *,
    log: str | None,
) -> tuple[Event, ...]:
    """Return the events of a run, with its snapshot added to an `AskApproval` at the end."""
    if not events or not isinstance(asked := events[-1], AskApproval):
        return events
    snapshot = run.to_snapshot(
        key=settings.snapshot_key or b"",
        expires_at=_find_expiry(settings),
        extra={**calls.save(asked), "log": log},
    )
    return (*events[:-1], replace(asked, snapshot=snapshot))


def prepare_approval(
    settings: DriveSettings, calls: ToolCalls
) -> tuple[tuple[Decision, ...], str | None]:
    """Check the approval settings, bind the rules to the tools, and resume the run of a snapshot.

    Returns:
        What a person has decided about the calls that the run has waited for, none where it begins; and the name of
        that run's log, None where it had none.

    Raises:
        DeclarationError: If a rule names no tool, or a path that its tool cannot have.
        SnapshotError: If the snapshot is none that can be taken up.
        TypeError: If an argument is of a kind that cannot be it.
        ValueError: If there is no key for a run that may ask or it is too short, or not one decision for each call that waits.
    """
    run, key = settings.run, settings.snapshot_key
    if key is not None:
        validate_snapshot_key(key)
    if run.approval_rules is not None:
        if key is None:
            raise ValueError("snapshot_key: expected a key, for the run has approval rules")
        # A rule may name the tool of an agent as well. Where two have a name, the run's own counts.
        known = [*iter_all(calls.tools.values())]
        schemas = {tool.name: tool.parameters for tool in reversed(known)}
        hosted = iter_hosted(settings, known)
        schemas = {name: dict[str, Any]() for name in hosted} | schemas
        run.approval_rules.for_tools(dict.fromkeys(schemas, ()), schemas)
    if settings.resume is None:
        if settings.decisions is not None:
            raise ValueError("decisions: expected none where nothing is resumed")
        return (), None
    if key is None:
        raise ValueError("snapshot_key: expected the key that the snapshot was signed with")
    given = settings.resume
    snapshot = given.snapshot if isinstance(given, AskApproval) else given
    asked, extra = run.resume(snapshot, key=key, now=find_now(settings))
    decisions = read_decisions(settings.decisions, asked)
    if extra is not None:
        # The snapshot of an earlier release holds nothing of what was seen, but who asked may.
        seen = find_seen(given.calls) if isinstance(given, AskApproval) else {}
        calls.load({"seen": seen, **extra}, decisions)
    resumes = extra and extra.get("log")  # Of an earlier release there is none.
    return decisions, resumes


def find_now(settings: DriveSettings) -> float:
    """Return the time that the expiry of a snapshot is held against, in seconds since 1970.

    A run whose steps are recorded comes to the same whenever it is played again. So it reads no such clock, and its
    snapshots are good for ever: whoever keeps its steps says how long it may wait.
    """
    return 0.0 if settings.steps is not None else time.time()


def _find_expiry(settings: DriveSettings) -> float:
    # Of the wall clock: another process compares it, after any time.
    return _NEVER if settings.steps is not None else time.time() + settings.snapshot_seconds


def read_decisions(decisions: Any, asked: AskApproval) -> tuple[Decision, ...]:
    """Return a person's decisions about the calls that wait.

    Raises:
        TypeError: If they are of a kind that decisions cannot be.
        ValueError: If there is not one for each call.
    """
    ids = [call.key for call in asked.calls]
    if isinstance(decisions, bool):
        decisions = dict.fromkeys(ids, decisions)
    if not is_object(decisions):
        expected = "true or false, or one for each call that waits, by its id"
        raise TypeError(f"decisions: expected {expected}, got {type(decisions).__name__}")
    for name in decisions.keys() ^ set(ids):
        problem = "none for this call" if name in ids else "one for a call that does not wait"
        raise ValueError(
            f"decisions[{name!r}]: expected one for each call that waits, got {problem}"
        )
    return tuple(_read_decision(decisions[name], name) for name in ids)


def _read_decision(decision: object, call_id: str) -> Decision:
    if isinstance(decision, Decision):
        return replace(decision, call_id=call_id)
    if isinstance(decision, bool):
        return Decision(call_id=call_id, is_approved=decision)
    expected = "true, false or a Decision"
    raise TypeError(f"decisions[{call_id!r}]: expected {expected}, got {type(decision).__name__}")
