"""What the sandbox imports anew for each run that is played in it: the workflow, with agents that it makes there."""

import os
import random
import time

from recorded import MOST_HISTORY, build_agents
from temporalio import workflow

from agent_driver import Guardrails
from agent_endpoint import AgentExecutor
from agent_temporal._players import Player, add_player  # noqa: PLC2701 - as the engine does it
from agent_temporal._workflows import AgentRun  # noqa: PLC2701 - what is played


class _Run(AgentRun):
    guardrail = None

    async def play(self, run_id, number, told):
        agents = build_agents()
        if self.guardrail is not None:
            guardrails = Guardrails(tool_call=[lambda _: type(self).guardrail()])
            agents = {name: agent.with_(guardrails=guardrails) for name, agent in agents.items()}
        player = Player(
            executor=AgentExecutor(agents),
            lease_seconds=0.8,
            max_attempts=5,
            waiting_seconds=604800.0,
            most_waiting=1000,
            most_history=MOST_HISTORY if "continued" in workflow.info().workflow_id else 4000,
        )
        add_player("ReplayNamespace", "replay-None", player)
        return await AgentRun.run(self, run_id, number, told)


@workflow.defn(name="agent-run")
class PlayedRun(_Run):
    @workflow.run
    async def run(self, run_id: str, number: int = 1, told: int = 0):
        return await self.play(run_id, number, told)


@workflow.defn(name="agent-run")
class ReadsClock(_Run):
    guardrail = staticmethod(lambda: time.time() and None)

    @workflow.run
    async def run(self, run_id: str, number: int = 1, told: int = 0):
        return await self.play(run_id, number, told)


@workflow.defn(name="agent-run")
class ReadsRandom(_Run):
    guardrail = staticmethod(lambda: random.random() and None)

    @workflow.run
    async def run(self, run_id: str, number: int = 1, told: int = 0):
        return await self.play(run_id, number, told)


@workflow.defn(name="agent-run")
class ReadsEnvironment(_Run):
    guardrail = staticmethod(lambda: os.environ.get("HOME") and None)

    @workflow.run
    async def run(self, run_id: str, number: int = 1, told: int = 0):
        return await self.play(run_id, number, told)
