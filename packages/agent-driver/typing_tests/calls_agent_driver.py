"""What a strict type checker says of code that uses this package; it is checked and never run."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, assert_type

from agent_driver import adrive, drive
from agent_loop import (
    AgentRun,
    CallModel,
    Event,
    Finished,
    Message,
    ModelDelta,
    StopReason,
    TimeBudget,
    Usage,
)
from agent_tooling import Tool, tool


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def plain(text: str) -> str:
    """Return a text."""
    return text


def model(call: CallModel) -> Iterator[str | ModelDelta]:
    """Stream an answer."""
    yield f"round {call.round}"
    yield ModelDelta(text=".")


def whole(_: CallModel) -> dict[str, Any]:
    """Return an answer at once."""
    return {"text": "4", "tool_calls": []}


async def streamed(_: CallModel) -> AsyncIterator[str]:
    """Stream an answer, awaited."""
    yield "4"


def turn(history: list[object]) -> tuple[StopReason, Usage]:
    """Play a turn and keep what was said."""
    question = {"role": "user", "content": "?"}
    run = AgentRun([*history, question], maximum_iterations=3)
    tools: list[Tool | Callable[..., Any]] = [double, plain]
    stop = threading.Event()
    for event in drive(run, model, tools, cancelled=stop, time_budget=TimeBudget()):
        assert_type(event, Event)
        if isinstance(event, Finished):
            history += event.messages
            return event.reason, event.usage
    raise AssertionError


async def follow() -> None:
    """Play runs whose models are awaited, or are not."""
    run = AgentRun([Message(role="user", content="?")], maximum_iterations=1)
    async for event in adrive(run, streamed, [plain], cancelled=lambda: False):
        assert_type(event, Event)
    async for event in adrive(AgentRun([], maximum_iterations=1), whole, {"p": plain}):
        assert_type(event, Event)
