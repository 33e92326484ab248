"""An executor whose agents can be talked to, for tests of the faces."""

import json
from contextlib import asynccontextmanager

from agents import Scripted, lay_out
from web import client_of, settings_of

from agent_server.engine import open_engine
from agent_server.executor import (
    InputRequest,
    Problem,
    Question,
    RequestRefusedError,
    RunResult,
    UnknownAgentError,
    Waiting,
    WaitingCall,
)
from agent_server.http import build_app


USAGE = {"input_tokens": 5, "output_tokens": 3, "cached_tokens": 2, "reasoning_tokens": None}


def text_of(items):
    """Return the text of the last message."""
    content = items[-1].get("content", "")
    return content if isinstance(content, str) else "".join(one["text"] for one in content)


async def say(run, *texts, round_=1, thought=None, path=(), usage=USAGE):
    """Tell a call of a model, once."""

    async def call():
        await run.tell("model_started", {"round": round_, "path": path, "again": False})
        if thought:
            await run.tell("reasoning", {"round": round_, "path": path, "text": thought})
        for text in texts:
            await run.tell("text", {"round": round_, "path": path, "text": text})
        await run.tell("model_ended", {"round": round_, "path": path, "usage": usage})
        return b""

    await run.step(f"model:{round_}:{path}", call)


async def use(run, call_id, name="look", output="found", error=None):
    """Tell a call of a tool."""

    async def call():
        started = {"call_id": call_id, "path": (), "name": name, "arguments": "{}"}
        await run.tell("tool_started", started)
        ended = {"call_id": call_id, "path": (), "name": name, "output": output, "error": error}
        await run.tell("tool_ended", ended)
        return b""

    await run.step(f"tool:{call_id}", call)


async def greet(run):
    """Answer what was said, and know what was said before."""
    said = [*run.request["history"], text_of(run.request["input"])]
    await say(run, "You said ", f"{said[-1]}.", thought="Hm.")
    return RunResult(
        status="succeeded", output=f"You said {said[-1]}.", state=json.dumps(said).encode()
    )


async def ask(run):
    """Have the client call its tool, and a person allow a call; then say what came of it."""
    if run.resumption is None:
        await say(run, thought="Hm.")
        call = WaitingCall(call_id="call_1", name="mine", arguments='{"a":1}')
        delete = WaitingCall(call_id="call_2", name="delete", arguments="{}", server="files")
        asked = InputRequest(approvals=[delete], results=[call])
        return Waiting(request=asked, state=b"s")
    answer = run.resumption.answer
    if answer.approvals["call_2"].approved:
        await use(run, "call_2", "delete", "gone")
    await say(run, f"It is {answer.results['call_1']}.", round_=2)
    return RunResult(status="succeeded", output="It is.", state=b'["asked"]')


async def wonder(run):
    """Ask a question, and say the answer."""
    if run.resumption is None:
        schema = run.request["instructions"]
        question = Question(text="Who?", schema=json.loads(schema) if schema else None)
        return Waiting(request=InputRequest(question=question), state=b"s")
    output = run.resumption.answer.answer
    return RunResult(status="succeeded", output=output)


async def fail(run):
    await say(run, "I ")
    return RunResult(status="failed", error="The model is gone.", error_type="model_error")


class Talker(Scripted):
    """An executor whose agents tell the events of contract V as they are."""

    def __init__(self, **scripts):
        super().__init__(**({"greet": greet, "ask": ask, "wonder": wonder, "fail": fail} | scripts))

    def begin_turn(self, agent, turn):
        if agent not in self.scripts:
            raise UnknownAgentError(agent)
        if turn.text_format is not None:
            raise RequestRefusedError(Problem(field="text.format", message="expected text"))
        return {
            "input": list(turn.input),
            "history": json.loads(turn.state or b"[]"),
            "instructions": turn.instructions,
        }

    def show(self, event):
        return [(event.type, event.data)]


@asynccontextmanager
async def talking(folder, agents=None, *, key=None, **settings):
    """Yield a client of agents that can be talked to, and the application."""
    agents = agents or Talker()
    bounds = lay_out(settings_of(folder, **settings))
    async with open_engine(bounds, agents) as runs:
        app = build_app(bounds, agents, runs)
        async with client_of(app, key=key) as client:
            yield client, app


def events_of(answer):
    """Return the events of a stream."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return [
        json.loads(line.removeprefix("data: "))
        for line in answer.text.splitlines()
        if line.startswith("data: ")
    ]


async def post(client, model="greet", input="hi", **fields):  # noqa: A002 - the API's name
    return await client.post("/v1/responses", json={"model": model, "input": input, **fields})


async def created(client, model="greet", input="hi", **fields):  # noqa: A002 - the API's name
    answer = await post(client, model, input, **fields)
    assert answer.status_code == 200, answer.text
    return answer.json()
