"""Reading one body from its connection, in lists of what has arrived together."""

from collections.abc import AsyncGenerator
from contextlib import suppress

from gpt5_messages import StreamEvent
from gpt5_responses._errors import ResponsesError
from gpt5_responses._http.client import HttpAnswer
from gpt5_responses._http.error_messages import interrupted

from .reader import ResponseReader
from .time_limits import MOST_REST_BYTES, TimeLimits, is_delimited
from .waiting import async_waiting


async def async_iter_batches(
    answer: HttpAnswer, reader: ResponseReader, limits: TimeLimits
) -> AsyncGenerator[list[StreamEvent]]:
    """Yield the events of one HTTP answer in lists, each with what has arrived together; some are empty.

    Args:
        answer: The answer, whose head the reader has read.
        reader: The reader of its body.
        limits: How long to wait.

    Raises:
        ResponsesError: If the server reports a failure, the connection breaks or is silent for too long, or the body is no response.
    """
    with async_waiting(answer.stream, reader, limits):
        chunks = _iter_bytes(answer, reader, limits)
        async for data in chunks:
            for events in reader.feed(data):
                yield events
            if reader.is_over:
                if is_delimited(answer.headers):  # else the body lasts as long as the connection
                    await _read_rest(chunks, limits)
                return
        for events in reader.close():
            yield events


async def _iter_bytes(
    answer: HttpAnswer, reader: ResponseReader, limits: TimeLimits
) -> AsyncGenerator[bytes]:
    """Yield the body as it arrives; any error of the HTTP library counts as a broken connection."""
    chunks = aiter(answer.response.aiter_stream())
    while True:
        try:
            data = await anext(chunks, None)
        except ResponsesError:
            raise
        except Exception as error:  # noqa: BLE001  whatever it is
            limits.validate()
            raise interrupted(error, request_id=reader.request_id) from None
        if data is None:
            answer.is_read = True
            return
        yield data


async def _read_rest(chunks: AsyncGenerator[bytes], limits: TimeLimits) -> None:
    """Read the rest of a body after its response has ended, so that the connection can be reused."""
    limits.begin_rest()
    size = 0
    with suppress(ResponsesError):  # the response is complete all the same
        async for data in chunks:
            size += len(data)
            if size > MOST_REST_BYTES:
                return
