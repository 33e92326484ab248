"""One response, opened and read to its end."""

from collections.abc import Generator, Iterator, Mapping
from typing import Any, Self

from gpt5_messages import Completion, StreamEvent

from ._connection import Connection
from ._failures import interrupted
from ._fallbacks import Fallback
from ._reader import ResponseReader
from ._transport import TRANSPORT, SentRequest, Transport


class ResponseStream:
    """Iterate over the events of one response, and close its connection in any case.

    Use it as a context manager, or call `close`. Iterating raises a `ResponsesError` when the server reports a failure or the connection
    breaks, after every event that came before.

    Attributes:
        left_out: What the server refused and was therefore left out of the request.
    """

    def __init__(self, sent: SentRequest, *, model: str) -> None:
        self._sent = sent
        self._is_closed = False
        self.left_out: tuple[Fallback, ...] = sent.left_out
        try:
            self._reader = ResponseReader(
                model=model,
                status_code=sent.response.status_code,
                headers=sent.response.headers,
            )
        except BaseException:
            self.close()
            raise
        self._events = self._iterate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[StreamEvent]:
        return self._events

    def close(self) -> None:
        """Close the connection, also while the response is still coming."""
        if not self._is_closed:
            self._is_closed = True
            self._sent.close()

    @property
    def request_id(self) -> str | None:
        """The server's id of this request."""
        return self._reader.request_id

    @property
    def event_count(self) -> int:
        """How many events the server has streamed so far."""
        return self._reader.event_count

    @property
    def last_event_type(self) -> str | None:
        """The type of the last event that the server has streamed."""
        return self._reader.last_event_type

    @property
    def completion(self) -> Completion:
        """What the response has said so far, or in all once the events have been read."""
        return self._reader.completion

    def _iterate(self) -> Generator[StreamEvent]:
        try:
            for data in self._bytes():
                yield from self._reader.feed(data)
                if self._reader.is_over:
                    return
            yield from self._reader.close()
        finally:
            self.close()

    def _bytes(self) -> Iterator[bytes]:
        """Yield the body as it arrives; whatever the HTTP library raises meanwhile is a broken connection."""
        response = self._sent.response
        try:
            # Hardly any event stream is compressed, and unpacking what is not packed costs time for every delta.
            if "content-encoding" in response.headers:
                yield from response.iter_bytes()
            else:
                yield from response.http_response.iter_raw()
        except (
            Exception
        ) as error:  # which HTTP library raises here is the official client's business
            raise interrupted(request_id=self.request_id) from error


def open_stream(
    connection: Connection, request: Mapping[str, Any], *, transport: Transport = TRANSPORT
) -> ResponseStream:
    """Send a request and return its response as a stream of events.

    Retries, with back-off and as long as `retry-after` says, happen before the stream has begun and never after. A response
    that the server does not stream is the same stream, arriving at once.

    Args:
        connection: Where to send it.
        request: The request body, as `gpt5_payloads.build_request` makes it.
        transport: Who sends it; the process's own by default.

    Raises:
        ResponsesError: The server could not be reached, refused the request, or answered with something else.
    """
    return ResponseStream(transport.send(connection, request), model=str(request.get("model")))


def create(
    connection: Connection, request: Mapping[str, Any], *, transport: Transport = TRANSPORT
) -> Completion:
    """Send a request and return the whole answer, streamed or not.

    Raises:
        ResponsesError: The server could not be reached, refused the request, or failed underway.
    """
    with open_stream(connection, request, transport=transport) as stream:
        for _ in stream:
            pass
        return stream.completion
