"""The messages of a run, as plain values that any model client can translate."""

from dataclasses import dataclass
from typing import Any, Literal


type Role = Literal["system", "user", "assistant", "tool"]
"""The author of a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that the model asks for.

    Attributes:
        call_id: The model's id of the call; its result carries the same.
        name: The tool's name as the model knows it.
        arguments: The arguments as the model wrote them, which may not be valid JSON.
    """

    call_id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall(ToolCall):
    """Tool call that a person is asked about.

    Attributes:
        path: The ids of the calls that lead to the agent that wants it, the outermost first; empty for the run itself.
        agents: The names of these agents.
    """

    path: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What a decision names it by: the ids of its path and its own. In different agents calls may have the same id."""
        return "/".join((*self.path, self.call_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a request.

    Attributes:
        role: The author.
        content: The text, or content parts that the run passes through without looking at them.
        tool_calls: The tool calls of an assistant message; arguments here are always a JSON object.
        tool_call_id: The id of the call that a tool message answers.
        name: The name of the tool that a tool message answers for.
        opaque_body: What the model's client wants back with this assistant message, for instance
            `{"responses_output": [...]}`; None when there is nothing to carry.
    """

    role: Role
    content: str | tuple[Any, ...] = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    opaque_body: Any = None
