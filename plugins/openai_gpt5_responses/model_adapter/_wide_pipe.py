"""Reads large requests in few pieces and splits them into lines once.

The SDK reads 64 KiB at a time, each with a switch between threads, and scans the data three more times to find the lines in it.
"""

import fcntl
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from typing import Any

from dify_plugin.core.entities.plugin.io import PluginInStream, PluginInStreamEvent
from dify_plugin.core.server.__base.request_reader import RequestReader
from dify_plugin.core.server.stdio.request_reader import StdioRequestReader
from dify_plugin.core.server.stdio.response_writer import StdioResponseWriter
from gevent.os import tp_read
from pydantic import TypeAdapter

from dify_plugin_kit.stdin import parse_line
from stream_text import LineSplitter


_PIPE_BYTES = 1024 * 1024  # The most that Linux gives an unprivileged process.
# Between reads of a stdin that has ended: the SDK ends the process once its parent is gone.
_END_SECONDS = 0.1
_OPTIONAL = ("conversation_id", "message_id", "app_id", "endpoint_id", "context")
_LINE = TypeAdapter(dict[str, Any])


def widen_pipe(reader: RequestReader) -> None:
    """Make a reader of stdin read as much at a time as there is, up to 1 MiB; other readers stay unchanged."""
    if not isinstance(reader, StdioRequestReader):
        return
    descriptor = sys.stdin.fileno()
    with suppress(AttributeError, OSError):  # Not on Linux, or not a pipe.
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    setattr(reader, "_read_stream", lambda: _iter_requests(reader, descriptor))  # noqa: B010  a method of the SDK's own


def _iter_requests(reader: RequestReader, descriptor: int) -> Generator[PluginInStream]:
    for line in _iter_lines(descriptor):
        try:
            request = _parse_request(line, reader)
        except Exception as error:  # noqa: BLE001  whatever a line holds, the next one is read
            StdioResponseWriter().error(data={"error": str(error)})
        else:
            yield request


def _iter_lines(descriptor: int) -> Generator[bytes]:
    """Yield each line that is not blank, stripped."""
    lines = LineSplitter(max_line_bytes=sys.maxsize)  # The daemon's lines are unbounded.
    while True:
        # In gevent's thread pool, so that calls go on while there is nothing to read.
        data = tp_read(descriptor, _PIPE_BYTES)
        if not data:
            time.sleep(_END_SECONDS)
        yield from filter(None, map(bytes.strip, lines.feed(data)))


def _parse_request(line: bytes, reader: RequestReader) -> PluginInStream:
    """Parse a line of Dify's daemon like the SDK.

    Source: dify-plugin 0.10.2, `core/server/stdio/request_reader.py`.
    """
    message = parse_line(line, _LINE.validate_json)
    return PluginInStream(
        session_id=message["session_id"],
        event=PluginInStreamEvent.value_of(message["event"]),
        data=message["data"],
        reader=reader,
        writer=StdioResponseWriter(),
        **{name: message.get(name) for name in _OPTIONAL},
    )
