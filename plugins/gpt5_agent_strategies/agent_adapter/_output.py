"""The lines that this process writes to the daemon: answers, calls, log records, all of them.

The daemon ends a plugin, with the runs of everybody in it, over one line that is too long. What decides is the line as it is written,
so that nothing which a model, a tool or a log holds can be forgotten.
"""

import io
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from threading import Lock, local
from typing import Any, cast

from dify_plugin.config.logger_format import plugin_logger_handler

from stream_text import LineTooLongError, LineWriter

from ._errors import RequestTooLargeError


_MAX_LINE_BYTES = 5 * 1024 * 1024  # the daemon's PLUGIN_STDIO_MAX_BUFFER_SIZE
_MAX_CHARACTERS = 2_000
_PIECE_CHARACTERS = 100_000
_SHOWN = frozenset({"text", "image", "image_link", "link", "file", "blob"})


def split_text(text: str) -> list[str]:
    """Return a text in pieces, each of which fits into a line however it is written."""
    return [
        text[start : start + _PIECE_CHARACTERS] for start in range(0, len(text), _PIECE_CHARACTERS)
    ]


def bound_output() -> None:
    """Have everything that this process prints pass through `ProtocolOutput`."""
    # Buffered, whatever the interpreter was told: without a buffer a long line may leave in part only.
    stdout = os.fdopen(sys.stdout.fileno(), "wb", closefd=False)

    def write(line: bytes) -> None:
        stdout.write(line)
        stdout.flush()

    sys.stdout = ProtocolOutput(write)
    plugin_logger_handler.setStream(sys.stdout)


class _Unfinished(local):
    """The line that a thread has not finished yet."""

    def __init__(self) -> None:
        self.pieces: list[str] = []


class ProtocolOutput(io.TextIOBase):
    """Standard output that lets nothing leave but whole lines, none of them too long.

    The SDK writes a line in two parts, and several threads write at once: each has its unfinished line for itself.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._lines = LineWriter(write, max_line_bytes=_MAX_LINE_BYTES, shorten=shorten_line)
        self._lock = Lock()
        self._unfinished = _Unfinished()

    def write(self, text: str, /) -> int:
        """Take a piece of text; what is whole of it leaves.

        Raises:
            RequestTooLargeError: If it is a call of a model or a tool that is too long; whoever makes it has to know.
        """
        pieces = self._unfinished.pieces
        *lines, rest = text.split("\n")
        for end in lines:
            line = "".join([*pieces, end])
            pieces.clear()
            if line:
                self._write_line(line)
        if rest:
            pieces.append(rest)
        return len(text)

    def _write_line(self, line: str) -> None:
        try:
            with self._lock:
                self._lines.write(_without_quotes(line).encode(errors="replace"))
        except LineTooLongError as error:
            raise RequestTooLargeError(error.size_bytes, error.max_line_bytes) from None


def _without_quotes(line: str) -> str:
    """Return a line as it is, but for the SDK's words about a line of Dify that it could not read: they quote it, from their second line on."""
    if not line.startswith('{"event":"error"'):
        return line
    told = json.loads(line)
    told["data"]["error"] = str(told["data"].get("error")).partition("\n")[0]
    return json.dumps(told)


def shorten_line(line: bytes, _limit: int) -> bytes:
    """Return a line that says the same in short, or that something is left out; a call stays as it is."""
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    notice = f"A message of {len(line):,} bytes is left out here: Dify's plugin daemon takes {_MAX_LINE_BYTES:,} at most."
    match message:
        case {"event": "session", "data": {"type": "invoke"}}:
            return line
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
