"""Models that have sessions: one for each run, closed with it."""

import asyncio
from contextlib import aclosing

import pytest
from scripted import Script, as_tool, ask, use

from agent_driver import Agent
from agent_loop import ModelFailure


GONE = ModelFailure(message="gone", is_transient=False, may_pass_elsewhere=True)


class Session:
    """What calls the model in one run."""

    def __init__(self, client):
        self.client = client
        self.calls = 0
        self.closed = 0

    def answer(self, call):
        assert not self.closed
        self.calls += 1
        return self.client(call)

    def close(self):
        self.closed += 1


class AsyncSession(Session):
    close = None

    async def aclose(self):
        await asyncio.sleep(0)
        self.closed += 1


class Broken(Session):
    def close(self):
        super().close()
        raise OSError("gone")


class BrokenAsync(AsyncSession):
    async def aclose(self):
        await super().aclose()
        raise OSError("gone")


class Client(Script):
    """A client that has sessions, and is not called itself."""

    def __init__(self, *answers, kind=Session, **settings):
        super().__init__(*answers, **settings)
        self.kind = kind
        self.sessions = []

    def answer(self, call):
        raise AssertionError(call)

    def session(self):
        self.sessions.append(self.kind(self))
        return self.sessions[-1]

    @property
    def used(self):
        """How often each session was called, all of them closed once."""
        assert all(session.closed == 1 for session in self.sessions)
        return [session.calls for session in self.sessions]


def look() -> str:
    """Look."""
    return "seen"


def in_loop(agent, *args, **options):
    return asyncio.run(agent.arun(*args, **options))


def streamed(agent, *args, **options):
    with agent.stream(*args, **options) as events:
        list(events)
    return events.result


RUNS = [
    (Agent.run, Session),
    (streamed, Session),
    (Agent.run, Broken),
    (in_loop, Session),
    (in_loop, AsyncSession),
    (in_loop, BrokenAsync),
]
every_run = pytest.mark.parametrize(("run", "kind"), RUNS)


@every_run
def test_a_run_has_one_and_closes_it(run, kind):
    client = Client(ask(use("look")), "Seen.", kind=kind)
    agent = Agent(client, [look])
    assert [run(agent, "?").text for _ in range(2)] == ["Seen.", "Seen."]
    assert client.used == [2, 2]


@every_run
def test_the_fallback_has_its_own(run, kind):
    first, second = Client([GONE], kind=kind), Client(None, "Two.", kind=kind)
    assert run(Agent(first, fallback=second), "?").text == "Two."
    assert (first.used, second.used) == ([1], [1])
    plain = Script(None, "Two.")
    assert run(Agent(first, fallback=plain), "?").text == "Two."
    assert first.used == [1, 1]


@every_run
def test_an_agent_that_is_called_as_a_tool_has_its_own_for_each_call(run, kind):
    inner = Client("Found.", kind=kind)
    task = '{"task": "?"}'
    calls = ask(use("search", task), use("search", task, "c2"))
    outer = Client(calls, "So.", kind=kind)
    assert run(Agent(outer, [as_tool("search", "Search.", inner)]), "?").text == "So."
    assert (outer.used, inner.used) == ([2], [1, 1])


def test_an_agent_that_is_called_as_a_function_closes_its_own():
    inner = Client("Found.")
    assert as_tool("search", "Search.", inner).function(task="?") == "Found."
    assert inner.used == [1]


@every_run
def test_a_run_that_waits_lets_go_of_it_and_goes_on_with_another(run, kind):
    client = Client(ask(use("look")), "Seen.", kind=kind)
    agent = Agent(client, [look], tool_approval="always")
    waiting = run(agent, "?").waiting
    assert client.used == [1]
    assert run(agent, resume=waiting, decisions=True).text == "Seen."
    assert client.used == [1, 1]


def test_walking_away_closes_it():
    client = Client(ask(use("look")), "Seen.")
    with Agent(client, [look]).stream("?") as events:
        next(events)
    assert client.used == [0]

    async def leave():
        async with aclosing(Agent(client, [look]).astream("?")) as events:
            await anext(events)

    asyncio.run(leave())
    assert client.used == [0, 0]


def test_a_function_of_a_client_is_called_as_it_is():
    client = Client("Hi.")
    session = client.session()
    assert Agent(session.answer).run("?").text == "Hi."
    assert (len(client.sessions), session.closed) == (1, 0)
