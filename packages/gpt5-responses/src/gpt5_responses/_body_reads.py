"""The reads of one body from its connection: what is there is taken without waiting, and waiting has its limits.

That all which has come of a body is used up, and more is about to be waited for, shows nowhere but where the HTTP library reads its connection.
"""

import ssl
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from traceback import clear_frames
from typing import Self

from gpt5_messages import StreamEvent

from ._errors import ResponsesError
from ._failures import interrupted
from ._http import Answer
from ._network import BodyStream
from ._patience import MOST_REST_BYTES, Patience, is_delimited
from ._reader import ResponseReader


_TURN_BYTES = 8 * 1024
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


def iter_batches(
    answer: Answer, reader: ResponseReader, patience: Patience, pause: Pause | None
) -> Generator[list[StreamEvent]]:
    """Yield the events of one HTTP answer in lists, each as long as what has arrived together; some are empty.

    Args:
        answer: The answer, whose head the reader has been told.
        reader: What reads it.
        patience: How long may be waited.
        pause: Called when all that has arrived has been yielded, if anything.

    Raises:
        ResponsesError: If the server reports a failure, the connection breaks or is silent for too long, or the body is no response.
    """
    with BodyReads(answer.stream, reader, patience, pause):
        chunks = _iter_bytes(answer, reader, patience)
        for data in chunks:
            yield from reader.feed(data)
            if reader.is_over:
                if is_delimited(answer.headers):
                    _read_rest(chunks, patience)
                return
        yield from reader.close()


def _iter_bytes(answer: Answer, reader: ResponseReader, patience: Patience) -> Iterator[bytes]:
    """Yield the body as it arrives; whatever the HTTP library raises meanwhile is a broken connection."""
    turn, chunks = 0, iter(answer.response.iter_stream())
    while True:
        try:
            data = next(chunks, None)
        except ResponsesError:
            raise
        except Exception as error:  # noqa: BLE001  whatever it is
            patience.validate()
            raise interrupted(error, request_id=reader.request_id) from None
        if data is None:
            answer.is_read = True
            return
        yield data
        turn += len(data)
        if turn > _TURN_BYTES:  # under gevent others would wait while all that has come is read
            turn = 0
            time.sleep(0)


def _read_rest(chunks: Iterator[bytes], patience: Patience) -> None:
    """Read the end of a body whose response is over, so that its connection can serve the next call."""
    patience.begin_rest()
    size = 0
    with suppress(ResponsesError):  # the answer is whole all the same
        for data in chunks:
            size += len(data)
            if size > MOST_REST_BYTES:
                return
