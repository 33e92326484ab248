# Generated from async_body_reads.py by tools/repository/blocking.py (nox -s blocking).
"""Reading one body from its connection, in lists of what has arrived together."""

from collections.abc import Generator
from contextlib import suppress

from gpt5_messages import StreamEvent
from gpt5_responses._errors import ResponsesError
from gpt5_responses._http.client import HttpAnswer
from gpt5_responses._http.error_messages import interrupted

from .reader import ResponseReader
from .time_limits import MOST_REST_BYTES, TimeLimits, is_delimited
from .waiting import Pause, waiting


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
    with waiting(answer.stream, reader, limits, pause):
        chunks = _iter_bytes(answer, reader, limits)
        for data in chunks:
            yield from reader.feed(data)
            if reader.is_over:
                if is_delimited(answer.headers):  # else the body lasts as long as the connection
                    _read_rest(chunks, limits)
                return
        yield from reader.close()


def _iter_bytes(answer: HttpAnswer, reader: ResponseReader, limits: TimeLimits) -> Generator[bytes]:
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


def _read_rest(chunks: Generator[bytes], limits: TimeLimits) -> None:
    """Read the rest of a body after its response has ended, so that the connection can be reused."""
    limits.begin_rest()
    size = 0
    with suppress(ResponsesError):  # the response is complete all the same
        for data in chunks:
            size += len(data)
            if size > MOST_REST_BYTES:
                return
