"""An engine of another package for tests, whose steps are made wherever the test says."""

from contextlib import asynccontextmanager

from agents import Scripted, lay_out, new_run, query, settings_of

from agent_server.engine import RunService
from agent_server.store import Event, Telling, Try, open_store


class Making(Scripted):
    """An executor whose steps are functions, each named by its request."""

    def __init__(self, *, version="1", interrupted=None, scripts=None, **steps):
        super().__init__(version=version, interrupted=interrupted, **(scripts or {}))
        self.steps = {"say": say} | steps

    async def make_step(self, run, request):
        return await self.steps[request.decode()](run)


async def say(run):
    """Tell one thing, and return it."""
    await run.tell("text", {"text": run.key})
    return run.key.encode()


class Process:
    """A process of an engine.

    Attributes:
        store: Its store.
        runs: The runs as clients see them.
    """

    def __init__(self, store, executor):
        self.store = store
        self.runs = RunService(store.parts, executor, lambda: store.executing)

    async def start(self, agent="echo", **fields):
        run, _ = await self.runs.create(new_run(agent, **fields))
        return run.run_id

    async def begin(self, owner="workflow", **fields):
        """Return the id of a new run, and the hold on it."""
        run_id = await self.start(**fields)
        return run_id, await self.store.hold(run_id, owner)

    async def make(self, hold, key="a", *, number=1, step="say", telling=None):
        return await self.store.make_step(
            Try(hold=hold, key=key, number=number), step.encode(), telling or Telling()
        )

    async def told(self, run_id, tenant="ada"):
        """Return what stands in a run's events besides the server's own, and check that their numbers have no gaps."""
        events = await self.events(run_id, tenant)
        return [event.data["text"] for event in events if event.type == "text"]

    async def events(self, run_id, tenant="ada"):
        found = []
        while page := await self.runs.read_events(run_id, tenant=tenant, after=len(found)):
            found += page
        assert [event.number for event in found] == list(range(1, len(found) + 1))
        return found


@asynccontextmanager
async def process(database, executor=None, *, named="temporal", **settings):
    executor = executor or Making()
    bounds = lay_out(settings_of(database, **settings))
    async with open_store(bounds, executor, engine=named) as store:
        yield Process(store, executor)


def telling(*texts, first=0):
    """Return events that a run tells after some others."""
    events = [
        Event(number=0, type="text", created_at=1, text=b'{"text":"%b"}' % text.encode())
        for text in texts
    ]
    return Telling(first=first, events=events)


def left_of(database):
    """Return how many steps and marks of runs are stored."""
    steps, marks = (
        query(database, f"SELECT count(*) FROM {table}")[0][0]
        for table in ("agent_run_steps", "agent_run_marks")
    )
    return steps, marks
