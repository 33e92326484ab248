r"""The lines that a plugin's process writes to Dify's plugin daemon: answers, calls, log records, all of them.

The daemon ends a plugin, with the calls of everybody in it, over one line that is too long. So each line is measured where it is written, and nothing
from a model, a tool or a log can slip through. Only `\n` ends a line.

Source: langgenius/dify-plugin-daemon at bdb5642a, PLUGIN_STDIO_MAX_BUFFER_SIZE in `internal/types/app/config.go`.
"""

import io
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from threading import RLock, local
from typing import Any, override


__all__ = [
    "MAX_LINE_BYTES",
    "LineStream",
    "LineTooLongError",
    "bound_stdout",
    "bound_writer",
    "shorten_line",
    "split_text",
]

MAX_LINE_BYTES = 5 * 1024 * 1024 - 1
"""The most bytes of a line, without its line feed."""

_KEPT_CHARACTERS = 2_000  # of a text in a line that is far too long for anybody to read
_PIECE_CHARACTERS = 256 * 1024  # in JSON a character takes at most six bytes
_SHOWN = frozenset({"text", "image", "image_link", "link", "file", "blob"})

type Shorten = Callable[[bytes, int], bytes]
"""A rule that shortens a line.

Given the line and the limit in bytes, it returns a line within the limit, or raises an error for the line's writer.
"""

type Refuse = Callable[[int, int], Exception]
"""A function that makes the error for a line that must not be shortened, given the size and the limit in bytes, both with the line feed."""


class LineTooLongError(ValueError):
    """A line that is over the limit even after it was shortened."""


class _Unfinished(local):
    """The line that one thread has not finished yet, in the pieces that it came in."""

    def __init__(self) -> None:
        self.pieces: list[str] = []


class LineStream(io.TextIOBase):
    r"""A text stream that writes whole lines only, none of them longer than the daemon reads.

    Several threads may write at once, and a line may come in several parts: each thread has an unfinished line of its
    own, which is written in one piece once it is whole. Empty lines are left out.

    Args:
        write: Takes each line with its `\n`, in one call.
        shorten: Shortens a line that is too long.
    """

    def __init__(self, write: Callable[[bytes], object], shorten: Shorten) -> None:
        self._write = write
        self._shorten = shorten
        self._unfinished = _Unfinished()
        # Reentrant: to send a line it may be necessary to write others first, to connect again.
        self._lock = RLock()

    @override
    def writable(self) -> bool:
        return True

    @override
    def write(self, text: str, /) -> int:
        """Write the lines that end in this text.

        Raises:
            LineTooLongError: If a line is too long, and after shortening still is.
        """
        pieces = self._unfinished.pieces
        *ends, rest = text.split("\n")
        for end in ends:
            line = "".join((*pieces, end))
            pieces.clear()
            # The SDK ends each message with an empty line.
            if line:
                with self._lock:
                    # Half of a surrogate pair has no UTF-8; it becomes a question mark.
                    self._write_line(_without_quotes(line).encode(errors="replace"))
        if rest:
            pieces.append(rest)
        return len(text)

    def _write_line(self, line: bytes) -> None:
        if len(line) > MAX_LINE_BYTES:
            line = self._shorten(line, MAX_LINE_BYTES)
            if len(line) > MAX_LINE_BYTES:
                raise LineTooLongError(
                    f"a line of {len(line)} bytes is over the limit of {MAX_LINE_BYTES}"
                )
        self._write(line + b"\n")


def _without_quotes(line: str) -> str:
    """Return a line as it is, or without its quotation if it is the SDK's message about a line that it could not read."""
    if not line.startswith('{"event":"error"'):
        return line
    message = json.loads(line)
    # From its second line on the text quotes the line that could not be read.
    message["data"]["error"] = str(message["data"].get("error")).partition("\n")[0]
    return json.dumps(message)


def bound_stdout(shorten: Shorten) -> None:
    """Replace `sys.stdout` by a `LineStream`.

    Args:
        shorten: Shortens a line that is too long.
    """
    # Buffered, even under `python -u`: without a buffer only a part of a long line may leave. Not
    # closed with this file, since the descriptor belongs to the stream that is replaced.
    stdout = os.fdopen(sys.stdout.fileno(), "wb", closefd=False)

    def write(line: bytes) -> None:
        stdout.write(line)
        stdout.flush()

    sys.stdout = LineStream(write, shorten)


def bound_writer(writer: Any, shorten: Shorten) -> None:
    """Bound the `write` of an object that reaches the daemon in another way, by a `LineStream`.

    Args:
        writer: An object whose `write` takes text, such as the plugin SDK's connection of its remote debugging.
        shorten: Shortens a line that is too long.
    """
    send = writer.write
    writer.write = LineStream(lambda line: send(line.decode()), shorten).write


def split_text(text: str) -> list[str]:
    """Return a text in pieces that each fit into a line, whatever JSON makes of them."""
    return [
        text[start : start + _PIECE_CHARACTERS] for start in range(0, len(text), _PIECE_CHARACTERS)
    ]


def shorten_line(line: bytes, limit: int, refuse: Refuse) -> bytes:
    """Return a line of a plugin without what is only shown: an error's trace, the end of a log's texts, an agent's output, a model's `opaque_body`.

    Args:
        line: The line.
        limit: How many bytes it may have.
        refuse: Makes the error for a line that its reader needs whole.

    Raises:
        Exception: If the line is a call of a model or a tool, whose caller has to know, or an answer that is still too
            long: the error that `refuse` returns.
    """
    size, most = len(line) + 1, limit + 1  # with the line's end, as the daemon counts
    notice = f"A message of {size:,} bytes is left out here: Dify's plugin daemon takes {most:,} at most."
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    match message:
        case {"event": "session", "data": {"type": "error", "data": {"message": text} as error}}:
            error.update(message=str(text)[:_KEPT_CHARACTERS], args={})
        case {"event": "session", "data": {"type": "stream", "data": {"type": str(kind)}}}:
            shown = message["data"]["data"]
            message["data"]["data"] = _shorten_agent_message(kind, shown, notice)
        case {"event": "session", "data": {"data": {"delta": {"message": {"opaque_body": _}}}}}:
            message["data"]["data"]["delta"]["message"]["opaque_body"] = None
        case {"event": "session"}:
            raise refuse(size, most)
        case {"event": "log", "data": {"message": text} as record}:
            record["message"] = str(text)[:_KEPT_CHARACTERS]
        case _:
            record = {"level": "ERROR", "message": notice, "timestamp": time.time()}
            message = {"event": "log", "data": record}
    short = json.dumps(message, ensure_ascii=False).encode(errors="replace")
    if len(short) > limit:
        raise refuse(size, most)
    return short


def _shorten_agent_message(kind: str, shown: Mapping[str, Any], notice: str) -> dict[str, Any]:
    """Return the message to show in place of one that is too long: a log keeps its frame, anything else becomes the notice."""
    if kind in _SHOWN:
        return {"type": "text", "message": {"text": notice}, "meta": None}
    log: Mapping[str, Any] = shown["message"] if kind == "log" else {}
    metadata = log.get("metadata") or dict[str, Any]()
    message = {
        "id": log.get("id") or "too-long",
        "label": str(log.get("label") or kind)[:_KEPT_CHARACTERS],
        "parent_id": log.get("parent_id"),
        "error": None if log.get("error") is None else str(log["error"])[:_KEPT_CHARACTERS],
        "status": log.get("status") or "error",
        "data": {"left_out": notice},
        "metadata": {
            name: value for name, value in metadata.items() if len(str(value)) <= _KEPT_CHARACTERS
        },
    }
    return {"type": "log", "message": message, "meta": None}
