"""A model that says what a script says."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from agent_driver import Agent, agent_tool
from agent_loop import CallModel
from agent_tooling import Tool


LIMIT = 0.15
"""Seconds that tests give what hangs."""


class Script:
    """Answers, round by round; the requests are kept."""

    def __init__(self, *answers: Any, model_id: str | None = None) -> None:
        self.answers = answers
        self.model_id = model_id
        self.requests: list[CallModel] = []

    def __call__(self, call: CallModel) -> Any:
        self.requests.append(call)
        answer = self.answers[call.round - 1]
        return answer() if callable(answer) else answer


def use(name: str, arguments: str = "{}", call_id: str = "c1") -> dict[str, Any]:
    """Return a tool call."""
    return {"call_id": call_id, "name": name, "arguments": arguments}


def ask(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an answer that asks for tools."""
    return [{"tool_calls": list(calls)}]


def as_tool(name: str, description: str, model: Any, tools: Any = (), **settings: Any) -> Tool:
    """Return an agent as a tool."""
    return agent_tool(name, description, Agent(model, tools, **settings))


def until(holds: Callable[[], Any]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


class StandingClock:
    """A clock that stands still until a test lets time pass, so that no machine is too slow for a limit.

    Attributes:
        seconds: What time it is.
        loop: The event loop that goes by it; None for threads alone.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.loop: asyncio.AbstractEventLoop | None = None

    def move(self, seconds: float) -> None:
        """Let time pass: where a loop goes by it, between two of its steps, each of which may begin a limit."""
        if self.loop is None:
            self._move(seconds)
        else:
            self.loop.call_soon_threadsafe(self._move, seconds)

    def _move(self, seconds: float) -> None:
        self.seconds += seconds


def build_timer(clock: StandingClock) -> type[threading.Timer]:
    """Return a timer of `threading` that goes by a clock."""

    class Timer(threading.Timer):
        def start(self) -> None:
            self.due = clock.seconds + self.interval
            super().start()

        def run(self) -> None:
            while not self.finished.wait(0.001):
                if clock.seconds >= self.due:
                    self.finished.set()
                    self.function(*self.args, **self.kwargs)

    return Timer


def no_thread_runs() -> bool:
    """Return whether all of the driver's threads have ended."""
    return not any("agent-driver" in thread.name for thread in threading.enumerate())
