"""Runs on an event loop of which as little as possible is asked."""

import asyncio
import threading
from typing import Any

from scripted import Script, as_tool, ask, use

from agent_driver import Agent


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
