"""OpenAI's part: a simulator that says what the test at hand has it say, and names conversations when Dify asks for a name."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from gpt5_simulator import (
    ApiError,
    FunctionCall,
    ModelRequest,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
    Turn,
)


type Json = dict[str, Any]

KEY = "sk-whole-dify-0123456789"


@dataclass
class Stage:
    """A model that plays what it is given. Source of what a request for a name looks like: Dify's `LLMGenerator.generate_conversation_name`."""

    _model: ScriptedModel = field(default_factory=lambda: ScriptedModel([]))
    _answer: Callable[[ModelRequest], Turn] | None = None
    _lock: Lock = field(default_factory=Lock)

    def respond(self, request: ModelRequest) -> Turn:
        if asks_for_a_name(request.body):
            return [Text(text='{"Your Output": "A name"}')]
        return (self._answer or self._model.respond)(request)

    def plays(self, *turns: Turn, repeat: bool = False) -> None:
        """Say these turns, one a request."""
        self._answer, self._model = None, ScriptedModel(turns, repeat=repeat)

    def answers(self, answer: Callable[[ModelRequest], Turn]) -> None:
        """Say what a function says."""
        self._answer = answer

    def refuses(self, message: str, status: int, **more: Any) -> None:
        """Answer with an error."""

        def refuse(_: ModelRequest) -> Turn:
            raise ApiError(message, status=status, **more)

        self._answer = refuse


class Upstream:
    """The simulator as one test sees it: what it got since the test began."""

    def __init__(self, simulator: ResponsesSimulator, stage: Stage) -> None:
        self.base_url = simulator.base_url
        self.plays, self.answers, self.refuses = stage.plays, stage.answers, stage.refuses
        self._simulator, self._begin = simulator, len(simulator.requests)

    @property
    def names(self) -> list[Json]:
        """The bodies of Dify's requests for conversations' names."""
        return [body for body in self._bodies() if asks_for_a_name(body)]

    @property
    def requests(self) -> list[Json]:
        """The bodies of all others."""
        return [body for body in self._bodies() if not asks_for_a_name(body)]

    def _bodies(self) -> list[Json]:
        requests = self._simulator.requests[self._begin :]
        return [one.body for one in requests if one.path.endswith("/responses") and one.body]


def asks_for_a_name(body: Json) -> bool:
    """Return whether Dify itself asks, for a conversation's name: no test has a limit of 500 in a call that is not streamed."""
    return body.get("max_output_tokens") == 500 and not body.get("stream")


def thought(text: str = "Let me see.") -> Reasoning:
    """Return reasoning with a summary."""
    return Reasoning(summary=(text,))


def call(name: str, /, **arguments: Any) -> FunctionCall:
    """Return a call of a tool."""
    return FunctionCall(name=name, arguments=arguments)


def said(text: str) -> Text:
    """Return an answer."""
    return Text(text=text)


def items(body: Json, kind: str) -> list[Json]:
    """Return the items of one type of a request's input."""
    return [item for item in body["input"] if item.get("type", "message") == kind]


def texts(body: Json) -> list[str]:
    """Return what the messages of a request's input say, without the system's."""
    parts = []
    for item in items(body, "message"):
        if item["role"] in {"user", "assistant"}:
            content = item["content"]
            parts += (
                [content]
                if isinstance(content, str)
                else [part.get("text", part["type"]) for part in content]
            )
    return parts
