"""What becomes of a line that is longer than the daemon reads."""

import json
import time
from collections.abc import Mapping
from typing import Any, cast

from ._errors import RequestTooLargeError


_MAX_CHARACTERS = 2_000
_PIECE_CHARACTERS = 100_000
_SHOWN = frozenset({"text", "image", "image_link", "link", "file", "blob"})


def split_text(text: str) -> list[str]:
    """Return a text in pieces, each of which fits into a line however it is written."""
    return [
        text[start : start + _PIECE_CHARACTERS] for start in range(0, len(text), _PIECE_CHARACTERS)
    ]


def shorten_line(line: bytes, limit: int) -> bytes:
    """Return a line that says the same in short, or that something is left out.

    Raises:
        RequestTooLargeError: If it is a call of a model or a tool; whoever makes it has to know.
    """
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    size, most = len(line) + 1, limit + 1  # with the line's end, as the daemon counts
    notice = f"A message of {size:,} bytes is left out here: Dify's plugin daemon takes {most:,} at most."
    match message:
        case {"event": "session", "data": {"type": "invoke"}}:
            raise RequestTooLargeError(size, most)
        case {"event": "session", "data": {"type": "stream", "data": {"type": str(kind)} as told}}:
            data = {"type": "stream", "data": _shorten_told(kind, told, notice)}
        case {"event": "session", "data": {"type": "error", "data": {"error_type": name, **rest}}}:
            text = str(rest.get("message"))[:_MAX_CHARACTERS]
            data = {"type": "error", "data": {"error_type": name, "message": text, "args": {}}}
        case _:
            record = {"level": "ERROR", "message": notice, "timestamp": time.time()}
            return json.dumps({"event": "log", "data": record}).encode()
    return json.dumps({**message, "data": data}).encode()


def _shorten_told(kind: str, told: Mapping[str, Any], notice: str) -> dict[str, Any]:
    """Return what takes the place of something that Dify was to be told: a log keeps its frame, the rest becomes the notice."""
    if kind in _SHOWN:
        return {"type": "text", "message": {"text": notice}, "meta": None}
    log: Mapping[str, Any] = told["message"] if kind == "log" else {}
    metadata = cast("Mapping[str, Any]", log.get("metadata") or {})
    message = {
        "id": log.get("id") or "too-long",
        "label": str(log.get("label") or kind)[:_MAX_CHARACTERS],
        "parent_id": log.get("parent_id"),
        "error": None if log.get("error") is None else str(log["error"])[:_MAX_CHARACTERS],
        "status": log.get("status") or "error",
        "data": {"left_out": notice},
        "metadata": {
            name: value for name, value in metadata.items() if len(str(value)) <= _MAX_CHARACTERS
        },
    }
    return {"type": "log", "message": message, "meta": None}
