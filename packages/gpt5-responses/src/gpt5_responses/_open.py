"""One response, opened and read to its end."""

import json
from collections.abc import Generator, Iterator, Mapping
from typing import Any, Self, cast

from gpt5_messages import Completion, ResponseError, SSEDecoder, StreamDecoder, StreamEvent

from ._connection import Connection
from ._errors import UnexpectedResponseError
from ._failures import from_event, interrupted
from ._fallbacks import Fallback
from ._transport import TRANSPORT, Transport


_TERMINAL_TYPES = {
    "incomplete": "response.incomplete",
    "failed": "response.failed",
    "cancelled": "response.failed",
}


class ResponseStream:
    """Iterate over the events of one response, and close its connection in any case.

    Use it as a context manager, or call `close`. Iterating raises a `ResponsesError` when the server reports a failure or the connection
    breaks, after every event that came before.

    Attributes:
        left_out: What the server refused and was therefore left out of the request.
        request_id: The server's id of this request.
        event_count: How many events the server has streamed so far.
    """

    def __init__(
        self, connection: Connection, request: Mapping[str, Any], transport: Transport
    ) -> None:
        self._model = str(request.get("model"))
        sent = transport.send(connection, request)
        self._response = sent.response
        self._close = sent.close
        self.left_out: tuple[Fallback, ...] = sent.left_out
        self.request_id: str | None = self._response.headers.get("x-request-id")
        self.event_count = 0
        self._decoder = StreamDecoder()
        self._is_closed = False
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
            self._close()

    @property
    def completion(self) -> Completion:
        """What the response has said so far, or in all once the events have been read."""
        return self._decoder.completion

    def _iterate(self) -> Generator[StreamEvent]:
        try:
            for event in self._decoded():
                if isinstance(event, ResponseError):
                    raise from_event(event, model=self._model, request_id=self.request_id)
                yield event
        finally:
            self.close()

    def _decoded(self) -> Iterator[StreamEvent]:
        media_type = (
            self._response.headers.get("content-type", "").partition(";")[0].strip().lower()
        )
        if media_type == "text/event-stream":
            yield from self._decode_stream()
        elif media_type == "application/json":
            yield from self._decoder.feed(self._read_whole())
        else:
            raise UnexpectedResponseError(
                f"The server answered with {media_type or 'no content type'!r} where an event stream or JSON was "
                "expected. Check openai_api_base.",
                status_code=self._response.status_code,
                request_id=self.request_id,
            )

    def _decode_stream(self) -> Iterator[StreamEvent]:
        frames = SSEDecoder()
        for data in self._bytes():
            yield from self._decode(frames.feed(data))
            if self._decoder.is_over:
                return
        yield from self._decode(frames.close())
        yield from self._decoder.close()

    def _decode(self, events: list[dict[str, Any]]) -> Iterator[StreamEvent]:
        for event in events:
            self.event_count += 1
            yield from self._decoder.feed(event)

    def _read_whole(self) -> dict[str, Any]:
        """Read a response that was not streamed, as the one event that it amounts to."""
        body = b"".join(self._bytes())
        try:
            response = json.loads(body)
        except (ValueError, RecursionError):
            response = None
        if not isinstance(response, dict):
            raise UnexpectedResponseError(
                "The server sent a body that is no JSON object. Check openai_api_base.",
                request_id=self.request_id,
            )
        whole = cast("dict[str, Any]", response)
        event_type = _TERMINAL_TYPES.get(str(whole.get("status")), "response.completed")
        return {"type": event_type, "response": whole}

    def _bytes(self) -> Iterator[bytes]:
        """Yield the body as it arrives; whatever the HTTP library raises meanwhile is a broken connection."""
        try:
            yield from self._response.iter_bytes()
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
        ResponsesError: The server could not be reached or refused the request.
    """
    return ResponseStream(connection, request, transport)


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
