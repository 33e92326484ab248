"""Messages of a run in the shape of the conventions."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from stream_text import is_list, is_object


def to_json(value: object) -> str:
    """Return a value as the text of an attribute."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def input_messages(messages: Iterable[object]) -> list[dict[str, Any]]:
    """Return the messages of a request to a model: a role and parts for each."""
    return [_to_message(message) for message in messages]


def output_messages(
    text: str, calls: Iterable[object], finish_reason: object
) -> list[dict[str, Any]]:
    """Return the answer of a model: one message."""
    parts = [*_to_parts(text), *_to_calls(calls)]
    return [{"role": "assistant", "parts": parts, "finish_reason": str(finish_reason or "unknown")}]


def definitions(tools: object, *, whole: bool) -> list[dict[str, Any]]:
    """Return the tools that a model is offered; only their names unless they are wanted whole."""
    fields = ("name", "description", "parameters") if whole else ("name",)
    return [
        {"type": "function", **{name: tool[name] for name in fields if name in tool}}
        for tool in _find_objects(tools)
    ]


def _to_message(message: object) -> dict[str, Any]:
    if not is_object(message):
        return {"role": "user", "parts": _to_parts(message)}
    role, content = str(message.get("role", "user")), message.get("content")
    if role == "tool":
        part = {"type": "tool_call_response", "response": content}
        return {"role": role, "parts": [part | {"id": message.get("tool_call_id")}]}
    return {"role": role, "parts": [*_to_parts(content), *_to_calls(message.get("tool_calls"))]}


def _to_parts(content: object) -> list[dict[str, Any]]:
    if content is None or content == "":
        return []
    if is_list(content):
        return [part for entry in content for part in _to_parts(entry)]
    if not is_object(content):
        return [{"type": "text", "content": str(content)}]
    if isinstance(content.get("text"), str):
        return [{"type": "text", "content": content["text"]}]
    return [{"type": "other", **content}]


def _to_calls(calls: object) -> list[dict[str, Any]]:
    return [
        {
            "type": "tool_call",
            "id": call.get("call_id"),
            "name": call.get("name"),
            "arguments": call.get("arguments"),
        }
        for call in _find_objects(calls)
    ]


def _find_objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if is_object(item)] if is_list(value) else []
