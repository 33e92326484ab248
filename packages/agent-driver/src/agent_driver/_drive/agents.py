"""Agents that are called as tools."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from agent_driver._declare.declaration import Declaration, find_agent
from agent_driver._declare.drive_settings import DriveSettings
from agent_driver._declare.tool_options import find_timeout, for_agent
from agent_driver._tools.calls import Job, ToolCalls, find_seen
from agent_driver._tools.guardrails import Guards
from agent_loop import (
    AgentAnswer,
    AgentDecisions,
    AgentRun,
    AgentWaiting,
    Finished,
    RefusedAgentError,
    SnapshotError,
)
from agent_tooling import ToolOutput

from .approval import find_now
from .setup import Setup, offer_tools


TASK: Final = "task"  # The one argument of an agent.

_CHANGED: Final = "tool invoke error: the agent has changed since the user was asked about its calls; it was not run on"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOutcome:
    """The outcome of an agent's run, for code; the model that called the agent does not read it.

    Attributes:
        agent: The name of the agent.
        reason: Why its run stopped, as `Finished` says it.
        model_calls: How many model calls were made.
        models: The model of each, where its run has names for its models.
        error: The sentence of its failure, or None.
        value: What the JSON of its answer is, where it has a schema for that.
        run: The name of its run in the log, where there is one.
    """

    agent: str
    reason: str
    model_calls: int
    models: tuple[str, ...] = ()
    error: str | None = None
    value: Any = None
    run: str | None = None


class AgentCall:
    """One call of an agent.

    Args:
        caller: What the run is played with that makes it.
        job: The call.
        declared: The agent.
        is_over: Returns whether nobody waits for it any more; None where it is cancelled then anyway.

    Attributes:
        models: What calls the agent's models.
        setup: What the run of the agent is played with.
        answer: What the caller reads of it, once it has taken all events.

    Raises:
        RefusedAgentError: If it may not be made; its text is for the model.
    """

    def __init__(
        self,
        caller: Setup,
        job: Job,
        declared: Declaration,
        *,
        is_over: Callable[[], bool] | None,
    ) -> None:
        name, call_id = job.tool.name, job.call.call_id
        run = declared.build_run([to_question(str(job.args[TASK]))])
        guards = caller.guards.for_agent(declared.guardrails)
        settings = for_agent(caller.settings, declared.drive)
        calls = offer_tools(run, declared.tools, settings, guards)
        resumes = _resume(run, calls, settings, job.resumed)
        run.bind_by(calls.find_arguments)  # For the approval rules of its callers.
        # It may refuse, so a log is made afterwards.
        caller.run.agents.adopt(run, name=name, call_id=call_id, seconds=caller.clock.run_seconds)
        recorder = caller.recorder and caller.recorder.for_agent(
            job, calls.tools.values(), run, resumes=resumes
        )
        guards.recorder = recorder
        self.models = declared.models.begin()
        clock = caller.clock.for_agent(
            caller.run, is_over=is_over, seconds=find_timeout(job.tool, caller.settings)
        )
        self.setup = Setup(
            run=run,
            # How it is played, such as with how many tools at once, its caller decides.
            settings=settings,
            calls=calls,
            guards=guards,
            clock=clock,
            decisions=() if job.resumed is None else job.resumed.decisions,
            recorder=recorder,
            steps=caller.steps and caller.steps.for_agent(job, run, clock),
        )
        self.answer = AgentAnswer(name=name, call_id=call_id)

    def read(self) -> ToolOutput | AgentWaiting:
        """Return the result of the call, once the agent's run has ended, or that it waits for a person."""
        asked = self.answer.asked
        if asked is not None:
            return AgentWaiting(
                call_id=self.answer.call_id,
                name=self.answer.name,
                snapshot=cast("str", asked.snapshot),
                calls=asked.calls,
            )
        result, finished = self.answer.read(), cast("Finished", self.answer.finished)
        recorder = self.setup.recorder
        outcome = AgentOutcome(
            agent=self.answer.name,
            reason=finished.reason,
            model_calls=finished.rounds,
            models=finished.models,
            error=finished.error,
            value=finished.value,
            run=None if recorder is None else recorder.name,
        )
        return ToolOutput(content=result.content, error=result.error, artifact=outcome)


def find_fingerprint(declared: Declaration, caller: DriveSettings | None = None) -> str:
    """Return a digest of what a snapshot of an agent's run depends on, the agents among its tools included.

    Args:
        declared: The agent.
        caller: What the run is played with that calls it as a tool; None for a run of its own.
    """
    run = declared.build_run(())
    if caller is None:
        settings = DriveSettings(run, declared.models.call, declared.tools, **declared.drive)
    else:
        settings = for_agent(caller, declared.drive)
    calls = offer_tools(run, declared.tools, settings, Guards(guardrails=declared.guardrails))
    agents = {
        name: find_fingerprint(agent, settings)
        for name, tool in calls.tools.items()
        if (agent := find_agent(tool)) is not None
    }
    if not agents:
        return run.fingerprint
    parts = json.dumps([run.fingerprint, agents], sort_keys=True)
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _resume(
    run: AgentRun, calls: ToolCalls, settings: DriveSettings, resumed: AgentDecisions | None
) -> str | None:
    """Resume the run of an agent that has waited for a person, and return the name of its log.

    Raises:
        RefusedAgentError: If it is another agent by now; its text is for the model.
    """
    if resumed is None:
        return None
    key = settings.snapshot_key or b""  # There, for the run that called it was resumed.
    try:
        _, extra = run.resume(resumed.snapshot, key=key, now=find_now(settings))
    except SnapshotError as error:
        raise RefusedAgentError(_CHANGED) from error
    # Of a snapshot from before it held what was seen, the calling run still knows that.
    calls.load({"seen": find_seen(resumed.calls), **extra}, resumed.decisions)
    return extra["log"]


def to_question(task: str) -> dict[str, Any]:
    """Return the message that a run of an agent begins with."""
    return {"role": "user", "content": task}
