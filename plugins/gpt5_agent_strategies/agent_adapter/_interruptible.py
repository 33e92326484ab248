"""An iterator over the SDK's messages that can be closed while it waits."""

from collections.abc import Generator, Iterator
from typing import Any

import gevent


class Interruptible[Piece]:
    """An iterator that can be closed while it waits for its next piece.

    The SDK may wait for ever. Its threads are greenlets, and one that waits here can be woken with `GreenletExit`.
    """

    def __init__(self, pieces: Generator[Piece]) -> None:
        self._pieces = pieces
        self._reader: Any = None

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        self._reader = gevent.getcurrent()
        try:
            return next(self._pieces)
        finally:
            self._reader = None

    def close(self) -> None:
        """Close the pieces, even from another greenlet."""
        # Python refuses to close a generator that is running, even if it only waits.
        if self._reader is None:
            self._pieces.close()
        else:
            # `throw` switches to the reader at once, so the hub does it, and this call returns.
            gevent.get_hub().loop.run_callback(self._interrupt)

    def _interrupt(self) -> None:
        # The piece may have arrived meanwhile.
        if self._reader is not None:
            self._reader.throw(gevent.GreenletExit)
