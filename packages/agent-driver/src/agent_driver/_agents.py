"""Agents that are called as tools."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from agent_loop import AgentAnswer, AgentRun, Finished
from agent_tooling import Tool, ToolError, ToolOutput

from ._guardrails import Guardrails
from ._setup import Setup, offer_tools
from ._tool_calls import Job, Tools, one_text, read_tools


_TASK: Final = "task"  # The one argument of an agent.

_PARAMETERS: Final = one_text(
    _TASK, "What to do, in full: nothing else of this conversation is seen."
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
        guardrails: What checks its run, besides what checks the tool calls of its callers.
    """

    model: Callable[..., Any]
    tools: tuple[Tool, ...]
    build: Callable[[str], AgentRun]
    guardrails: Guardrails = Guardrails()  # noqa: RUF009 - it never changes

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


class AgentCall:
    """One call of an agent.

    Args:
        caller: What the run is played with that makes it.
        job: The call.
        agent: The agent.
        is_over: Whether nobody waits for it any more.

    Attributes:
        agent: As given.
        setup: What the run of the agent is played with.
        answer: What the caller reads of it, once it has taken all events.

    Raises:
        RefusedAgentError: If it may not be made; its text is for the model.
    """

    def __init__(
        self, caller: Setup, job: Job, agent: Agent, *, is_over: Callable[[], bool]
    ) -> None:
        name, call_id = job.tool.name, job.call.call_id
        run = agent.build(str(job.args[_TASK]))
        # First, because it may refuse: then neither tools nor a log are made.
        caller.run.agents.adopt(run, name=name, call_id=call_id, seconds=caller.clock.run_seconds)
        guards = caller.guards.for_agent(agent.guardrails)
        calls = offer_tools(run, agent.tools, caller.settings, guards)
        run.bind_by(calls.find_arguments)  # For the approval rules of its callers.
        recorder = caller.recorder and caller.recorder.for_agent(job, calls.tools.values(), run)
        guards.recorder = recorder
        self.agent = agent
        self.setup = Setup(
            run=run,
            # How it is played, such as with how many tools at once, its caller decides.
            settings=caller.settings,
            calls=calls,
            guards=guards,
            clock=caller.clock.for_agent(caller.run, is_over=is_over),
            recorder=recorder,
        )
        self.answer = AgentAnswer(name=name, call_id=call_id)

    def read(self) -> ToolOutput:
        """Return the result of the call, once the agent's run has ended."""
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
