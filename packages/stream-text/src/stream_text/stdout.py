"""The lines that a plugin's process writes to Dify's plugin daemon: answers, calls, log records, all of them.

The daemon ends a plugin, with the calls of everybody in it, over one line that is too long. What decides is the line as it is written, so that nothing
which a model, a tool or a log holds can be forgotten. Not part of what `import stream_text` brings, because it acts on the process.

Source: langgenius/dify-plugin-daemon at bdb5642a, PLUGIN_STDIO_MAX_BUFFER_SIZE in `internal/types/app/config.go`.
"""

import io
import json
import os
import sys
from collections.abc import Callable
from threading import RLock, local
from typing import Any, override

from ._lines import LineWriter, Shorten


__all__ = ["MAX_LINE_BYTES", "LineStream", "bound_stdout", "bound_writer"]

MAX_LINE_BYTES = 5 * 1024 * 1024 - 1
"""How long a line may be, its line break left out."""


class _Unfinished(local):
    """The line that one thread has not finished yet, in the pieces that it came in."""

    def __init__(self) -> None:
        self.pieces: list[str] = []


class LineStream(io.TextIOBase):
    r"""A text stream that lets nothing leave but whole lines, none of them longer than the daemon reads.

    Several threads may write at once, and a line in several parts: each has its unfinished line for itself, and writes the whole one in one piece.
    Empty lines are left out.

    Args:
        write: Takes each line with its `\n`, in one call.
        shorten: What makes a line shorter that is too long.
    """

    def __init__(self, write: Callable[[bytes], object], shorten: Shorten) -> None:
        self._lines = LineWriter(write, max_line_bytes=MAX_LINE_BYTES, shorten=shorten)
        self._unfinished = _Unfinished()
        # Whoever takes a line may have to write others first, such as to connect again.
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
            if line:
                with self._lock:
                    self._lines.write(_without_quotes(line).encode(errors="replace"))
        if rest:
            pieces.append(rest)
        return len(text)


def _without_quotes(line: str) -> str:
    """Return a line as it is, but for the plugin SDK's words about a line of Dify that it could not read: they quote it, from their second line on."""
    if not line.startswith('{"event":"error"'):
        return line
    told = json.loads(line)
    told["data"]["error"] = str(told["data"].get("error")).partition("\n")[0]
    return json.dumps(told)


def bound_stdout(shorten: Shorten) -> None:
    """Let everything that this process prints from now on go through a `LineStream`.

    Args:
        shorten: What makes a line shorter that is too long.
    """
    # Buffered, whatever the interpreter was told: without a buffer a long line may leave in part only.
    stdout = os.fdopen(sys.stdout.fileno(), "wb", closefd=False)

    def write(line: bytes) -> None:
        stdout.write(line)
        stdout.flush()

    sys.stdout = LineStream(write, shorten)


def bound_writer(writer: Any, shorten: Shorten) -> None:
    """Let what an object sends to the daemon another way go through a `LineStream`.

    Args:
        writer: An object whose `write` takes text, such as the plugin SDK's connection of its remote debugging.
        shorten: What makes a line shorter that is too long.
    """
    send = writer.write
    writer.write = LineStream(lambda line: send(line.decode()), shorten).write
