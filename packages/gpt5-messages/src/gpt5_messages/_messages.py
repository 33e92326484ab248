"""Reading the messages of a conversation, whose shape only their platform has promised."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, cast

from stream_text import MessageError, read_member, read_written_call


def read_calls(message: object, *, field: str = "message") -> list[dict[str, Any]]:
    """Read the tool calls that can be paired, as items: a call without id or name can't be sent.

    Raises:
        MessageError: If something there is no tool call.
    """
    calls = read_member(message, "tool_calls") or ()
    if not isinstance(calls, (list, tuple)):
        raise _error(f"{field}.tool_calls", "a list", calls)
    written = [
        read_written_call(call, field=f"{field}.tool_calls[{index}]")
        for index, call in enumerate(cast("Sequence[object]", calls))
    ]
    return [
        {
            "type": "function_call",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments or "{}",
        }
        for call in written
        if call.call_id and call.name
    ]


def read_content(message: object) -> object:
    """Read the content of a message; where there is none, its refusal."""
    content = read_member(message, "content")
    return read_member(message, "refusal") if content in (None, "") else content


def read_role(message: object) -> str:
    """Read the role, also one that was made a text with its enum's name; what is missing or unknown counts as the user's."""
    role = (_plain(read_member(message, "role")) or "").rpartition(".")[2]
    known = ("system", "developer", "assistant", "tool")
    return role if role in known else "user"


def _plain(value: object) -> str | None:
    value = value.value if isinstance(value, Enum) else value
    return value.lower() if isinstance(value, str) else None


def _error(field: str, expected: str, value: object) -> MessageError:
    got = "nothing" if value is None else type(value).__name__
    return MessageError(f"{field}: expected {expected}, got {got}", field=field)
