"""A small agent system for tests, and ways to run it."""

import asyncio
import functools
import json
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import sqlalchemy as sa

from agent_server._store.database import open_database  # noqa: PLC2701 - what lays tables out
from agent_server.engine import open_engine
from agent_server.executor import (
    AgentDescription,
    InputRequest,
    Question,
    RunResult,
    UnknownAgentError,
    Waiting,
    WaitingCall,
)
from agent_server.runs import FINISHED, NewRun
from agent_server.settings import ServerSettings


type Script = Callable[..., Awaitable[RunResult]]

# Seconds after which something never happens: what takes a second takes a minute on a busy machine.
PATIENCE = 600


async def echo(run):
    """Tell the question, ask a model once, and answer."""
    await run.tell("asked", {"question": run.request.get("question")})

    async def ask():
        await run.tell("text", {"text": "hello"})
        return json.dumps({"answer": run.request.get("question")}).encode()

    answer = json.loads(await run.step("model:1", ask))
    return RunResult(status="succeeded", output=answer["answer"])


PAY = WaitingCall(call_id="c1", name="pay", arguments='{"euros": 5}', server="bank")
OPEN = WaitingCall(call_id="c2", name="open_door", arguments="{}")


async def pay(run):
    """Wait twice: for an approval with a result of the client's, then for the answer to a question."""
    if run.resumption is None:
        await run.tell("text", {"text": "May I?"})
        request = InputRequest(approvals=[PAY], results=[OPEN])
        return Waiting(request=request, state=b"first")
    state, answer = run.resumption.state, run.resumption.answer
    if state == b"first":
        said = {"paid": answer.approvals["c1"].approved, "door": answer.results["c2"]}
        question = Question(text="How was it?", schema={"type": "string"})
        return Waiting(request=InputRequest(question=question), state=json.dumps(said).encode())
    said = json.loads(state) | {"was": answer.answer, "part": run.part}
    return RunResult(status="succeeded", output=said, state=b"the conversation")


class Scripted:
    """An executor of which each agent is a function."""

    name = "scripted"

    def __init__(self, *, version="1", interrupted=None, **scripts: Script):
        self.version = version
        self.scripts = {"echo": echo} | scripts
        self.verdict = interrupted or (lambda _run_id, _attempts: None)

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

    def interrupted(self, run_id, attempts):
        return self.verdict(run_id, attempts)


class GivenSettings(ServerSettings):
    """Settings that are only given: to look for them in the environment takes longer than most requests."""

    @classmethod
    def settings_customise_sources(cls, _cls, init_settings, **_others):
        return (init_settings,)


@functools.cache
def _laid_out():
    """Return the file of a database without rows: to make its tables takes longer than most runs."""
    with tempfile.TemporaryDirectory() as folder:
        open_database(GivenSettings(state=folder), Scripted()).close()
        return Path(folder, "runs.sqlite").read_bytes()


def lay_out(settings):
    """Write a database without rows where settings name a file that is not there yet, and return the settings."""
    given = settings.database
    url = sa.make_url(
        given.get_secret_value() if given else f"sqlite:///{settings.state}/runs.sqlite"
    )
    path = Path(url.database)
    if url.get_backend_name() == "sqlite" and path.parent.is_dir() and not path.exists():
        path.write_bytes(_laid_out())
    return settings


def settings_of(database, **changes):
    return GivenSettings(
        database=database, **({"stop_seconds": 0.2, "lease_seconds": 0.8} | changes)
    )


@asynccontextmanager
async def engine(database, executor=None, **settings):
    bounds = lay_out(settings_of(database, **settings))
    async with open_engine(bounds, executor or Scripted()) as runs:
        yield runs


def new_run(agent="echo", tenant="ada", **fields):
    request = fields.pop("request", {"question": "why"})
    return NewRun(tenant=tenant, agent=agent, request=request, **fields)


async def start(runs, agent="echo", **fields):
    run, _ = await runs.create(new_run(agent, **fields))
    return run.run_id


async def finish(runs, run_id, tenant="ada", seconds=PATIENCE):
    """Return a run once it has ended."""
    return await until(runs, run_id, lambda run: run.status in FINISHED, tenant, seconds)


async def until(runs, run_id, is_so, tenant="ada", seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not is_so(run := await runs.get(run_id, tenant=tenant)):
        assert time.monotonic() < deadline, run
        await asyncio.sleep(0.01)
    return run


async def eventually(is_so, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


@asynccontextmanager
async def stopwatch():
    """Yield what tells how many seconds the block takes, of which none pass while this process stands still."""
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    try:
        yield lambda: ticks * 0.01
    finally:
        ticking.cancel()


async def watch(runs, run_id, after=0, tenant="ada"):
    """Return all events of a run once it has ended."""
    return [
        event
        async for batch in runs.watch_events(run_id, tenant=tenant, after=after)
        for event in batch
    ]


def query(database, *statements):
    """Execute statements beside all servers, and return what the last one finds."""
    url = sa.make_url(database)
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    opened = sa.create_engine(url, poolclass=sa.NullPool)
    with opened.begin() as connection:
        for statement in statements:
            found = connection.execute(sa.text(statement))
        return found.all() if found.returns_rows else []


@contextmanager
def away(path):
    """Keep a database for oneself, so that nobody else can write."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def let_server_die(database):
    """Make of a server that was stopped one that died: its waiting runs are its own still."""
    query(
        database,
        "INSERT INTO agent_servers (name, token, executor, version, key_id, beat, keys)"
        " VALUES ('dead', '0', 'scripted', '1', 'plain', 7, 'plain')",
        "UPDATE agent_runs SET status = 'running', server = 'dead' WHERE status = 'queued'",
    )
