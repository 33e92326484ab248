"""Agents whose runs are long, and what is stored of them."""

import asyncio
import json
import sqlite3
from collections import Counter
from contextlib import asynccontextmanager

from temporalio.client import Client

from agent_driver import Agent
from agent_endpoint import AgentExecutor, EndpointSettings
from agent_server.engine import open_engine
from agent_server.runs import FINISHED, RESTING, NewRun


def read(size: int) -> str:
    """Read something."""
    return "x" * size


def searcher(*, calls: int, size: int, heard: Counter | None = None) -> Agent:
    """Return an agent that makes so many model calls, each but the last with a result of a size."""
    made = heard if heard is not None else Counter()

    async def model(asked):
        number = sum(getattr(one, "role", None) == "tool" for one in asked.messages)
        made["calls"] += 1
        made["most"] = max(made["most"], sum(len(str(one.content)) for one in asked.messages[1:]))
        await asyncio.sleep(0)
        if number < calls - 1:
            arguments = json.dumps({"size": size})
            yield {
                "tool_calls": [{"call_id": f"c{number}", "name": "read", "arguments": arguments}]
            }
        else:
            yield "All is read."
        yield {"usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}

    return Agent(model, [read], maximum_iterations=calls + 1)


@asynccontextmanager
async def engine(folder, url, agents, **changes):
    """Yield the runs of a server of agents."""
    changes = {"max_event_bytes": 512 * 1024 * 1024, "stop_seconds": 0.2} | changes
    settings = EndpointSettings(state=folder, engine=url, **changes)
    async with open_engine(settings, AgentExecutor(agents)) as runs:
        yield runs


async def start(runs, agent, text="Read."):
    """Start a run, and return its id."""
    request = {"input": text}
    run, _ = await runs.create(NewRun(tenant="ada", agent=agent, request=request))
    return run.run_id


async def rests(runs, run_id, states=RESTING):
    """Return a run once it has ended or waits."""
    while (run := await runs.get(run_id, tenant="ada")).status not in states:  # noqa: ASYNC110 - as a client that asks
        await asyncio.sleep(0.05)
    return run


async def finish(runs, run_id):
    """Return a run once it has ended."""
    return await rests(runs, run_id, FINISHED)


async def events(runs, run_id):
    """Return all events of a run, each with its type and its data."""
    found, after = [], 0
    while page := await runs.read_events(run_id, tenant="ada", after=after, limit=1000):
        found += [(one.type, one.data) for one in page]
        after = page[-1].number
    return found


async def histories(url, run_id):
    """Return the histories of a run's workflow, each as a list of events, the first execution's first."""
    target, namespace = url.removeprefix("temporal://").split("/")
    client = await Client.connect(target, namespace=namespace)
    found = []
    handle = client.get_workflow_handle(run_id)
    run = (await handle.describe()).run_id
    while run:
        history = [
            one
            async for one in client.get_workflow_handle(run_id, run_id=run).fetch_history_events()
        ]
        found.insert(0, history)
        run = history[0].workflow_execution_started_event_attributes.continued_execution_run_id
    return found


def stored_beside(folder):
    """Return how many bytes of payloads stand beside the histories."""
    with sqlite3.connect(folder / "runs.sqlite") as database:
        return database.execute(
            "SELECT coalesce(sum(length(body)), 0) FROM agent_run_payloads"
        ).fetchone()[0]
