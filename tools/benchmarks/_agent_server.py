"""The simulator in a process of its own, with the script of an agent run: a line on stdin asks for what came since the last one.

It builds and checks every response, which only it pays for: the agents' processor time is read from the system, and
each request is told with the time at which it came.
"""

import json
import sys
import time
from contextlib import AbstractContextManager
from typing import Any

from gpt5_simulator import (
    FunctionCall,
    ModelRequest,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
    Turn,
)

from ._beside import Beside, beside
from ._requests import share_of_extending, share_of_reasoning_kept


ROUNDS = 10
END = "That is all there is."
_SENTENCE = "The quick brown fox jumps over the lazy dog. "
_SUMMARY, _ANSWER = _SENTENCE * 4, _SENTENCE * 20 + END


def agent_server(rounds: int = ROUNDS) -> AbstractContextManager[Beside]:
    """Serve the script of so many rounds, again and again, while the `with` block runs."""
    return beside(__name__, rounds)


class _Script:
    """The script, which notes when it is asked."""

    def __init__(self) -> None:
        self._model = ScriptedModel(_turns(int(sys.argv[1])), repeat=True)
        self.times: list[float] = []

    def respond(self, request: ModelRequest) -> Turn:
        self.times.append(time.monotonic())
        return self._model.respond(request)


def _turns(count: int) -> list[Turn]:
    rounds: list[Turn] = [
        [
            Reasoning(summary=(_SUMMARY,)),
            FunctionCall(name="search", arguments={"text": f"question {number}", "limit": 5}),
            *(
                FunctionCall(name="read_page", arguments={"book": f"Book {number}", "page": page})
                for page in (1, 2, 3)
            ),
        ]
        for number in range(1, count + 1)
    ]
    return [*rounds, [Reasoning(summary=(_SUMMARY,)), Text(text=_ANSWER)]]


def _serve() -> None:
    script = _Script()
    with ResponsesSimulator(model=script) as simulator:
        print(simulator.base_url, flush=True)  # noqa: T201 - how the parent learns of it
        told = 0
        for _ in sys.stdin:
            requests = simulator.requests[told:]
            bodies: list[Any] = [request.body for request in requests]
            figures = {
                "requests": len(requests),
                "first_request_at": script.times[told],
                "sent": sum(int(request.headers["content-length"]) for request in requests),
                "reasoning_kept": share_of_reasoning_kept(bodies),
                "extending": share_of_extending(bodies),
            }
            told += len(requests)
            print(json.dumps(figures), flush=True)  # noqa: T201 - the report


if __name__ == "__main__":
    _serve()
