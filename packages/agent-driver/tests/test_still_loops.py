"""Runs on an event loop that nothing may be asked of, as that of a workflow is, which is played again from its history."""

import asyncio
import os
import random
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from elsewhere import KINDS, by_path, merged, play_through, send
from scripted import Script, as_tool, ask, use

from agent_driver import Agent, Budgets, StepKey, agent_tool


class StillLoop(asyncio.BaseEventLoop):
    """An event loop that has no timers, no sockets and no clock but its records'."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self
        self.seconds = 1e9

    def select(self, _: float | None) -> list[Any]:
        return []

    def _process_events(self, _: list[Any]) -> None: ...

    def _write_to_self(self) -> None: ...

    def _run_once(self) -> None:
        super()._run_once()  # type: ignore[misc]
        if not self._ready:  # type: ignore[attr-defined]
            self.stop()

    def time(self) -> float:
        return self.seconds

    def call_at(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a timer was set")

    call_later = call_at


class Waiting:
    """A book of steps that wait until somebody has made them."""

    def __init__(self, loop: StillLoop, records: dict[str, bytes]) -> None:
        self.loop = loop
        self.records = records
        self.open: dict[StepKey, asyncio.Future[bytes]] = {}

    async def step(self, key, _, /):
        self.open[key] = self.loop.create_future()
        return await self.open[key]

    def go_on(self, agent: Agent[Any, Any]) -> None:
        """Make the steps that are asked for, the last one first, each in a process of its own as it were."""
        asked, self.open = self.open, {}
        for key, future in reversed(asked.items()):
            if key not in self.records:
                self.records[key] = asyncio.run(agent.make_step(send(key.request)))
            self.loop.seconds += 0.5
            future.set_result(self.records[key])


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("a workflow may not")


OUTSIDE = [
    *((time, "monotonic"), (time, "time"), (time, "perf_counter"), (random, "random")),
    *((os, "urandom"), (threading.Thread, "start")),
]


def play_still(build: Any, records: dict[str, bytes], prompt: Any = "?", **options: Any) -> Any:
    """Return the events of a run and its result. Its steps are made outside of its loop."""
    loop = StillLoop()
    steps = Waiting(loop, records)
    stream = build().astream(prompt, steps=steps, **options)
    events: list[Any] = []

    async def read() -> None:
        events.extend([event async for event in stream])

    task = loop.create_task(read())
    while not task.done():
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in OUTSIDE:
                patch.setattr(owner, name, refuse)
            loop.run_forever()
        assert steps.open or task.done(), "it waits for what is no step"
        steps.go_on(build())
    task.result()
    loop.close()
    return events, stream.result


def play_twice(build: Any, **options: Any) -> Any:
    """Play a run, and once more from its records; return the first's events and result."""
    events, result = play_still(build, records := {}, **options)
    again = play_still(build, dict(records), **options)
    assert (merged(again[0]), again[1]) == (merged(events), result)
    return events, result


@pytest.mark.parametrize("build", KINDS)
def test_a_run_whose_steps_are_made_elsewhere_needs_nothing_of_its_loop(build):
    events, result = play_twice(build)
    told, plain, _ = asyncio.run(play_through(build()))
    assert replace(result, waiting=None) == plain
    assert by_path(events).keys() == told.keys()
    if result.waiting is not None:
        resumed = {"prompt": None, "resume": result.waiting, "decisions": True}
        _, result = play_twice(build, **resumed)
        assert result == asyncio.run(play_through(build(), **resumed))[1]


def test_the_time_of_a_run_is_that_of_its_loop():
    def build() -> Agent[Any, Any]:
        script = Script(ask(use("no")), ask(use("no")), *["Done."] * 4)
        return Agent(script, budgets=Budgets(max_seconds=0.8))

    _, result = play_twice(build)
    assert (result.value, result.reason) == ("Done.", "budget")


async def test_an_agent_that_is_called_as_a_tool_waits_without_a_timer(monkeypatch):
    loop, may_go_on, timers = asyncio.get_running_loop(), asyncio.Event(), list[Any]()

    async def model(_):
        await may_go_on.wait()
        return "There."

    inner = as_tool("find", "Finds.", model)
    agent = Agent(Script(ask(use("find", '{"task": "it"}')), "Done."), [inner])
    monkeypatch.setattr(loop, "call_at", lambda *given, **_: timers.append(given))
    monkeypatch.setattr(loop, "call_later", lambda *given, **_: timers.append(given))
    timer = threading.Timer(0.4, lambda: loop.call_soon_threadsafe(may_go_on.set))
    timer.start()
    assert (await agent.arun("?")).value == "Done."
    assert timers == []


class RoundingLoop(StillLoop):
    """A still loop with timers, which it rounds to a millisecond."""

    def __init__(self) -> None:
        super().__init__()
        self.delays: list[float] = []
        self.due: list[asyncio.TimerHandle] = []

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> Any:
        self.delays.append(round(when - self.seconds, 3))
        self.due.append(asyncio.TimerHandle(when, callback, args, self, context))
        return self.due[-1]

    def call_later(self, delay: float, callback: Any, *args: Any, context: Any = None) -> Any:
        return self.call_at(self.seconds + delay, callback, *args, context=context)

    def fire(self) -> None:
        """Go on with the last timer."""
        self.seconds += self.delays[-1]
        timer = self.due[-1]
        if not timer.cancelled():
            timer._run()


def test_an_agent_ends_with_its_timer_although_its_loop_rounds():
    loop = RoundingLoop()
    steps = Waiting(loop, {})
    thinker = agent_tool("think", "Thinks.", Agent(Script("So.")), timeout=0.1004)
    agent = Agent(Script(ask(use("think", '{"task": "it"}')), "Done."), [thinker])
    task = loop.create_task(agent.arun("?", steps=steps))
    loop.run_forever()
    steps.go_on(agent)
    for _ in range(2):  # Until its time is up, and as long again as a step may take to end.
        loop.run_forever()
        loop.fire()
    loop.run_forever()
    steps.open = {key: step for key, step in steps.open.items() if not key.path}
    steps.go_on(agent)
    loop.run_forever()
    assert task.result().value == "Done."
    assert loop.delays[:2] == [0.1, 0.4]
    loop.close()
