"""Agents whose models and tools answer at once, so that a server of them can be measured.

`calls-10` makes ten model calls, and nine of a tool in between.
"""

import base64
import json
import random
from collections.abc import AsyncIterator, Callable

from agent_driver import Agent, CallModel


MODEL_CALLS = (3, 10, 100, 1000)
_USAGE = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}


def read(number: int) -> str:
    """Read 1,000 characters, which no database can compress by more than a quarter."""
    return base64.b64encode(random.Random(number).randbytes(750)).decode()  # noqa: S311 - a text like any other


def _script(calls: int) -> Callable[[CallModel], AsyncIterator[object]]:
    async def ask(asked: CallModel) -> AsyncIterator[object]:
        number = sum(getattr(one, "role", None) == "tool" for one in asked.messages)
        if number < calls - 1:
            arguments = json.dumps({"number": number})
            yield {
                "tool_calls": [{"call_id": f"c{number}", "name": "read", "arguments": arguments}]
            }
        else:
            yield "All is read."
        yield {"usage": _USAGE}

    return ask


agents = {
    f"calls-{calls}": Agent(_script(calls), [read], maximum_iterations=calls + 1)
    for calls in MODEL_CALLS
}
