"""The lines that the plugin writes to the daemon, which ends a plugin that writes a longer one than it reads.

All of them go through `sys.stdout`, whoever writes them: the SDK's answers and errors, and the log. So that is where they are looked at.

Source: docs/contracts/openai-gpt5-responses.md, A47.
"""

import io
import json
import logging
import sys
from collections.abc import Iterable
from threading import Lock, local
from typing import Any, TextIO, cast, override

from dify_plugin.errors.model import InvokeServerUnavailableError

from stream_text import LineTooLongError, LineWriter


_MOST_BYTES = (
    5 * 1024 * 1024 - 1
)  # the daemon's PLUGIN_STDIO_MAX_BUFFER_SIZE, its line break included
_KEPT_CHARACTERS = 2_000  # of a message that is far too long to be read
_TOO_LARGE = "The answer is larger than Dify takes in one piece. Ask for less at once."


class _Unfinished(local):
    """The line that a call at the same time as others has not finished yet."""

    text = ""


class BoundedLines(io.TextIOBase):
    """A text stream of whole lines, none of them longer than the daemon reads.

    Each call has its unfinished line for itself, and writes the whole one in one piece. What is too long becomes shorter where that does no
    harm: an answer leaves its items to the plugin's own memory, an error its trace, a log line its end.

    Args:
        stream: Where the lines go.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._unfinished = _Unfinished()
        self._lock = Lock()
        self._lines = LineWriter(self._pass_on, max_line_bytes=_MOST_BYTES, shorten=_shorten)

    @override
    def writable(self) -> bool:
        return True

    @override
    def write(self, text: str, /) -> int:
        """Write the lines that end in this text; the SDK writes a line and its end one after the other.

        Raises:
            InvokeServerUnavailableError: If a line is too long and must not be shortened.
        """
        *lines, self._unfinished.text = (self._unfinished.text + text).split("\n")
        try:
            for line in filter(None, lines):
                with self._lock:
                    self._lines.write(_without_quotes(line).encode(errors="replace"))
        except LineTooLongError:
            raise InvokeServerUnavailableError(_TOO_LARGE) from None
        return len(text)

    def _pass_on(self, line: bytes) -> None:
        self._stream.write(line.decode())
        self._stream.flush()


def bound_lines(handlers: Iterable[logging.Handler]) -> None:
    """Let everything that this process writes to its stdout from now on go through `BoundedLines`; log handlers keep the stream they were made with."""
    sys.stdout, plain = BoundedLines(sys.stdout), sys.stdout
    for handler in handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is plain:
            handler.setStream(sys.stdout)


def _without_quotes(line: str) -> str:
    """Return a line as it is, but for the SDK's words about a line of Dify that it could not read: they quote it, from their second line on."""
    if not line.startswith('{"event":"error"'):
        return line
    told = json.loads(line)
    told["data"]["error"] = str(told["data"].get("error")).partition("\n")[0]
    return json.dumps(told)


def _shorten(line: bytes, _limit: int) -> bytes:
    """Leave out of a line of the plugin's protocol what nobody needs, or return it as it is; of any other line its beginning stays."""
    try:
        told: object = json.loads(line)
    except (ValueError, RecursionError):
        return line[:_KEPT_CHARACTERS]
    match told:
        case {"event": "log", "data": {"message": str(text)} as data} as whole:
            data["message"] = text[:_KEPT_CHARACTERS]
        case {"data": {"type": "error", "data": {"message": str(text)} as error}} as whole:
            cast("dict[str, Any]", error).update(message=text[:_KEPT_CHARACTERS], args={})
        case {"data": {"data": {"delta": {"message": {"opaque_body": _} as message}}}} as whole:
            message["opaque_body"] = None
        case _:
            return line
    return json.dumps(whole, ensure_ascii=False).encode(errors="replace")
