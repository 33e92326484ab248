"""Agents that are played as part of the run that calls them."""

from collections.abc import Callable
from typing import cast

from agent_loop import AgentAnswer, Finished
from agent_tooling import ToolOutput

from ._agents import TASK, Agent, AgentOutcome
from ._setup import Setup, offer_tools
from ._tool_calls import Job


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
        run = agent.build(str(job.args[TASK]))
        caller.run.agents.adopt(run, name=name, call_id=call_id, seconds=caller.clock.run_seconds)
        calls = offer_tools(run, agent.tools, caller.settings)
        run.bind_by(calls.find_arguments)  # For the approval rules of its callers.
        recorder = caller.recorder and caller.recorder.for_agent(job, calls.tools.values(), run)
        self.agent = agent
        self.setup = Setup(
            run=run,
            settings=caller.settings,
            calls=calls,
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
