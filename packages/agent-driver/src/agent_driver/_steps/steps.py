"""Steps: an external record of what models and tools have answered, so that an interrupted run is played again and continues where it was.

A step is one model call, one call of a tool with all its tries, or one call of a guardrail of input or answer. Its
record is JSON: how long the run had lasted by then, its messages in the meantime (`AgentRun.steer`), and what the run is
fed with. A run that is played again asks for the same steps by the same keys, since nothing that it decides depends on
anything but its records: results are taken in the order of their calls, and its clock continues from the time of the last
record.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, runtime_checkable

from agent_driver._errors import AgentDriverError

from .requests import StepKind, StepRequest


class StepKey(str):
    """Key of a step: a text such as `model:3` or `tool:3.call_abc`.

    No other step of the run has it, and it is the same whenever the run is played again.

    Attributes:
        kind: A call of a model, a model's summary by which the run is compacted, a call of a tool, or one of a guardrail.
        path: The ids of the calls that lead to the agent whose step it is, the outermost first; empty for the run itself.
        round: The number of the round, from 1; 0 where a guardrail checks what the run begins with.
        call_id: The id of the tool call; None for all else.
        tool: The name of the tool that is called; None for all else.
        request: What the step does, to make it elsewhere with `Agent.make_step`.
    """

    __slots__ = ("call_id", "kind", "path", "request", "round", "tool")

    kind: StepKind
    path: tuple[str, ...]
    round: int
    call_id: str | None
    tool: str | None
    request: StepRequest


type StepWork = Callable[[], Awaitable[bytes]]
"""What does a step, and returns the record."""


class Steps(Protocol):
    """The record of the steps of a run, such as an `Execution` of agent-server."""

    async def step(self, key: StepKey, work: StepWork, /) -> bytes:
        """Do a step once in the life of a run, and return its record.

        Where there is no record under this key, await `work()` once, record what it returns, and return that. Where
        there is one, return it without calling `work`: by this one knows whether a step is made now. The pieces of a
        model's answer have all been taken, and what they show has been yielded, before `work` returns. Nothing is
        recorded where `work` raises, and what it raises is raised. Many steps may be under way, each in a task that is
        cancelled with the run.

        Whatever else is raised ends the run with a `StepError`.
        """
        ...


@runtime_checkable
class TellsRun(Protocol):
    """Steps that also keep the messages to a run under way; `stream.steer` is not used then."""

    async def read_steered(self, after: int, /) -> Sequence[object]:
        """Return the messages to the run after the first `after`: texts or user messages, always in the same order.

        Called as a step ends, whose record then holds it.
        """
        ...


@runtime_checkable
class WatchesSteps(Protocol):
    """Steps that are also notified when one is made, and not read back."""

    async def begin_step(self, key: StepKey, /) -> None:
        """Take note that a step is made now: awaited within its `work`, before anything of it is done.

        What this raises, `work` raises.
        """
        ...


class StepError(AgentDriverError):
    """A step that could not be recorded, or read back. Its `__cause__` says why.

    Attributes:
        key: The step.
    """

    def __init__(self, key: StepKey) -> None:
        super().__init__(f"the step {key} could not be recorded")
        self.key = key
