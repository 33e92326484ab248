"""What holds whatever happens."""

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from agents import Scripted, engine, start, until, watch
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_server.executor import RunResult
from agent_server.runs import FINISHED


def told(run, texts):
    return [run.tell("text", {"text": text}) for text in texts]


@settings(max_examples=settings.default.max_examples // 4)
@given(
    st.lists(
        st.builds(str.__mul__, st.characters(exclude_categories=["Cs"]), st.integers(0, 3000)),
        max_size=20,
    ),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)), min_size=1, max_size=6),
)
async def test_events_read_back_the_same_however_they_were_batched_and_are_cut(texts, cuts):
    async def tell(run):
        for telling in told(run, texts):
            await telling
        return RunResult(status="succeeded")

    with tempfile.TemporaryDirectory() as folder:
        async with engine(f"sqlite:///{folder}/runs.sqlite", Scripted(tell=tell)) as runs:
            run_id = await start(runs, "tell")
            whole = await watch(runs, run_id)
            parts = [
                await runs.read_events(run_id, tenant="ada", after=after, limit=limit)
                for after, limit in cuts
            ]
            tails = [await watch(runs, run_id, after=after) for after, _ in cuts]

    assert [event.data["text"] for event in whole[1:-1]] == texts
    assert [event.number for event in whole] == list(range(1, len(texts) + 3))
    for (after, limit), part, tail in zip(cuts, parts, tails, strict=True):
        assert list(part) == whole[after : after + limit]
        assert tail == whole[after:]


class World:
    """A run that does what it is told to, and those who take it away."""

    def __init__(self, folder):
        self.path = Path(folder) / "runs.sqlite"
        self.commands = asyncio.Queue()
        self.recorded = {}
        self.repeated = []
        self.attempts = 0

    async def execute(self, run):
        """Obey commands until one ends the run; an attempt that was taken away hears nothing more."""
        self.attempts = max(self.attempts, run.attempt)
        while True:
            command = await self.commands.get()
            if command == "end":
                return RunResult(status="succeeded", output=run.attempt)
            if command == "tell":
                await run.tell("text", {"attempt": run.attempt})
            else:
                await self.take_step(run, command)

    async def take_step(self, run, key):
        async def work():
            if key in self.recorded:
                self.repeated.append(key)
            await run.tell("stepping", {"key": key})
            return str(run.attempt).encode()

        result = await run.step(key, work)
        assert self.recorded.setdefault(key, result) == result

    def take_away(self):
        """Do what another server does that took this one for dead."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute(
                "UPDATE agent_runs SET status = 'queued', server = NULL WHERE status = 'running'"
            )


ACTIONS = st.lists(st.sampled_from(["tell", "a", "b", "take", "restart"]), max_size=6)


async def end(world, runs, run_id):
    """Say that the run shall end until it has: an attempt that was taken away may be the one that hears it."""
    while (await runs.get(run_id, tenant="ada")).status not in FINISHED:
        world.commands.put_nowait("end")
        await asyncio.sleep(0.05)


async def play(world, actions):
    """Let things happen, with as many restarts as there are, and return the run and its events."""
    executor = Scripted(obey=world.execute)
    run_id = None
    settings = {"stop_seconds": 0, "max_attempts": 99}
    lives = " ".join(actions).split("restart")
    for number, life in enumerate(lives, start=1):
        async with engine(f"sqlite:///{world.path}", executor, **settings) as runs:
            run_id = run_id or await start(runs, "obey")
            await until(runs, run_id, lambda run: run.status == "running")
            for action in life.split():
                if action == "take":
                    world.take_away()
                else:
                    world.commands.put_nowait(action)
                await asyncio.sleep(0.02)
            if number == len(lives):
                await end(world, runs, run_id)
    async with engine(f"sqlite:///{world.path}", executor) as runs:
        return await runs.get(run_id, tenant="ada"), await watch(runs, run_id)


@settings(max_examples=settings.default.max_examples // 4)
@given(ACTIONS)
async def test_whoever_takes_a_run_away_nothing_is_lost_repeated_or_told_twice(actions):
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder)
        run, events = await play(world, actions)

    assert run.status == "succeeded"
    assert world.repeated == []
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    attempts = [event.data["attempt"] for event in events if event.type == "run_started"]
    assert attempts == list(range(1, run.attempt + 1))
    current = 0
    for event in events:
        # Nothing of an attempt comes after the next one has begun.
        current = event.data["attempt"] if event.type == "run_started" else current
        assert event.data.get("attempt", current) == current
    steps = [event.data["key"] for event in events if event.type == "stepping"]
    assert set(steps) >= set(world.recorded)
