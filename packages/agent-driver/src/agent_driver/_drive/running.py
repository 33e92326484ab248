"""Which tools of a round are running."""

from collections.abc import Iterable, Iterator
from typing import Any

from agent_driver._declare.declaration import find_agent
from agent_driver._tools.calls import Job, Sorted, give_up
from agent_loop import AgentEvent, AgentWaiting, ToolResult
from agent_tooling import ToolOutput

from .setup import Setup


# A drive looks every 0.25 s whether it is cancelled; with that it ends within a second.
LAST_SECONDS = 0.7
"""How long agents that are told to end have to return what they have so far."""

type Output = ToolOutput | AgentWaiting
"""The output of a call, or news that its agent waits for a person."""

type Update = AgentEvent | tuple[Job, Output]
"""An event of an agent, or the output of a call."""


class Running:
    """The tools of a round that run, and those that wait for them.

    Args:
        setup: The run.
        sorted_: Its calls.

    Attributes:
        due: The calls that are made: none where there is no time for tools.
        waiting: Those that have no result yet, by their ids.
        agents: The ids of the agents that are still running.
        order: The outputs in the order of the calls, where they are steps; else None.
    """

    def __init__(self, setup: Setup, sorted_: Sorted) -> None:
        # Asked once, so that all calls of a round are made or none.
        has_time = setup.clock.seconds_for_tools(setup.run) != 0
        self.due = sorted_.jobs if has_time else ()
        self._calls = setup.calls
        self.waiting = {job.call.call_id: job for job in sorted_.jobs}
        self._repeats = sorted_.repeats
        # A run that is played again has to take what has come in the order of the first time.
        self.order = None if setup.steps is None else InOrder(self.due)
        self.agents = {job.call.call_id for job in self.due if find_agent(job.tool) is not None}

    def take(self, update: Update | None) -> Iterator[AgentEvent | AgentWaiting | ToolResult]:
        """Take an agent's event or a call's output, and yield what the drive passes on now. None means that no more comes."""
        if self.order is not None:
            yield from map(
                self._take, self.order.end() if update is None else self.order.take(update)
            )
        elif update is not None:
            yield self._take(update)

    def _take(self, update: Update) -> AgentEvent | AgentWaiting | ToolResult:
        if isinstance(update, AgentEvent):
            return update
        job, output = update
        del self.waiting[job.call.call_id]
        self.agents.discard(job.call.call_id)
        return output if isinstance(output, AgentWaiting) else self._calls.settle(job, output)

    def end(self) -> Iterator[ToolResult]:
        """Yield the results of abandoned calls, and of repeated calls that others have answered."""
        yield from map(give_up, self.waiting.values())
        # Last, because each repeats a call of this round that has its result by now, or never will.
        yield from (self._calls.recall(job) or give_up(job) for job in self._repeats)


class InOrder:
    """Outputs of a round in the order of its calls, so that what the model reads does not depend on which came first.

    Args:
        jobs: The calls.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._due = [job.call.call_id for job in jobs]
        self._held: dict[str, tuple[Job, Any]] = {}

    @property
    def is_open(self) -> bool:
        """Whether a call has no output yet."""
        return bool(self._due)

    def take(self, update: Any) -> Iterator[Any]:
        """Take an agent's event or a call's output, and yield what is to be passed on now."""
        if isinstance(update, AgentEvent):
            yield update
            return
        self._held[update[0].call.call_id] = update
        while self._due and self._due[0] in self._held:
            yield self._held.pop(self._due.pop(0))

    def end(self) -> Iterator[Any]:
        """Yield the outputs that are held back for calls that have none."""
        yield from (self._held[call_id] for call_id in self._due if call_id in self._held)
