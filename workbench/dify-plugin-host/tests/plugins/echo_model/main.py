"""A model that does what the last user message says, after which it answers with the tools' results.

`call NAME {JSON}` lines become tool calls; `null`, `fail CLASS TEXT`, `hang` and `callback` misbehave; anything else is echoed. A request
is kept as text in its answer when the message is `request`; `paint JSON` answers with those parts.
"""

import itertools
import os
import time

import wire
from wire import json


USAGE = {
    "prompt_tokens": 10,
    "prompt_unit_price": "1",
    "prompt_price_unit": "0.000001",
    "prompt_price": "0.00001",
    "completion_tokens": 5,
    "completion_unit_price": "2",
    "completion_price_unit": "0.000001",
    "completion_price": "0.00001",
    "total_tokens": 15,
    "total_price": "0.00002",
    "currency": "USD",
    "latency": 0.5,
}


def text_of(message):
    content = message["content"]
    return (
        content
        if isinstance(content, str)
        else "".join(part["data"] for part in content if part["type"] == "text")
    )


def chunk(request, content, *, calls=(), usage=None, opaque=None):
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    message["opaque_body"] = opaque
    delta = {"index": 0, "message": message, "usage": usage, "finish_reason": usage and "stop"}
    data = {"model": request["data"]["model"], "delta": delta, "private": "dropped"}
    wire.stream(request, data)


def tool_calls(text):
    numbers = itertools.count(1)
    for line in text.splitlines():
        if line.startswith("call "):
            _, name, arguments = line.split(maxsplit=2)
            function = {"name": name, "arguments": arguments}
            yield {"id": f"call_{next(numbers)}", "type": "function", "function": function}


def answer(request):
    messages = request["data"]["prompt_messages"]
    said = text_of([message for message in messages if message["role"] == "user"][-1])
    results = [text_of(message) for message in messages if message["role"] == "tool"]
    word, _, rest = said.partition(" ")
    if results and word != "request":
        chunk(request, "results: ")
        chunk(request, " | ".join(results), usage=USAGE)
    elif word == "call":
        chunk(request, "<think>\nwhich tool?\n</think>")
        calls = list(tool_calls(said))
        chunk(request, "", calls=calls, usage=USAGE, opaque={"responses_output": [{"n": 1.0}]})
    elif word == "null":
        chunk(request, "fine")
        chunk(request, None)
    elif word == "fail":
        chunk(request, "so far")
        wire.error(request, *rest.split(" ", 1))
    elif word == "hang":
        wire.send("log", {"level": "WARNING", "message": str(os.getpid())})
        time.sleep(600)
    elif word == "callback":
        wire.call(request, "llm", {})
        chunk(request, json.dumps(wire.replies()))
    elif word == "paint":
        parts = json.loads(rest)
        chunk(request, parts, usage=USAGE)
    elif word == "request":
        chunk(request, json.dumps(request["data"]), usage=USAGE)
    else:
        chunk(request, said, usage=USAGE)


def schema(request):
    name = request["data"]["model"]
    from pathlib import Path  # noqa: PLC0415 - without it the plugin starts in half the time

    declared = Path(f"models/llm/{name}.yaml")
    wire.stream(request, {"model_schema": describe(name) if declared.exists() else None})


def describe(name):
    rules = [{"name": "reasoning_effort", "options": ["low", "high"]}, {"name": "temperature"}]
    features = ["tool-call", "stream-tool-call", "structured-output"]
    features += ["vision", "document"] if name == "echo-3" else []
    return {
        "model": name,
        "features": features,
        "model_properties": {"mode": "chat", "context_size": 1000},
        "parameter_rules": rules,
    }


def main():
    wire.ready()
    for request in wire.requests():
        if request["data"]["action"] == "get_ai_model_schemas":
            schema(request)
        else:
            answer(request)
        wire.end(request)


main()
