"""The reads of one body from its connection: what is there is taken without waiting, and waiting has its limits.

The HTTP library hands a body out in the pieces that the server made of it, many of which arrive at once. That all which has come is used up, and more
is about to be waited for, shows nowhere but where it reads its connection.
"""

import ssl
from collections.abc import Callable
from contextlib import suppress
from traceback import clear_frames
from typing import Any, Self

from ._patience import Patience
from ._reader import ResponseReader


_NOTHING_THERE = (BlockingIOError, ssl.SSLWantReadError)

type Pause = Callable[[], bool]
"""Called when all that has come has been handed out; returns whether to look for more once again before waiting for it."""


class BodyReads:
    """What reads a connection while one body comes in. Use it as a context manager, around all that reads the body.

    Args:
        response: The HTTP library's response.
        reader: Says how far the response has come.
        patience: How long may be waited.
        pause: What is done before waiting, if anything.
    """

    def __init__(
        self, response: Any, reader: ResponseReader, patience: Patience, pause: Pause | None
    ) -> None:
        self._response = response
        self._connection = response.extensions["network_stream"]
        self._read = self._connection.read
        self._reader = reader
        self._patience = patience
        self._pause = pause

    def __enter__(self) -> Self:
        self._connection.read = self._read_body
        return self

    def __exit__(self, *exception: object) -> None:
        with suppress(
            AttributeError
        ):  # the next call may have put its own there, and taken it away
            del self._connection.read

    def _read_body(self, max_bytes: int, timeout: float | None = None) -> bytes:
        # A connection whose body has been read to its end may belong to another call already.
        if self._response.is_closed:
            return self._read(max_bytes, timeout=timeout)
        self._patience.note(self._reader.progress)
        while self._pause is not None:
            try:
                return self._read(max_bytes, timeout=0)
            except Exception as error:  # the HTTP library's own; what it was made of says more
                if not isinstance(error.__cause__, _NOTHING_THERE):
                    raise
                # Its frames hold one another, and with them all of the stream until garbage is collected.
                clear_frames(error.__traceback__)
            if not self._pause():
                break
            self._patience.note(self._reader.progress)
        return self._read(max_bytes, timeout=self._patience.wait_seconds())
