"""Agents with scripted models, and servers of them in memory."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx

from agent_driver import Agent
from agent_endpoint import AgentExecutor, EndpointSettings
from agent_server.engine import open_engine
from agent_server.http import build_app


def call(name, call_id="c1", **arguments):
    return {"call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def calls(*made):
    return {"tool_calls": list(made)}


def script(*answers):
    """Return a model that gives its answers one after the other, by the number of answers before; a text word by word."""

    async def model(asked):
        made = sum(getattr(one, "role", None) == "assistant" for one in asked.messages)
        answer = answers[min(made, len(answers) - 1)]
        if callable(answer):
            answer = answer(asked)
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


paying = Agent(
    script(calls(call("pay", euros=5)), "All is paid."), [pay], approval_rules={"pay": "always"}
)
adding = Agent(
    script(calls(call("pay", euros=2), call("pay", "c2", euros=3)), "It was five."), [pay]
)


def settings_of(folder, **changes):
    return EndpointSettings(
        **({"state": folder, "stop_seconds": 0.1, "lease_seconds": 0.8} | changes)
    )


@asynccontextmanager
async def engine(folder, agents, *, deps=None, **changes):
    """Yield the runs of a server of agents, and its executor."""
    settings = settings_of(folder, **changes)
    executor = AgentExecutor(agents, deps=deps, run_logs=settings.run_logs, traces=settings.traces)
    async with open_engine(settings, executor) as runs:
        yield runs, executor


@asynccontextmanager
async def asked(folder, agents, **changes):
    """Yield a client of a server of agents."""
    async with engine(folder, agents, **changes) as (runs, executor):
        changes.pop("deps", None)
        app = build_app(settings_of(folder, **changes), executor, runs)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client


async def rests(client, run_id):
    """Return a run once it has ended or waits."""
    while True:
        await client.get(f"/v1/runs/{run_id}/events", headers={"Accept": "text/event-stream"})
        run = (await client.get(f"/v1/runs/{run_id}")).json()
        if run["status"] not in {"queued", "running"}:
            return run


async def start(client, agent, request, **more):
    body = {"agent": agent, "input": request, **more}
    answer = await client.post("/v1/runs", json=body)
    assert answer.status_code == 202, answer.text
    return answer.json()["run_id"]


async def run(client, agent, request, **more):
    return await rests(client, await start(client, agent, request, **more))


async def events(client, run_id):
    """Return the events of a run, each with its type and its data."""
    page = (await client.get(f"/v1/runs/{run_id}/events", params={"limit": 1000})).json()
    return [(event["type"], event["data"]) for event in page["events"]]
