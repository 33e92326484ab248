"""Tools that wrap asynchronous functions, in whatever way."""

import asyncio
import functools

import pytest
from scripted import Script, ask, until, use

from agent_driver import adrive
from agent_loop import AgentRun, ToolCallEnded


async def fetch(place: str) -> str:
    """Fetch something."""
    await asyncio.sleep(0)
    return f"from {place}"


async def stream(place: str):
    """Fetch something in pieces."""
    yield "from "
    yield place


def hand_on(place: str):
    """Fetch something."""
    return fetch(place)


def hand_on_pieces(place: str):
    """Fetch something."""
    return stream(place)


@functools.wraps(fetch)
def decorated(place):
    return fetch(place)


@functools.wraps(fetch)
def made_sync(place):
    return asyncio.run(fetch(place))


class Fetcher:
    """Fetch something."""

    async def __call__(self, place: str) -> str:
        return await fetch(place)


WRAPPED = {
    "async": fetch,
    "in pieces": stream,
    "handed on": hand_on,
    "handed on in pieces": hand_on_pieces,
    "decorated": decorated,
    "made sync": made_sync,
    "an object": Fetcher(),
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_a_tool_may_wrap_an_asynchronous_function_as_it_likes(play, run, kind):
    tools = {"fetch": WRAPPED[kind]}
    events = play(run, Script(ask(use("fetch", '{"place": "here"}')), "So."), tools)
    [end] = [event for event in events if isinstance(event, ToolCallEnded)]
    assert (end.result.content, end.result.error) == ("from here", None)


async def test_what_a_wrapper_returns_is_awaited_by_the_loop_of_the_run():
    loops = []

    async def ask_loop() -> None:
        loops.append(asyncio.get_running_loop())

    @functools.wraps(ask_loop)
    def look():
        return ask_loop()

    run = AgentRun([], maximum_iterations=3)
    async for _ in adrive(run, Script(ask(use("look")), "So."), {"look": look}):
        pass
    assert loops == [asyncio.get_running_loop()]


def test_what_a_wrapper_returns_is_let_go_of_with_the_run(play, run):
    stopped = []

    async def wait() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            stopped.append(True)

    def look():
        """Look."""
        return wait()

    asked = []

    def cancelled():
        asked.append(1)
        return len(asked) > 6

    events = play(run, Script(ask(use("look"))), [look], cancelled=cancelled)
    assert events[-1].reason == "cancelled"
    until(lambda: stopped)
