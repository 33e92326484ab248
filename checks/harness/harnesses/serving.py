"""What the programs of all harnesses have in common, with nothing but the standard library: cases come in, how each run ended goes out.

`serve(answer)` reads a case from each line of standard input and runs `answer` with it, any number at once, and writes
a line for each run that has ended. `answer` returns the text that the person gets, and raises whatever the harness
raises.
"""

import asyncio
import base64
import json
import keyword
import os
import sys
import urllib.request
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any


MODEL = "gpt-5.4"  # whose messages have phases
TOOL_SECONDS = 5
_THREADS = 200

_HINTS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


class NotOffered(Exception):  # noqa: N818 - it is no error
    """The harness documents no way to do that."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """What a harness is asked.

    Attributes:
        question: What the person says.
        instruction: The instruction.
        tools: The tools as data.
        asks: The name of the tool that needs a person's leave, which is not given; empty for none.
        open_call: The call of an earlier answer of the model, `call_id`, `name` and `arguments`, that a dead process
            left without a result; None for none.
    """

    question: str
    instruction: str
    tools: list[dict[str, Any]]
    asks: str
    open_call: dict[str, Any] | None

    def functions(self, *, is_async: bool = False) -> list[Callable[..., Any]]:
        """Return the tools as typed functions with docstrings, as all harnesses take them."""
        return [build_function(tool, is_async=is_async) for tool in self.tools]


def build_function(tool: dict[str, Any], *, is_async: bool = False) -> Callable[..., Any]:
    """Write a tool as a person would: a typed function with a docstring, which does what the server says."""
    parameters = tool["parameters"]
    heads = [f"{one['name']}: {_hint(one)}" for one in parameters]
    given = ", ".join(f"{one['name']!r}: {one['name']}" for one in parameters)
    lines = [f"    {one['name']}: {one['description'] or one['name']}" for one in parameters]
    described = "\n".join([tool["description"], *(["", "Args:", *lines] if lines else [])])
    name = tool["name"]
    assert name.isidentifier() and not keyword.iskeyword(name)  # noqa: PT018 - from the data of others
    begun, awaited = ("async ", "await ") if is_async else ("", "")
    source = f"{begun}def {name}({', '.join(heads)}):\n    return {awaited}use_tool({name!r}, {{{given}}})\n"
    place: dict[str, Any] = {"use_tool": _use_tool_async if is_async else _use_tool}
    exec(source, place)
    function = place[name]
    function.__doc__ = described
    function.__annotations__["return"] = str
    return function


def _hint(parameter: dict[str, Any]) -> str:
    kind = parameter["type"]
    hint = f"list[{_HINTS[parameter['items']]}]" if kind == "array" else _HINTS[kind]
    # Without a default of its own, which OpenAI takes in no strict schema.
    return hint if parameter["required"] else f"{hint} | None = None"


def _use_tool(name: str, given: dict[str, Any]) -> str | bytes:
    body = json.dumps({key: value for key, value in given.items() if value is not None}).encode()
    with urllib.request.urlopen(os.environ["HARNESS_TOOLS"] + name, body) as response:
        done = json.load(response)
    if "fail" in done:
        raise RuntimeError(done["fail"])
    return base64.b64decode(done["bytes"]) if "bytes" in done else done["text"]


async def _use_tool_async(name: str, given: dict[str, Any]) -> str | bytes:
    return await asyncio.to_thread(_use_tool, name, given)


def serve(
    answer: Callable[[Case], Awaitable[str | None]],
    start: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Answer the cases of standard input until it ends; `start` is awaited before the first."""
    # What a framework prints must not get among the results.
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    async def make(line: str) -> None:
        raw = json.loads(line)
        key = raw.pop("key")
        try:
            ended = {"ended": "answered", "text": await answer(Case(**raw)) or ""}
        except NotOffered:
            ended = {"ended": "not offered", "text": ""}
        except Exception as error:  # noqa: BLE001 - that is what is measured
            ended = {"ended": "raised", "text": f"{type(error).__name__}: {error}"}
        print(json.dumps({"key": key, **ended}), file=results, flush=True)

    async def run() -> None:
        # As many as may hang: with the usual few the runs that are made at the same time would wait for each other.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
        running: set[asyncio.Task[None]] = set()
        if start is not None:
            await start()
        print(json.dumps({"key": "", "ended": "ready", "text": ""}), file=results, flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            task = asyncio.create_task(make(line))
            running.add(task)
            task.add_done_callback(running.discard)
        os._exit(0)  # whatever still runs

    asyncio.run(run())
