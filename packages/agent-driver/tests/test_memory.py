"""What a tool has said is let go of once the run was told of it, and what a step has asked once it is made."""

import gc
import logging
import weakref
from typing import ClassVar

import pytest
from scripted import Script, ask, use

from agent_driver import Agent, StepKey, drive
from agent_tooling import Tool, ToolOutput


class Piece:
    """Something large, of which this one keeps account."""

    made: ClassVar = weakref.WeakSet()

    def __init__(self):
        self.made.add(self)


def say():
    yield Piece()
    raise ValueError("and no more")


def say_at_once():
    Piece()
    raise SystemExit


def read(_pieces):
    return ToolOutput(content="", artifact=Piece())


@pytest.fixture
def no_collection(caplog):
    caplog.set_level(logging.CRITICAL, "agent_driver")  # A record that is kept keeps the error.
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("function", [say, say_at_once])
def test_nothing_of_a_tool_that_failed_waits_for_the_garbage_collector(run, function):
    tool = Tool.from_declaration({"identity": {"name": "say"}}, function, reader=read)
    for _event in drive(run, Script(ask(use("say"), use("say", call_id="c2")), ["Done."]), [tool]):
        pass
    del _event
    assert len(Piece.made) == 0


class Counting:
    """Whoever makes the steps, and counts the keys that there are meanwhile."""

    def __init__(self):
        self.counts = []

    async def step(self, _key, work, /):
        gc.collect()
        self.counts.append(sum(type(one) is StepKey for one in gc.get_objects()))
        return await work()


async def test_a_step_that_was_made_keeps_nothing_of_its_request():
    steps = Counting()
    looks = [ask(use("look")) for _ in range(5)]

    await Agent(Script(*looks, "Done."), [Tool.from_function(lambda: "Seen.", name="look")]).arun(
        "?", steps=steps
    )

    assert max(steps.counts) == steps.counts[0]
