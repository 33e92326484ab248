"""The simulator in a process of its own, with the script of an agent run: a line on stdin asks for what came since the last one.

It builds and checks every response, which only it pays for: the agents' processor time is read from the system, and
each request is told with the time at which it came.
"""

import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
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

from ._requests import share_of_extending, share_of_reasoning_kept
from ._table import Figures


ROUNDS = 10
END = "That is all there is."
_SENTENCE = "The quick brown fox jumps over the lazy dog. "
_SUMMARY, _ANSWER = _SENTENCE * 4, _SENTENCE * 20 + END


class AgentServer:
    """The server's process, asked about what came.

    Attributes:
        base_url: Its address.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.base_url = self._read()

    def report(self) -> Figures:
        """Return the figures of the requests since the last time: the first one's time, bytes, and shares."""
        assert self._process.stdin is not None  # noqa: S101 - a pipe was asked for
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return json.loads(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        return self._process.stdout.readline().strip()


@contextmanager
def agent_server(rounds: int = ROUNDS) -> Generator[AgentServer]:
    """Serve the script of so many rounds, again and again, while the `with` block runs."""
    command = [sys.executable, "-m", __name__, str(rounds)]
    with subprocess.Popen(  # noqa: S603 - our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield AgentServer(process)
        finally:
            process.terminate()


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
