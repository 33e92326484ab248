"""The reads of one body from its connection: what is there is taken without waiting, and waiting has its limits.

That all which has come of a body is used up, and more is about to be waited for, shows nowhere but where the HTTP library reads its connection.
"""

import ssl
from collections.abc import Callable
from traceback import clear_frames
from typing import Self

from ._network import BodyStream
from ._patience import Patience
from ._reader import ResponseReader


_NOTHING_THERE = (BlockingIOError, ssl.SSLWantReadError)

type Pause = Callable[[], bool]
"""Called when all that has come has been handed out; returns whether to look for more once again before waiting for it."""


class BodyReads:
    """What reads a connection while one body comes in. Use it as a context manager, around all that reads the body.

    Args:
        stream: The network connection that the body comes from.
        reader: Says how far the response has come.
        patience: How long may be waited.
        pause: What is done before waiting, if anything.
    """

    def __init__(
        self, stream: BodyStream, reader: ResponseReader, patience: Patience, pause: Pause | None
    ) -> None:
        self._stream = stream
        self._read = stream.read_plainly
        self._reader = reader
        self._patience = patience
        self._pause = pause

    def __enter__(self) -> Self:
        self._stream.read_network = self._read_body
        return self

    def __exit__(self, *exception: object) -> None:
        if self._stream.read_network == self._read_body:  # the next call may have put its own there
            self._stream.read_network = self._read

    def _read_body(self, max_bytes: int, _timeout: float | None) -> bytes:
        self._patience.note(self._reader.progress)
        while self._pause is not None:
            try:
                return self._read(max_bytes, 0)
            except Exception as error:  # the HTTP library's own; what it was made of says more
                if not isinstance(error.__cause__, _NOTHING_THERE):
                    raise
                # Its frames hold one another, and with them all of the stream until garbage is collected.
                clear_frames(error.__traceback__)
            if not self._pause():
                break
            self._patience.note(self._reader.progress)
        return self._read(max_bytes, self._patience.wait_seconds())
