"""Agents that are called as tools."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from agent_loop import AgentAnswer, AgentRun
from agent_tooling import Tool, ToolError

from ._tool_calls import Tools, one_text, read_tools


TASK: Final = "task"
"""The one argument of an agent."""

_PARAMETERS: Final = one_text(
    TASK, "What to do, in full: nothing else of this conversation is seen."
)


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Agent:
    """The function behind an agent tool. A driver plays it as part of the calling run; any other caller makes it play a run of its own.

    Attributes:
        model: What calls its model.
        tools: What it may call.
        build: Makes its run for a task.
    """

    model: Callable[..., Any]
    tools: tuple[Tool, ...]
    build: Callable[[str], AgentRun]

    def __call__(self, task: str) -> str:
        """Play a run of its own to its end.

        Raises:
            ToolError: If there is no answer; its text is for the model.
        """
        from ._drive import drive  # noqa: PLC0415 - which plays agents, too

        played = AgentAnswer(name="agent", call_id="")
        for event in drive(self.build(task), self.model, self.tools):
            played.take(event)
        result = played.read()
        if result.error is not None:
            raise ToolError(result.error)
        return result.text


def agent_tool(  # noqa: PLR0913 - the settings of an agent
    name: str,
    description: str,
    model: Callable[..., Any],
    tools: Tools = (),
    *,
    instruction: str = "",
    maximum_iterations: int = 10,
    model_name: str | None = None,
    emit_intermediate_thoughts: bool = False,
    **settings: Any,
) -> Tool:
    """Make a tool of an agent: a model with its own tools and instruction, which is given a task and answers with text.

    `drive` and `adrive` play it as part of the run that calls it. It reads its task and nothing else of that run. What it uses counts in the caller's budgets at once, and its own
    `budgets` apply as well. It ends when the caller is cancelled or has no more time for tools; the caller then reads what it has so far. Agents may call agents, as deep as the
    outermost run allows (`max_agent_depth`). Its events are yielded as `AgentEvent`s, and it has a run log of its own beside the caller's.

    Args:
        name: The name that the caller's model calls it by.
        description: What that model is told of it.
        model: What calls its model, as for `drive`; where `adrive` plays the caller, it may be async.
        tools: What it may call, other agents among them.
        instruction: Its system message.
        maximum_iterations: The hard cap of its model calls, at least 1.
        model_name: What events call its model.
        emit_intermediate_thoughts: Whether its events show thoughts; its caller's model reads none.
        settings: What else `agent_loop.AgentRun` takes: `budgets`, `allowed_tools`, `answer_schema`, `fallback` and so on.

    Raises:
        DeclarationError: If the name is none that every API takes, or something among the tools is no tool.
        InvalidSettingError: If a setting is out of its range.
        TypeError: If `model` cannot be called, or `AgentRun` has no such setting.
        ValueError: If two tools have one name, or there are `approval_rules`: an agent that is called cannot wait for a person.
    """
    if not callable(model):
        expected = "a function that is called with a CallModel"
        raise TypeError(f"model: expected {expected}, got {type(model).__name__}")

    def build(task: str) -> AgentRun:
        system = [{"role": "system", "content": instruction}] if instruction else []
        return AgentRun(
            [*system, {"role": "user", "content": task}],
            maximum_iterations=maximum_iterations,
            emit_intermediate_thoughts=emit_intermediate_thoughts,
            model=model_name,
            **settings,
        )

    # A setting that is wrong is told here, and not in the middle of a run.
    if build("").approval_rules is not None:
        raise ValueError(
            "approval_rules: expected none of an agent; a rule of its caller's may name it"
        )
    agent = Agent(model=model, tools=tuple(read_tools(tools).values()), build=build)
    return Tool.from_schema(name, description, _PARAMETERS, agent)
