"""Agents that a run calls as tools: whose budgets they use, how deep they may call each other, and what their caller reads."""

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_loop._values.errors import LocalProtocolError, RefusedAgentError
from agent_loop._values.events import (
    AgentEvent,
    AskApproval,
    Event,
    Finished,
    RoundStarted,
    ShowText,
)
from agent_loop._values.inputs import ToolResult
from agent_loop._values.usage import AgentUse
from stream_text import strip_think

from .ending import find_agent_uses, find_stop
from .sentences import AGENT_FAILED, build_too_deep
from .spending import iter_chain, pass_seconds
from .state import RunContext


class _Run(Protocol):
    """A run that can become an agent's: an `AgentRun`."""

    agents: "Agents"


class Agents:
    """The agents that a run has called as tools, and the link to the run that has called it."""

    def __init__(self, run: RunContext) -> None:
        self._run = run

    @property
    def uses(self) -> tuple[AgentUse, ...]:
        """The usage of each agent so far, in the order of their calls, each before the agents that it has called itself."""
        return find_agent_uses(self._run)

    def guard(self, lock: AbstractContextManager[Any]) -> None:
        """Set the lock under which usage is counted, for agents that are fed in threads of their own. To be called before any agent is adopted."""
        self._run.lock = lock

    def adopt(self, child: _Run, *, name: str, call_id: str, seconds: float = 0.0) -> None:
        """Make `child`, a run that has not started yet or was just resumed, an agent of this run.

        Its usage counts at once for this run and all runs above it, too, so it ends when one of their budgets is used
        up, without a closing call of its own. Calls that a person would have to approve in this run it waits for, too.
        Agents that run at the same time may be fed in threads of their own once there is a lock (`guard`).

        Args:
            child: The run of the agent.
            name: The name of the agent.
            call_id: The open tool call that it answers.
            seconds: The age of this run.

        Raises:
            RefusedAgentError: If agents may not be nested any deeper, or a budget is used up or cannot be kept. Its text is for the model.
            LocalProtocolError: If the agent's run has started, or no call with that id is open.
        """
        caller, agent = self._run, child.agents._run  # noqa: SLF001 - of this class
        if (state := agent.state.status) not in {"ready", "approval"}:
            raise LocalProtocolError("it has started already", state=state, received="adopt")
        if call_id not in caller.state.round.open_calls:
            message = f"no open call has the id {call_id!r}"
            raise LocalProtocolError(message, state="ready", received="adopt")
        # Everything that may refuse the agent is checked before it is listed in `called`.
        if caller.agent_depth < 1:
            *_, outermost = iter_chain(caller)
            raise RefusedAgentError(build_too_deep(outermost.settings.max_agent_depth))
        pass_seconds(caller, seconds)
        # Of an agent that goes on, the time before counts as its own.
        joined_at = seconds - agent.state.spending.seconds
        agent.caller, agent.joined_at, agent.lock = caller, joined_at, caller.lock
        # An agent may allow itself less than its caller leaves, never more.
        agent.agent_depth = min(agent.agent_depth, caller.agent_depth - 1)
        # This follows `caller` upwards, so it has to be set by now.
        if stop := find_stop(agent):
            raise RefusedAgentError(stop.message)
        if state == "approval":
            # What it has used so far it tells itself from now on.
            uses = caller.state.agent_uses
            caller.state.agent_uses = tuple(use for use in uses if use.path[0] != call_id)
        caller.called.append((name, call_id, agent))


@dataclass(slots=True, kw_only=True)
class AgentAnswer:
    """The answer that an agent's caller reads, gathered from the events of the agent's run.

    Attributes:
        name: The name of the agent.
        call_id: The tool call that it answers.
        finished: The end of its run; None until then.
        asked: What it waits for, where its run has stopped to ask a person.
    """

    name: str
    call_id: str
    finished: Finished | None = None
    asked: AskApproval | None = None
    _shown: list[str] = field(default_factory=list[str])

    def take(self, event: Event) -> AgentEvent:
        """Take an event of the agent's run and return it as an event of the calling run."""
        match event:
            case AgentEvent(path=path, agent=agent, event=inner):
                return AgentEvent(path=(self.call_id, *path), agent=agent, event=inner)
            case RoundStarted():
                # An earlier round led to tool calls; only the last one answers.
                self._shown.clear()
            case ShowText(text=text):
                self._shown.append(text)
            case Finished():
                self.finished = event
            case AskApproval():
                self.asked = event
            case _:
                pass
        return AgentEvent(path=(self.call_id,), agent=self.name, event=event)

    def read(self) -> ToolResult:
        """Return the tool result for the caller's model: the answer, or why there is none with what is known so far.

        The error text of a model's client is left out.

        Raises:
            LocalProtocolError: If the run has not ended.
        """
        finished = self.finished
        if finished is None:
            raise LocalProtocolError("the agent has not ended", state="model", received="read")
        if finished.error is None:
            answer = strip_think("".join(self._shown)).strip() or finished.answer.strip()
            return ToolResult(call_id=self.call_id, content=answer)
        sentence = strip_think(finished.error).strip()
        rest = (text for text in self._shown if strip_think(text).strip() != sentence)
        known = strip_think("".join(rest)).strip()
        # This sentence may quote the model's client, keys and addresses included.
        if finished.reason == "error":
            sentence = AGENT_FAILED
        content = f"{sentence}\n{known}".rstrip()
        is_failure = finished.reason in {"error", "invalid_answer"} or not known
        return ToolResult(
            call_id=self.call_id, content=content, error=content if is_failure else None
        )
