"""The lines that a session writes to the daemon, from several threads at once."""

from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any

from dify_plugin.core.runtime import ResponseWriter, Session

from ._errors import RequestTooLargeError


# The daemon's PLUGIN_STDIO_MAX_BUFFER_SIZE: for a longer line it kills the process, with the runs of everybody in it.
_MAX_LINE_BYTES = 5 * 1024 * 1024
_MAX_CHARACTER_BYTES = 4


class _WholeLineWriter(ResponseWriter):
    """A writer of whole lines: the SDK writes each in two unlocked parts."""

    def __init__(self, writer: ResponseWriter, lock: Lock) -> None:
        self._writer = writer
        self._lock = lock

    def write(self, data: str) -> None:
        self._writer.write(data)

    def done(self) -> None:
        self._writer.done()

    def session_message(self, session_id: str | None = None, data: Any = None) -> None:
        line = self.session_message_text(session_id, data)
        _validate_size(line)
        with self._lock:
            self._writer.write(line)


def _validate_size(line: str) -> None:
    if len(line) * _MAX_CHARACTER_BYTES <= _MAX_LINE_BYTES:
        return
    size = len(line.encode())
    if size > _MAX_LINE_BYTES:
        raise RequestTooLargeError(size, _MAX_LINE_BYTES)


class LineLock:
    """A lock that keeps the lines of a session's parallel calls and those of its answer apart."""

    def __init__(self, session: Session) -> None:
        self._lock = Lock()
        session.writer = _WholeLineWriter(session.writer, self._lock)

    def guard[Message](self, messages: Iterable[Message]) -> Iterator[Message]:
        """Pass messages on; the SDK writes each before it asks for the next, and until then no call is written."""
        for message in messages:
            with self._lock:
                yield message
