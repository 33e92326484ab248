"""Agents with scripted models, executors of whole runs, and servers of them on Temporal in memory."""

import asyncio
import json
import time
from contextlib import asynccontextmanager

from agent_driver import Agent, agent_tool
from agent_endpoint import AgentExecutor, EndpointSettings
from agent_server.executor import (
    AgentDescription,
    InputAnswer,
    InputRequest,
    Question,
    RunResult,
    UnknownAgentError,
    Waiting,
)
from agent_server.runs import FINISHED, RESTING, NewAnswer, NewRun
from agent_temporal import open_temporal


URL = "temporal://127.0.0.1:7233/tests"
_PATIENCE = 600  # A run takes 20 s where others want the same processor.


def call(name, call_id="c1", **arguments):
    return {"call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def calls(*made):
    return {"tool_calls": list(made)}


def script(*answers):
    """Return a model that gives its answers one after the other, by the number of answers before; a text word by word."""

    async def model(asked):
        made = sum(getattr(one, "role", None) == "assistant" for one in asked.messages)
        answer = answers[min(made, len(answers) - 1)]
        if isinstance(answer, str):
            for word in answer.split(" "):
                await asyncio.sleep(0)
                yield f"{word} "
        else:
            yield answer
        yield {"usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}}

    return model


def pay(euros: int) -> str:
    """Pay somebody."""
    return f"paid {euros}"


def adding():
    """Return an agent that makes two calls at once."""
    asked = calls(call("pay", euros=2), call("pay", "c2", euros=3))
    return Agent(script(asked, "It was five."), [pay])


def asking():
    """Return an agent that calls a tool, and another agent at the same time."""
    inner = Agent(script(calls(call("pay", euros=1)), "Inner says so."), [pay])
    research = agent_tool("research", "Looks things up.", inner)
    asked = calls(call("research", task="Why?"), call("pay", "c2", euros=3))
    return Agent(script(asked, "Outer says so."), [research, pay])


def paying():
    """Return an agent that asks before it pays."""
    return Agent(
        script(calls(call("pay", euros=5)), "All is paid."), [pay], approval_rules={"pay": "always"}
    )


def searching(rounds):
    """Return an agent that makes so many rounds."""
    asked = [calls(call("pay", f"c{number}", euros=number)) for number in range(rounds)]
    return Agent(script(*asked, "All is found."), [pay], maximum_iterations=rounds + 2)


async def echo(run):
    """Answer with the question."""
    await run.tell("text", {"text": "hello"})
    return RunResult(status="succeeded", output=run.request["question"])


async def wonder(run):
    """Ask a question, and answer with its answer."""
    if run.resumption is None:
        return Waiting(request=InputRequest(question=Question(text="Why?")), state=b"asked")
    return RunResult(status="succeeded", output=run.resumption.answer.answer)


class Whole:
    """An executor of runs that are executed as a whole, of which each is a function."""

    name = "whole"
    version = "1"

    def __init__(self, **scripts):
        self.scripts = {"echo": echo, "wonder": wonder} | scripts

    def agents(self):
        return [AgentDescription(name=name) for name in self.scripts]

    def check(self, agent, request):
        if agent not in self.scripts:
            raise UnknownAgentError(agent)
        return request

    @asynccontextmanager
    async def opened(self):
        yield

    async def execute(self, run):
        return await self.scripts[run.agent](run)

    def interrupted(self, _run_id, _attempts):
        return None


def settings_of(folder, **changes):
    return EndpointSettings(
        **({"state": folder, "stop_seconds": 0.2, "lease_seconds": 0.8, "engine": URL} | changes)
    )


@asynccontextmanager
async def engine(folder, executor, **changes):
    """Yield the runs of a server."""
    executor = AgentExecutor(executor) if isinstance(executor, dict) else executor
    async with open_temporal(settings_of(folder, **changes), executor) as runs:
        yield Served(runs, executor)


class Served:
    """A server.

    Attributes:
        runs: Its runs.
        executor: What executes them.
    """

    def __init__(self, runs, executor):
        self.runs, self.executor = runs, executor

    async def start(self, agent, **request):
        """Start a run, and return its id."""
        request = request or {"input": "?"}
        self.executor.check(agent, request)
        run, _ = await self.runs.create(NewRun(tenant="ada", agent=agent, request=request))
        return run.run_id

    async def get(self, run_id):
        return await self.runs.get(run_id, tenant="ada")

    async def rests(self, run_id, states=RESTING):
        """Return a run once it has ended or waits."""
        deadline = time.monotonic() + _PATIENCE
        while (run := await self.get(run_id)).status not in states:
            assert time.monotonic() < deadline, run
            await asyncio.sleep(0.01)
        return run

    async def ends(self, run_id):
        return await self.rests(run_id, FINISHED)

    async def events(self, run_id):
        """Return all events of a run, each with its type and its data."""
        found, after = [], 0
        while page := await self.runs.read_events(run_id, tenant="ada", after=after, limit=1000):
            found += [(one.type, one.data) for one in page]
            after = page[-1].number
        return found

    async def answer(self, run, *, key=None, **given):
        """Answer what a run waits for."""
        new = NewAnswer(wait_id=run.waiting_for.wait_id, answer=InputAnswer(**given), key=key)
        return await self.runs.answer(run.run_id, new, tenant="ada")


async def eventually(is_so):
    """Wait until something is so."""
    deadline = time.monotonic() + _PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
