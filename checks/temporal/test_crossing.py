"""Runs whose histories are full every few steps, many at once, with news that comes at any moment."""

import asyncio
import json
import random
import sys
from collections import Counter
from functools import partial

import pytest

from agent_driver import Agent, agent_tool
from agent_temporal._players import Player  # noqa: PLC2701 - with histories that are full soon
from agent_temporal._sweep import Sweep  # noqa: PLC2701 - which is left out
from long_agents import engine, events, finish, histories, start


RUNS = 25
ROUNDS = 3
_MOST_HISTORY = 30


async def wait(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"


def asking(build_round, rounds):
    """Return a model that asks for so many rounds of calls, whenever it likes."""

    async def model(asked):
        number = sum(getattr(one, "role", None) == "assistant" for one in asked.messages)
        await asyncio.sleep(random.uniform(0, 0.05))
        yield {"tool_calls": build_round(number)} if number < rounds else "Done."

    return model


def build_calls(number):
    """Return calls that end in any order, of which one is of an agent."""
    waits = (waiting(f"{key}{number}") for key in "ab")
    return [*waits, call("research", f"r{number}", task=f"Why {number}?")]


def waiting(call_id):
    return call("wait", call_id, seconds=round(random.uniform(0, 0.2), 6))


def call(name, call_id, **arguments):
    return {"call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def busy() -> Agent:
    """Return an agent that does much at once."""
    inner = Agent(asking(lambda number: [waiting(f"c{number}")], 1), [wait])
    research = agent_tool("research", "Looks.", inner)
    return Agent(asking(build_calls, ROUNDS), [wait, research], maximum_iterations=ROUNDS + 2)


@pytest.fixture
async def runs(tmp_path, engine_url, monkeypatch):
    """The runs of a server without a sweep, which would make up for what a workflow does not hear."""

    async def rest(_sweep):
        await asyncio.Event().wait()

    monkeypatch.setattr(Sweep, "work", rest)
    shorter = partial(Player, most_history=_MOST_HISTORY)
    monkeypatch.setattr("agent_temporal._engine.Player", shorter)
    async with engine(tmp_path, engine_url, {"busy": busy()}) as found:
        yield found


async def test_what_is_told_in_any_order_is_told_once_in_many_histories(runs, engine_url):
    async def run():
        run_id = await start(runs, "busy")
        async with asyncio.timeout(300):
            ended = await finish(runs, run_id)
        assert ended.status == "succeeded", ended
        told = await events(runs, run_id)
        started, made = (count(told, f"tool_{what}") for what in ("started", "ended"))
        assert started == made
        assert set(made.values()) == {1}
        assert len(made) == 4 * ROUNDS
        return len(await histories(engine_url, run_id))

    lengths = await asyncio.gather(*(run() for _ in range(RUNS)))

    sys.stdout.write(f"{RUNS} runs of {sum(lengths) / RUNS:.1f} histories\n")
    assert min(lengths) > 1


async def test_a_run_that_is_cancelled_at_any_moment_ends(runs):
    async def run():
        run_id = await start(runs, "busy")
        await asyncio.sleep(random.uniform(0, 6))
        await runs.cancel(run_id, tenant="ada")
        async with asyncio.timeout(300):
            ended = await finish(runs, run_id)
        return ended.status

    ends = Counter(await asyncio.gather(*(run() for _ in range(RUNS))))

    sys.stdout.write(f"{dict(ends)}\n")
    assert not ends["failed"]
    assert ends["cancelled"]


def count(told, kind):
    return Counter((*data["path"], data["call_id"]) for type_, data in told if type_ == kind)
