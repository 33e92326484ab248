"""Requests of megabytes, read in few pieces, and taken apart once.

The SDK asks for 64 KiB at a time, each of which costs a hop between threads, and goes through all of it three times more to find the lines in it.
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

from stream_text.stdin import parse_line


_PIPE_BYTES = 1024 * 1024  # the most that Linux gives a process without privileges
_END_SECONDS = (
    0.1  # between looks at a stdin that has ended; the SDK ends the process when its parent is gone
)
_LINE = TypeAdapter(dict[str, Any])


def widen_pipe(reader: RequestReader) -> None:
    """Let a reader of stdin take as much at a time as there is, up to 1 MiB; any other stays as it is."""
    if not isinstance(reader, StdioRequestReader):
        return
    descriptor = sys.stdin.fileno()
    with suppress(AttributeError, OSError):  # no Linux, or no pipe
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
    """Yield each line that holds something, without its end."""
    pieces: list[bytes] = []
    while True:
        data = tp_read(descriptor, _PIPE_BYTES)
        if not data:
            time.sleep(_END_SECONDS)
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            line = b"".join((*pieces, data[start:end])).strip()
            pieces.clear()
            start = end + 1
            if line:
                yield line
        pieces.append(data[start:])


def _parse_request(line: bytes, reader: RequestReader) -> PluginInStream:
    """Return a line of Dify's daemon as the SDK does.

    Source: dify-plugin 0.10.2, `core/server/stdio/request_reader.py`.
    """
    told = parse_line(line, _LINE.validate_json)
    return PluginInStream(
        session_id=told["session_id"],
        conversation_id=told.get("conversation_id"),
        message_id=told.get("message_id"),
        app_id=told.get("app_id"),
        endpoint_id=told.get("endpoint_id"),
        event=PluginInStreamEvent.value_of(told["event"]),
        data=told["data"],
        context=told.get("context"),
        reader=reader,
        writer=StdioResponseWriter(),
    )
