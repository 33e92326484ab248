"""Agents that a run calls as tools: whom they count for, how deep they may go, and what their caller reads of them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from stream_text import ThinkFilter

from ._budgets import Spending
from ._errors import LocalProtocolError, RefusedAgentError
from ._events import (
    AgentEvent,
    Event,
    Finished,
    RoundStarted,
    ShowText,
)
from ._gate import Gate
from ._inputs import Failure, ToolResult
from ._rounds import Rounds
from ._sentences import (
    AGENT_FAILED,
    build_budget_above,
    build_too_deep,
    build_unknown,
)
from ._usage import AgentUse


if TYPE_CHECKING:
    from ._run import AgentRun


class Agents:
    """The agents that a run has called as tools, and its own place among those of another run.

    Args:
        rounds: The rounds of the run.
        gate: The gate that its tool calls have to pass.
        max_depth: How deep agents may call agents.

    Attributes:
        max_depth: How deep those of this run may go: 0 where it may call none.
    """

    SAVED: ClassVar = ("uses",)

    def __init__(self, rounds: Rounds, gate: Gate, *, max_depth: int) -> None:
        self.max_depth = max_depth
        self._gate = gate
        self._rounds = rounds
        self._most = max_depth
        self._called: list[_Called] = []
        self._earlier: tuple[AgentUse, ...] = ()

    @property
    def uses(self) -> tuple[AgentUse, ...]:
        """What each agent has used by now, in the order in which they were called, each before those that it has called itself."""
        return (*self._earlier, *(use for called in (*self._called,) for use in called.iter_uses()))

    @uses.setter
    def uses(self, uses: tuple[AgentUse, ...]) -> None:
        """Go on from what agents have used that were called in another process."""
        self._earlier = uses

    def guard(self, lock: AbstractContextManager[Any]) -> None:
        """Set the lock under which what is used is counted, where agents are fed in threads of their own; before any is adopted."""
        self._rounds.spending.lock = lock

    def adopt(self, child: "AgentRun", *, name: str, call_id: str, seconds: float = 0.0) -> None:
        """Make of a run that has not started the one of an agent that this run has called.

        What it uses counts for this run, too, and for those that this one belongs to, at once; so it ends where one of their budgets is used up, without a
        closing call of its own. What a person would have to approve here it may not call. Agents that run at the same time may be fed in threads of their own, once there is a lock (`guard`).

        Args:
            child: The run of the agent.
            name: The name of the agent.
            call_id: The open tool call that it answers.
            seconds: How old this run is.

        Raises:
            RefusedAgentError: If no agent may be called any deeper, or a budget is used up or cannot be kept. Its text is for the model.
            LocalProtocolError: If the agent's run has started, or no call with that id is open.
        """
        if child.state != "ready":
            raise LocalProtocolError("it has started already", state=child.state, received="adopt")
        if not self._rounds.current.is_open(call_id):
            message = f"no open call has the id {call_id!r}"
            raise LocalProtocolError(message, state="ready", received="adopt")
        if self.max_depth < 1:
            raise RefusedAgentError(build_too_deep(self._most))
        child.agents.join(self._rounds.spending, self._gate, self._most, seconds=seconds)
        child.agents.max_depth = min(child.agents.max_depth, self.max_depth - 1)
        if stop := child.agents.find_stop():
            raise RefusedAgentError(stop.message)
        self._called.append(child.agents.to_called(name, call_id))

    def join(self, spending: Spending, gate: Gate, most: int, *, seconds: float) -> None:
        """Take the place of an agent of a run that is `seconds` old."""
        self._gate.caller, self._most = gate, most
        self._rounds.spending.join(spending, seconds=seconds)

    def to_called(self, name: str, call_id: str) -> "_Called":
        """Return what is kept of the run as one of an agent."""
        models = self._rounds.requests.models
        return _Called(name, call_id, self._rounds.spending, models, self._called)

    def find_stop(self) -> Failure | None:
        """Return what ends the run before its next model call, because of the runs that it belongs to or of the agents that it has called."""
        spending = self._rounds.spending
        if budget := spending.used_up_above:
            return Failure(message=build_budget_above(budget), reason="budget")
        unknown = spending.find_unknown_below()
        return Failure(message=build_unknown(unknown)) if unknown else None


@dataclass(frozen=True, slots=True)
class _Called:
    """What is kept of an agent that was called, and of those that it has called."""

    name: str
    call_id: str
    spending: Spending
    models: list[str]
    called: "list[_Called]"

    def iter_uses(self, path: tuple[str, ...] = ()) -> Iterator[AgentUse]:
        path = (*path, self.call_id)
        yield AgentUse(
            path=path,
            agent=self.name,
            model_calls=self.spending.model_calls,
            models=tuple(self.models),
            usage=self.spending.usage,
        )
        for called in tuple(self.called):
            yield from called.iter_uses(path)


@dataclass(slots=True, kw_only=True)
class AgentAnswer:
    """What the caller of an agent reads of its run, gathered of the run's events.

    Attributes:
        name: The name of the agent.
        call_id: The tool call that it answers.
        finished: The end of its run, once that is there.
    """

    name: str
    call_id: str
    finished: Finished | None = None
    _shown: list[str] = field(default_factory=list[str])

    def take(self, event: Event) -> AgentEvent:
        """Take an event of the run and return it as those may see it who show the caller's."""
        match event:
            case AgentEvent(path=path, agent=agent, event=inner):
                return AgentEvent(path=(self.call_id, *path), agent=agent, event=inner)
            case RoundStarted():
                self._shown.clear()
            case ShowText(text=text):
                self._shown.append(text)
            case Finished():
                self.finished = event
            case _:
                pass
        return AgentEvent(path=(self.call_id,), agent=self.name, event=event)

    def read(self) -> ToolResult:
        """Return what the caller's model reads: the answer, or why there is none, with what is known so far. What a model's client has said of an error is not told.

        Raises:
            LocalProtocolError: If the run has not ended.
        """
        finished = self.finished
        if finished is None:
            raise LocalProtocolError("the agent has not ended", state="model", received="read")
        if finished.error is None:
            words = _without_thoughts("".join(self._shown)) or finished.answer.strip()
            return ToolResult(call_id=self.call_id, content=words)
        told = _without_thoughts(finished.error)
        rest = (_without_thoughts(text) for text in self._shown)
        known = "\n".join(text for text in rest if text not in {"", told})
        if finished.reason == "error":
            told = AGENT_FAILED
        content = f"{told}\n{known}".rstrip()
        is_failure = finished.reason in {"error", "invalid_answer"} or not known
        return ToolResult(
            call_id=self.call_id, content=content, error=content if is_failure else None
        )


def _without_thoughts(text: str) -> str:
    shown = ThinkFilter(show=False)
    return (shown.feed(text) + shown.close()).strip()
