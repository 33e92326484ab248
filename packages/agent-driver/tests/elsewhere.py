"""Runs of many kinds whose steps are recorded, or made by another agent that was declared alike."""

import asyncio
from dataclasses import replace
from itertools import groupby
from typing import Any

from scripted import Script, as_tool, ask, use

from agent_driver import (
    Agent,
    AgentEvent,
    CallModel,
    Guardrails,
    ShowReasoning,
    ShowText,
    StepKey,
    StepRequest,
    ToolCallEnded,
    Window,
)
from agent_loop import AskApproval, ModelFailure, dump_messages, load_messages
from agent_tooling import tool


class Book:
    """A book of steps, which are made where the run is played."""

    def __init__(self, records: dict[str, bytes] | None = None) -> None:
        self.records = dict(records or {})
        self.keys: list[StepKey] = []

    async def step(self, key, work, /):
        self.keys.append(key)
        if key not in self.records:
            self.records[key] = await self.make(key, work)
        return self.records[key]

    async def make(self, _, work):
        return await work()


class Elsewhere(Book):
    """A book whose steps are made by another agent, to which they are sent as text."""

    def __init__(self, agent: Agent[Any, Any], **options: Any) -> None:
        super().__init__()
        self.agent = agent
        self.options = options
        self.told: dict[str, list[Any]] = {}

    async def make(self, key, _):
        told = self.told.setdefault(key, [])

        async def hear(event):
            told.append(event)

        return await self.agent.make_step(send(key.request), on_event=hear, **self.options)


def send(request: StepRequest) -> StepRequest:
    """Return a request as it comes to another process."""
    text = dump_messages(request.messages)
    sent = StepRequest.load(request.dump(), load_messages(text))
    assert sent == request
    return sent


def merged(events: Any) -> list[Any]:
    """Return events in a form that is the same however a run is played.

    Adjacent texts are one, behind the thoughts among them, and nothing in them is new each time.
    """
    found: list[Any] = []
    for is_shown, group in groupby(
        events, lambda event: isinstance(event, ShowText | ShowReasoning)
    ):
        if not is_shown:
            found += map(lasting, group)
            continue
        shown = [*group]
        for kind in (ShowReasoning, ShowText):
            text = "".join(event.text for event in shown if isinstance(event, kind))
            found += [kind(text=text)] if text else []
    return found


def lasting(event: Any) -> Any:
    """Return an event without what is new whenever a run is played."""
    match event:
        case AgentEvent():
            return replace(event, event=lasting(event.event))
        case CallModel():  # Two tools that are made alike are not equal.
            return replace(event, tools=tuple(one.name for one in event.tools))
        case AskApproval():  # How long the run has lasted is in its snapshot.
            return replace(event, snapshot=None)
        case _:
            return event


def by_path(events: Any) -> dict[tuple[str, ...], list[Any]]:
    """Return the events of each agent: those of two that run at the same time may come in any order."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for event in events:
        is_agent = isinstance(event, AgentEvent)
        place = event.path if is_agent else ()
        found.setdefault(place, []).append(event.event if is_agent else event)
    return {path: merged(in_order(told)) for path, told in found.items()}


def in_order(events: list[Any]) -> list[Any]:
    """Return events with the ends of calls that run at the same time in the order of their ids."""
    found: list[Any] = []
    for is_end, group in groupby(events, lambda event: isinstance(event, ToolCallEnded)):
        told = [*group]
        found += sorted(told, key=lambda event: event.call.call_id) if is_end else told
    return found


async def play_through(agent: Agent[Any, Any], prompt: Any = "?", **options: Any) -> Any:
    """Return the events of a run by the agents that they are of, and its result without its snapshot."""
    stream = agent.astream(prompt, **options)
    events = [event async for event in stream]
    return by_path(events), replace(stream.result, waiting=None), stream.result.waiting


async def look(key: str) -> str:
    """Look."""
    await asyncio.sleep(0)
    return f"found {key}"


def count(number: int) -> int:
    """Count."""
    return number + 1


def look_long(number: int) -> str:
    """Look."""
    return f"{number} " * 1_500


@tool(approval="always")
def pay(key: str) -> str:
    """Pay."""
    return f"paid {key}"


def looks(*ids: str, name: str = "look") -> list[Any]:
    return ask(*(use(name, f'{{"key": "{call_id}"}}', call_id) for call_id in ids))


def parallel_tools() -> Agent[Any, Any]:
    first = ask(*looks("a", "b")[0]["tool_calls"], use("count", '{"number": 1}', "c"), use("no"))
    say = [{"text": "Let me see. "}, *looks("a")]
    return Agent(Script(first, say, [{"text": "Do"}, {"text": "ne."}]), [look, count])


def nested_agents() -> Agent[Any, Any]:
    inner = as_tool("inner", "Finds.", Script(looks("x"), "<think>Hm.</think>There."), [look])
    middle = as_tool(
        "middle", "Asks.", Script(ask(use("inner", '{"task": "b"}', "i")), "So."), [inner]
    )
    asked = ask(*looks("x")[0]["tool_calls"], use("middle", '{"task": "a"}', "m"))
    return Agent(Script(asked, "Done."), [middle, look])


def approval_within() -> Agent[Any, Any]:
    inner = as_tool("buy", "Buys.", Script(looks("q", name="pay"), "Paid."), [pay])
    asked = ask(use("buy", '{"task": "pay"}', "f"), *looks("p", name="pay")[0]["tool_calls"])
    return Agent(
        Script(asked, looks("p"), "Done."), [pay, look, inner], snapshot_key=b"0123456789abcdef"
    )


class OverloadedError(Exception):
    is_transient = True


def fallback_model() -> Agent[Any, Any]:
    async def first(call):
        if call.round == 1:
            raise OverloadedError("overloaded")
        yield {"text": "<think>Ha"}
        yield ModelFailure(message="gone", is_transient=False, may_pass_elsewhere=True)

    second = Script(None, None, looks("a"), "Done.")
    return Agent(first, [look], fallback=second)


def compacted() -> Agent[Any, Any]:
    async def model(call):
        if call.is_compaction:
            failure = ModelFailure(message="overloaded", is_transient=True, wait_seconds=0.01)
            yield "It is 7." if call.wait_seconds else failure
        else:
            asked = use("look_long", f'{{"number": {call.round}}}', f"c{call.round}")
            yield ask(asked)[0] if call.round < 12 else "It is 7."

    return Agent(model, [look_long], maximum_iterations=20, window=Window(tokens=12_000))


def searched_tools() -> Agent[Any, Any]:
    called = '{"name": "count", "arguments": {"number": 3}}'
    script = Script(
        ask(use("search_tools", '{"query": "count"}', "s")), ask(use("call_tool", called, "t")), "4"
    )
    return Agent(script, [look, count], tool_search=1)


def typed_answer() -> Agent[Any, Any]:
    schema = {
        "type": "object",
        "properties": {"sum": {"type": "integer"}},
        "required": ["sum"],
        "additionalProperties": False,
    }
    return Agent(Script(looks("a"), '{"sum": "x"}', '{"sum": 4}'), [look], answer=schema)


def guarded() -> Agent[Any, Any]:
    async def polite(messages):
        await asyncio.sleep(0)
        return [*messages[:-1], {"role": "user", "content": f"{messages[-1]['content']} Please."}]

    def silent(_):
        return None

    guards = Guardrails(
        input=[polite, silent], answer=[silent, lambda answer: answer.replace("damn", "very")]
    )
    inner = as_tool("find", "Finds.", Script(looks("x"), "A damn."), [look], guardrails=guards)
    script = Script(ask(use("find", '{"task": "it"}', "f")), "A damn four.")
    return Agent(script, [inner], guardrails=guards)


KINDS = [
    *(parallel_tools, nested_agents, approval_within, fallback_model),
    *(compacted, searched_tools, typed_answer, guarded),
]
