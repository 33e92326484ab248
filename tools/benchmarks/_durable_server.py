"""A server of small agents, to be measured: `python -m benchmarks._durable_server --database … --port 0`.

`… alone N` prints what each of N runs costs without any engine.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import typer

from agent_server.command import serve, takes_settings
from agent_server.executor import (
    AgentDescription,
    Execution,
    JsonObject,
    RunResult,
    StepWork,
)
from agent_server.settings import ServerSettings

from ._usage import tell_cost


_DELTAS = 20


class SmallAgents:
    """`answer` makes one model call of 20 deltas; `talk` tells 20 events a second for `seconds`, and `count` as many as it is asked for at once."""

    name = "benchmark"
    version = "1"

    def agents(self) -> Sequence[AgentDescription]:
        """Return the agents."""
        return [AgentDescription(name=name) for name in ("answer", "talk", "count")]

    def check(self, agent: str, request: JsonObject) -> JsonObject:  # noqa: ARG002 - the interface's
        """Take any request."""
        return request

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Hold nothing."""
        yield

    async def execute(self, run: Execution) -> RunResult:
        """Run an agent."""

        async def ask() -> bytes:
            for number in range(_DELTAS):
                await run.tell("text_delta", {"text": f"The quick brown fox {number} "})
                await asyncio.sleep(0)
            return b'{"text": "The quick brown fox"}'

        if run.agent == "talk":
            for number in range(int(20 * run.request["seconds"])):
                await run.tell("text_delta", {"text": f"The quick brown fox {number} "})
                await asyncio.sleep(0.05)
        elif run.agent == "count":
            for number in range(run.request["events"]):
                await run.tell("text_delta", {"text": f"The quick brown fox {number} "})
        else:
            await run.step("model:1", ask)
        return RunResult(status="succeeded", output="done")

    def interrupted(self, run_id: str, attempts: int) -> RunResult | None:  # noqa: ARG002 - the interface's
        """Make another attempt."""
        return None


class _Alone:
    """An execution that stores nothing."""

    run_id, tenant, agent, attempt, cancel_reason = "1", "default", "answer", 1, None
    request: JsonObject = {}  # noqa: RUF012 - never written
    metadata: JsonObject = {}  # noqa: RUF012 - never written

    async def tell(self, type_: str, data: JsonObject) -> int:  # noqa: ARG002 - the interface's
        return 1

    async def step(
        self,
        key: str,  # noqa: ARG002 - the interface's
        work: StepWork,
        *,
        retries: bool = True,  # noqa: ARG002 - the interface's
        after_events: bool = False,  # noqa: ARG002 - the interface's
    ) -> bytes:
        return await work()


async def _run_alone() -> None:
    await SmallAgents().execute(_Alone())


app = typer.Typer()


@app.command()
@takes_settings(ServerSettings)
def command(settings: ServerSettings) -> None:
    """Serve."""
    serve(SmallAgents(), settings)


if __name__ == "__main__":
    if sys.argv[1:2] == ["alone"]:
        asyncio.run(tell_cost(_run_alone, int(sys.argv[2])))
    else:
        app()
