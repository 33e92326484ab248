"""Waiting for more of a body, in both kinds of client: within the limits, and after everything available has been taken.

Only where the HTTP library reads its connection does it show that everything received has been used, and that a wait is about to begin.
"""

import ssl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from traceback import clear_frames
from typing import Any

from gpt5_responses._http.async_network import AsyncBodyStream
from gpt5_responses._http.network import BodyStream

from .reader import ResponseReader
from .time_limits import TimeLimits


_NOTHING_THERE = (BlockingIOError, ssl.SSLWantReadError)

type Pause = Callable[[], bool]
"""Called when everything that has arrived has been yielded; returns whether to look once more before waiting."""


@contextmanager
def waiting(
    stream: BodyStream, reader: ResponseReader, limits: TimeLimits, pause: Pause | None
) -> Generator[None]:
    """Read a connection within the limits while one body arrives; the body has to be read inside this context.

    Args:
        stream: The network connection that the body comes from.
        reader: Knows how far the response has come.
        limits: How long to wait.
        pause: Called before waiting, if given.
    """
    read_plainly = stream.read_plainly

    def read(max_bytes: int, _timeout: float | None) -> bytes:
        limits.note(reader.progress)
        while pause is not None:
            try:
                return read_plainly(max_bytes, 0)  # a look: raises if nothing is there
            except Exception as error:  # one of the HTTP library's; its cause says more
                if not isinstance(error.__cause__, _NOTHING_THERE):
                    raise
                # Its frames hold one another and the whole stream, until garbage is collected.
                clear_frames(error.__traceback__)
            if not pause():
                break
            limits.note(reader.progress)
        return read_plainly(max_bytes, limits.wait_seconds())

    with _reading(stream, read):
        yield


@contextmanager
def async_waiting(
    stream: AsyncBodyStream, reader: ResponseReader, limits: TimeLimits
) -> Generator[None]:
    """As `waiting`, for an event loop, in which nobody has to look before a wait."""

    async def read(max_bytes: int, _timeout: float | None) -> bytes:
        limits.note(reader.progress)
        return await stream.read_plainly(max_bytes, limits.wait_seconds())

    with _reading(stream, read):
        yield


@contextmanager
def _reading(stream: Any, read: Callable[[int, float | None], Any]) -> Generator[None]:
    stream.read_network = read
    try:
        yield
    finally:
        if stream.read_network is read:  # the next call may have put its own there
            stream.read_network = stream.read_plainly
