"""Agents with scripted models, which the page to talk to an agent is tried with: `chatting.py FOLDER PORT` serves them until it is killed."""

import asyncio
import json
import sys
from pathlib import Path

from agent_driver import Agent
from agent_endpoint import EndpointSettings, serve
from runs import HOSTILE, make_png


FOLDER, PORT = Path(sys.argv[1]), int(sys.argv[2])
MARKDOWN = """# Harbours

Two **fit** in *winter*, `Moss` and snake_case_name:

1. Moss, 9.2 m
   - the least ice
2. Halden

```py
print("<b>no markup</b>")
```

> [a report](https://example.com/report) and https://example.com/more.

![picture](https://evil.example/pixel.png) [x](javascript:window.hacked=9) <img src="https://evil.example/x.png">
"""


def call(name, call_id="c1", /, **arguments):
    return {"call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


async def wait_for(name):
    """Wait until the test makes a file."""
    while not (FOLDER / name).exists():  # noqa: ASYNC110 - a file raises no event here
        await asyncio.sleep(0.02)


def script(*answers):
    """Return a model that gives its answers one after the other, a text word by word.

    A text that begins with `@name` pauses until the file of that name exists.
    """

    async def model(asked):
        made = sum(one.role == "assistant" for one in asked.messages)
        answer = answers[made % len(answers)]
        if isinstance(answer, str):
            for word in answer.split(" "):
                if word.startswith("@"):
                    await wait_for(word[1:])
                else:
                    yield {"text": f"{word} "}
        else:
            yield {"tool_calls": answer}
        yield {"usage": {"input_tokens": 1234, "output_tokens": 56, "total_tokens": 1290}}

    return model


async def look_up(name: str) -> str:
    """Look somebody up."""
    await wait_for("found")
    return f"{name} has an account. {HOSTILE}"


def pay(to: str, euros: int) -> str:
    """Pay somebody."""
    return f"{to} was paid {euros} euros."


def agent(*answers):
    return Agent(script(*answers), [look_up, pay], approval_rules={"pay": "always"})


async def draw(asked):
    """Think and draw, and fail when asked for more."""
    if any(one.role == "assistant" for one in asked.messages):
        raise ValueError("The <b>ink</b> is used up.")
    yield "<think>It is **blue**.</think>Here it is."
    yield {"files": [{"media_type": "image/png", "data": make_png(3, 40, 40)}]}


AGENTS = {
    "clerk": agent(
        [call("look_up", "c1", name="Ann")],
        "Ann has @told an **account**.",
        [call("pay", "c2", to="Ann", euros=40)],
        "Well.",
    ),
    "two": agent(
        [call("pay", "c1", to="Ann", euros=40), call("pay", "c2", to="Bob", euros=9000)],
        "As you say.",
    ),
    "caller": agent([call("open_door", "c1", floor=1)], "It is open."),
    "writer": agent(f"{MARKDOWN}\n{HOSTILE}"),
    "<img src=x onerror=hacked=1>": agent("I am."),
    "painter": Agent(draw),
    "slow": agent("One two @three three four @never five."),
    "dying": agent("One two three @go four five six."),
}

if __name__ == "__main__":
    serve(
        AGENTS,
        EndpointSettings(
            state=FOLDER / "state",
            run_logs=FOLDER / "logs",
            port=PORT,
            lease_seconds=1,
            stop_seconds=0.1,
        ),
    )
