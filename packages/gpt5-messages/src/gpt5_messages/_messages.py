"""Reading the messages of a conversation, whose shape only their platform has promised."""

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, cast


def read_calls(message: object) -> list[dict[str, Any]]:
    """Read the tool calls that can be paired, as items: a call without id or name can't be sent."""
    calls = member(message, "tool_calls")
    return [
        _function_call(call)
        for call in (cast("Sequence[object]", calls) if isinstance(calls, (list, tuple)) else ())
        if member(call, "id") and member(member(call, "function"), "name")
    ]


def _function_call(call: object) -> dict[str, Any]:
    function = member(call, "function")
    arguments = member(function, "arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False) if arguments else ""
    return {
        "type": "function_call",
        "call_id": str(member(call, "id")),
        "name": str(member(function, "name")),
        "arguments": arguments or "{}",
    }


def read_text(content: object) -> str:
    """Flatten content into text, its parts a line break apart."""
    if content is None:
        return ""
    if isinstance(content, (list, tuple)):
        texts = (_part_text(part) for part in cast("Sequence[object]", content))
        return "\n".join(text for text in texts if text)
    return content if isinstance(content, str) else str(content)


def _part_text(part: object) -> str:
    kind = _plain(member(part, "type"))
    if isinstance(part, str):
        return part
    text = member(part, "text") if member(part, "text") is not None else member(part, "data")
    if kind in (None, "text", "input_text", "output_text"):
        return text if isinstance(text, str) else ""
    return f"[{kind} omitted: this model is given text only]"


def read_role(message: object) -> str:
    """Read the role, also one that was made a text with its enum's name; what is missing or unknown counts as the user's."""
    role = (_plain(member(message, "role")) or "").rpartition(".")[2]
    known = ("system", "developer", "assistant", "tool")
    return role if role in known else "user"


def _plain(value: object) -> str | None:
    value = value.value if isinstance(value, Enum) else value
    return value.lower() if isinstance(value, str) else None


def member(value: object, name: str) -> Any:
    """Return what a mapping or an object has under a name, or None."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    return getattr(value, name, None)
