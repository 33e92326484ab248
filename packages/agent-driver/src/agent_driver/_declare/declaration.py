"""A declared agent: what each of its runs is made with, and the function that it is among another's tools."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_driver._tools.guardrails import Guardrails
from agent_loop import AgentRun
from agent_tooling import Tool

from .models import Models, find_reason


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Declaration:
    """What all runs of an agent have in common.

    Attributes:
        models: Its models.
        tools: Its tools by their names.
        instruction: Its system message.
        deps_type: The type of what its tools take by a `Context`; None where it was not declared.
        run: The arguments of `AgentRun` besides the messages.
        drive: The arguments of `drive` besides run, model and tools.
    """

    models: Models
    tools: Mapping[str, Tool]
    instruction: str
    deps_type: Any
    run: Mapping[str, Any]
    drive: Mapping[str, Any]

    @property
    def priced(self) -> tuple[object, ...]:
        """Its models and the functions of its tools, which may be agents."""
        return (self.models, *(tool.function for tool in self.tools.values()))

    @property
    def guardrails(self) -> Guardrails:
        """The functions that check its runs."""
        return self.drive.get("guardrails", Guardrails())

    @property
    def system(self) -> list[Any]:
        """The messages that each run begins with."""
        return [{"role": "system", "content": self.instruction}] if self.instruction else []

    def build_run(self, messages: Iterable[object]) -> AgentRun:
        """Return a run that has not started."""
        return AgentRun([*self.system, *messages], **self.run)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AgentFunction:
    """Function behind an agent that is a tool. A driver plays it as part of the calling run; any other caller makes it play a run of its own.

    Attributes:
        declared: The agent.
        play: Plays a run of its own for a task, and returns the answer.
    """

    declared: Declaration
    play: Callable[[Declaration, str], str]

    @property
    def no_price_reason(self) -> str | None:
        """Why the agent has no price, if its model or that of an agent below it says so."""
        return find_reason("no_price_reason", *self.declared.priced)

    def __call__(self, task: str) -> str:
        """Play a run of its own to its end.

        Raises:
            ToolError: If there is no answer; its text is for the model.
        """
        return self.play(self.declared, task)


def find_agent(tool: Tool) -> Declaration | None:
    """Return the agent that a tool is; None if it is none."""
    function: object = tool.function
    return function.declared if isinstance(function, AgentFunction) else None
