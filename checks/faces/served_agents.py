"""Agents whose models are scripted: `agent-endpoint served_agents` serves them to every client alike."""

import asyncio
import json

from pydantic import BaseModel, Field

from agent_driver import Agent


_ROUND = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}


def call(name, call_id, arguments):
    return {"call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def text_of(content):
    """Return the texts of a message's content."""
    parts = [content] if isinstance(content, str) else [one.get("text", "") for one in content]
    return " ".join(filter(None, parts))


def is_model(message):
    return getattr(message, "role", None) == "assistant"


def is_reader(tool):
    """Return whether a tool is the one by which a run, this one or that of a client, reads on in long results."""
    return tool.name.startswith("read_result")


def results_since_the_question(asked):
    """Return what the tools have given since somebody has last said something."""
    results = []
    for message in reversed(asked.messages):
        role = message["role"] if isinstance(message, dict) else message.role
        if role == "user":
            break
        if role == "tool":
            results.insert(0, text_of(message.content))
    return results


async def say(text):
    for word in text.split(" "):
        await asyncio.sleep(0.002)
        yield f"{word} "
    yield {"usage": _ROUND}


def turns_of(asked):
    """Return how often the model has answered in this conversation, calls aside."""
    return sum(is_model(one) and not one.tool_calls for one in asked.messages)


async def talk(asked):
    """Count the turns."""
    async for piece in say(f"This is answer {turns_of(asked) + 1}."):
        yield piece


async def add_twice(asked):
    """Call two tools at once, and tell what both gave."""
    if results := results_since_the_question(asked):
        async for piece in say(f"The sums are {' and '.join(results)}."):
            yield piece
        return
    pairs = [{"a": 1, "b": 2}, {"a": 3, "b": 4}]
    yield {"tool_calls": [call("add", f"a{n}", pair) for n, pair in enumerate(pairs)]}
    yield {"usage": _ROUND}


async def pay_once(asked):
    """Pay what a person has to allow."""
    if results := results_since_the_question(asked):
        async for piece in say(f"The bank says: {results[0]}"):
            yield piece
        return
    yield {"tool_calls": [call("pay", f"p{turns_of(asked)}", {"euros": 30})]}
    yield {"usage": _ROUND}


async def read_back(asked):
    """Tell what it was asked with, as JSON."""
    seen = []
    for message in asked.messages:
        role = message["role"] if isinstance(message, dict) else message.role
        content = message["content"] if isinstance(message, dict) else message.content
        seen.append([role, content])
    yield json.dumps(seen)
    yield {"usage": _ROUND}


async def think(_asked):
    """Think, in a summary, before it answers."""
    async for piece in say("<think>First this, then that.</think>It is that."):
        yield piece


async def call_client(asked):
    """Call every tool of the client at once with what its schema has, then tell what they gave."""
    results = results_since_the_question(asked)
    if results or not asked.tools:
        said = f"The client says: {' and '.join(results)}" if results else "Nothing to call."
        async for piece in say(said):
            yield piece
        return
    yield "Let me ask. "
    calls = []
    offered = [tool for tool in asked.tools if not is_reader(tool)]
    for n, tool in enumerate(offered):
        properties = (tool.parameters or {}).get("properties", {})
        arguments = {
            name: 17 + i if schema.get("type") in {"integer", "number"} else "Paris"
            for i, (name, schema) in enumerate(properties.items())
        }
        calls.append(call(tool.name, f"m{turns_of(asked)}{n}", arguments))
    yield {"tool_calls": calls}
    yield {"usage": _ROUND}


async def sleep_long(_asked):
    """Say something, and nothing more for a minute."""
    yield "Wait, "
    await asyncio.sleep(60)
    yield "too late."


async def fill_form(_asked):
    """Answer in the agent's form."""
    yield '{"total": 4}'
    yield {"usage": _ROUND}


async def plan(_asked):
    """Answer in a form that holds itself."""
    yield '{"name": "go", "weight": 2, "steps": [{"name": "left", "weight": null, "steps": []}]}'
    yield {"usage": _ROUND}


async def fail(_asked):
    raise ValueError("the model is down")
    yield


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def pay(euros: int) -> str:
    """Pay somebody."""
    return f"{euros} euros are on their way."


class Part(BaseModel):
    euros: int = 0


class Sum(BaseModel):
    total: int
    unit: str = "euros"
    first: Part = Part(euros=1)
    parts: list[Part] = Field(default_factory=list)


class Step(BaseModel):
    name: str
    weight: int | None
    steps: list["Step"]


talker = Agent(talk)
adder = Agent(add_twice, [add])
payer = Agent(pay_once, [pay], approval_rules={"pay": "always"})
reader = Agent(read_back, instruction="Read.")
thinker = Agent(think, emit_reasoning=True)
asker = Agent(call_client)
sleeper = Agent(sleep_long)
filler = Agent(fill_form, answer=Sum)
planner = Agent(plan, answer=Step)
failing = Agent(fail)
