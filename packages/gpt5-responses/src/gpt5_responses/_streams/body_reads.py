"""Reading one body from its connection: available bytes are taken without waiting, and waiting has time limits.

Only where the HTTP library reads its connection does it show that everything received has been used, and that a wait is about to begin.
"""

import ssl
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from traceback import clear_frames

from gpt5_messages import StreamEvent
from gpt5_responses._errors import ResponsesError
from gpt5_responses._http.client import HttpAnswer
from gpt5_responses._http.error_messages import interrupted
from gpt5_responses._http.network import BodyStream

from .reader import ResponseReader
from .time_limits import MOST_REST_BYTES, TimeLimits, is_delimited


_NOTHING_THERE = (BlockingIOError, ssl.SSLWantReadError)

type Pause = Callable[[], bool]
"""Called when everything that has arrived has been yielded; returns whether to look once more before waiting."""


@contextmanager
def _waiting(
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

    stream.read_network = read
    try:
        yield
    finally:
        if stream.read_network is read:  # the next call may have put its own there
            stream.read_network = read_plainly


def iter_batches(
    answer: HttpAnswer, reader: ResponseReader, limits: TimeLimits, pause: Pause | None
) -> Generator[list[StreamEvent]]:
    """Yield the events of one HTTP answer in lists, each with what has arrived together; some are empty.

    Args:
        answer: The answer, whose head the reader has read.
        reader: The reader of its body.
        limits: How long to wait.
        pause: Called when everything that has arrived has been yielded, if given.

    Raises:
        ResponsesError: If the server reports a failure, the connection breaks or is silent for too long, or the body is no response.
    """
    with _waiting(answer.stream, reader, limits, pause):
        chunks = _iter_bytes(answer, reader, limits)
        for data in chunks:
            yield from reader.feed(data)
            if reader.is_over:
                if is_delimited(answer.headers):  # else the body lasts as long as the connection
                    _read_rest(chunks, limits)
                return
        yield from reader.close()


def _iter_bytes(answer: HttpAnswer, reader: ResponseReader, limits: TimeLimits) -> Iterator[bytes]:
    """Yield the body as it arrives; any error of the HTTP library counts as a broken connection."""
    chunks = iter(answer.response.iter_stream())
    while True:
        try:
            data = next(chunks, None)
        except ResponsesError:
            raise
        except Exception as error:  # noqa: BLE001  whatever it is
            limits.validate()
            raise interrupted(error, request_id=reader.request_id) from None
        if data is None:
            answer.is_read = True
            return
        yield data


def _read_rest(chunks: Iterator[bytes], limits: TimeLimits) -> None:
    """Read the rest of a body after its response has ended, so that the connection can be reused."""
    limits.begin_rest()
    size = 0
    with suppress(ResponsesError):  # the response is complete all the same
        for data in chunks:
            size += len(data)
            if size > MOST_REST_BYTES:
                return
