"""Scripts as agents that can be talked to: what is said becomes the field `prompt` of the input, and what a script prints is what it says.

Source: docs/contracts/agent-events.md, V1.
"""

import json
from collections.abc import Sequence
from typing import Any

from agent_server.executor import JsonObject, Problem, RequestRefusedError, StoredEvent, Turn


def to_request(turn: Turn) -> JsonObject:
    """Return the request for a run from one message of a user.

    Raises:
        RequestRefusedError: If something was said that a script cannot be told.
    """
    told = {"instructions": turn.instructions, "tools": turn.tools, "text.format": turn.text_format}
    for field, value in told.items():
        if value:
            raise _refuse(
                field, "is not supported: a script takes a text, and has tools of its own"
            )
    if turn.state is not None or len(turn.input) != 1 or turn.input[0].get("role") != "user":
        raise _refuse("input", "expected one message of a user: scripts keep no conversation")
    return {"input": {"prompt": _read_text(turn.input[0]["content"])}}


def show_output(event: StoredEvent) -> Sequence[tuple[str, JsonObject]]:
    """Return what an output of a script shows: its lines as texts, its images as files; not what it writes to stderr."""
    match event.type, event.data:
        case "text_output", {"text": str(text)}:
            return [_show("text", text=f"{text}\n")]
        case "json_output", {"value": value}:
            return [_show("text", text=f"{json.dumps(value, ensure_ascii=False)}\n")]
        case (("image_output" | "audio_output"), {"data": str(data), "mimeType": str(kind)}):
            return [_show("file", media_type=kind, data=data)]
        case _:
            return []


def _show(type_: str, **data: Any) -> tuple[str, JsonObject]:
    return type_, {"round": 0, "path": [], **data}


def _read_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not all(isinstance(part.get("text"), str) for part in content):
        raise _refuse("input[0].content", "expected text: files come with /v1/runs")
    return "\n".join(part["text"] for part in content)


def _refuse(field: str, message: str) -> RequestRefusedError:
    return RequestRefusedError(Problem(field=field, message=message))
