"""What a strict type checker says of code that uses this package; it is checked and never run."""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from pydantic import BaseModel

from agent_driver import (
    Agent,
    Result,
    RunStream,
    StepKey,
    StepRequest,
    Steps,
    StepWork,
    WatchesSteps,
    adrive,
    agent_tool,
    drive,
)
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
from agent_tooling import Context, Tool, tool


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


class Ticket(BaseModel):
    """An answer."""

    title: str


@dataclass
class Note:
    """Another one."""

    text: str


class Tag(TypedDict):
    """A third one."""

    name: str


@dataclass
class Database:
    """What tools need."""

    url: str


@tool
def look_up(context: Context[Database], key: str) -> str:
    """Look something up."""
    return f"{context.deps.url}/{key}"


def declare() -> None:
    """Declare agents, whose answers have the types that they were declared with."""
    texts = Agent(model, [double, plain], instruction="Be brief.")
    assert_type(texts.run("?"), Result[str])
    assert_type(texts.run("?").value, str)
    assert_type(Agent(model, answer=Ticket).run("?").value, Ticket)
    assert_type(Agent(model, [double], answer=Note).run("?").value, Note)
    assert_type(Agent(model, answer=Tag).run("?").value, Tag)
    assert_type(Agent(model, answer=list[Tag]).run("?").value, list[Tag])
    assert_type(texts.with_(answer=Ticket).run("?").value, Ticket)
    assert_type(texts.stream("?"), RunStream[str])
    for event in texts.stream("?"):
        assert_type(event, Event)
    assert_type(texts.with_(tools=[*texts.tools, plain]).run("?").value, str)
    assert_type(Agent(model, answer=Ticket).with_(tools=[plain]).run("?").value, Ticket)
    assert_type(texts.with_(answer=Ticket, tools=[plain]).run("?").value, Ticket)
    assert_type(texts.fingerprint, str)
    Agent(model, maximum_iteration=3)  # type: ignore[call-overload] # pyright: ignore[reportCallIssue]
    texts.run("?", histroy=[])  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]


def depend() -> None:
    """Declare agents whose tools have dependencies."""
    agent = Agent(model, [look_up, double, plain], deps=Database)
    assert_type(agent, Agent[str, Database])
    agent.run("?", deps=Database("db"))
    agent.run("?", deps=3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    assert_type(agent.with_(tools=[*agent.tools, plain]), Agent[str, Database])
    called = agent_tool("look", "Looks.", agent)
    assert_type(called, Tool[Database])
    Agent(model, [called], deps=int)  # type: ignore[misc] # pyright: ignore[reportArgumentType, reportCallIssue]


async def wait() -> None:
    """Run an agent in an event loop."""
    assert_type((await Agent(streamed, answer=Note).arun("?")).value, Note)
    async with Agent(streamed).astream("?") as events:
        async for event in events:
            assert_type(event, Event)
    assert_type(events.result, Result[str])


class Book:
    """Records steps."""

    async def step(
        self, key: str, work: Callable[[], Awaitable[bytes]], *, retries: bool = True
    ) -> bytes:
        """Do a step."""
        return await work() if retries else key.encode()


class Keys:
    """Records steps by what their keys say."""

    async def step(self, key: StepKey, work: StepWork) -> bytes:
        """Do a step."""
        assert_type(key.path, tuple[str, ...])
        assert_type(key.request, StepRequest)
        return await work()

    async def begin_step(self, key: StepKey) -> None:
        """Hear of a step."""
        assert_type(key.tool, str | None)


async def make(agent: Agent[str, int], key: StepKey) -> None:
    """Make a step elsewhere."""
    request = StepRequest.load(key.request.dump(), key.request.messages)

    async def hear(event: Event) -> None: ...

    assert_type(await agent.make_step(request, deps=3, on_event=hear), bytes)
    await agent.make_step(request, deps="3")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


async def record() -> None:
    """Have the steps of runs recorded."""
    assert_type((await Agent(streamed).arun("?", steps=Book())).value, str)
    steps: Steps = Keys()
    watching: WatchesSteps = Keys()
    await Agent(streamed).arun("?", steps=steps)
    await watching.begin_step(StepKey("model:1"))
    await Agent(streamed).arun("?", steps=3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
