"""Requests of megabytes, read in few pieces: of the 64 KiB that the SDK asks for at a time each costs a hop between threads."""

import fcntl
import sys
from contextlib import suppress

from dify_plugin.core.server.__base.request_reader import RequestReader
from dify_plugin.core.server.stdio.request_reader import StdioRequestReader
from gevent.os import tp_read


_PIPE_BYTES = 1024 * 1024  # the most that Linux gives a process without privileges


def widen_pipe(reader: RequestReader) -> None:
    """Let a reader of stdin take as much at a time as there is, up to 1 MiB; any other stays as it is."""
    if not isinstance(reader, StdioRequestReader):
        return
    descriptor = sys.stdin.fileno()
    with suppress(AttributeError, OSError):  # no Linux, or no pipe
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    setattr(reader, "_read_async", lambda: tp_read(descriptor, _PIPE_BYTES))  # noqa: B010  a method of the SDK's own
