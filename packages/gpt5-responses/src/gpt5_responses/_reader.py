"""One HTTP answer, read without I/O: bytes in, stream events out, errors where they belong in the order."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from gpt5_messages import Completion, ResponseFailure, SSEDecoder, StreamDecoder, StreamEvent

from ._errors import ResponsesError, UnexpectedResponseError
from ._failures import from_event


_TERMINAL_TYPES = {
    "incomplete": "response.incomplete",
    "failed": "response.failed",
    "cancelled": "response.failed",
}
_RESPONSE_FIELDS = (
    "output",
    "status",
    "error",
)  # every response has one, however little of it a gateway fills in
_MAX_BYTES = 128 * 1024 * 1024  # far beyond any answer, and within a server's memory


class ResponseReader:
    """One answer as it arrives: an event stream, or a JSON body as the one event that it amounts to.

    Call `begin` with the answer's head, `feed` with each piece of its body, and `close` at the body's end.

    Args:
        model: The model that was asked for.

    Attributes:
        request_id: The server's id of the request, once it has answered.
        event_count: How many events the server has streamed so far.
        last_event_type: The type of the last event that the server has streamed.
    """

    def __init__(self, *, model: str) -> None:
        self.request_id: str | None = None
        self.event_count = 0
        self.last_event_type: str | None = None
        self._model = model
        self._is_stream = False
        self._size = 0
        self._frames = SSEDecoder()
        self._body: list[bytes] = []
        self._decoder = StreamDecoder()

    def begin(self, *, status_code: int, headers: Mapping[str, str]) -> None:
        """Take the answer's head.

        Args:
            status_code: The answer's HTTP status.
            headers: The answer's headers, found by names in lower case.

        Raises:
            UnexpectedResponseError: If the content type is neither an event stream's nor JSON's.
        """
        self.request_id = headers.get("x-request-id")
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in ("text/event-stream", "application/json"):
            found = repr(media_type) if media_type else "no content type"
            raise UnexpectedResponseError(
                f"The server answered with {found} where an event stream or JSON was expected. Check openai_api_base.",
                status_code=status_code,
                request_id=self.request_id,
            )
        self._is_stream = media_type == "text/event-stream"

    @property
    def is_over(self) -> bool:
        """Whether the response has ended, so that nothing more needs to be read."""
        return self._decoder.is_over

    @property
    def completion(self) -> Completion:
        """What the response has said so far."""
        return self._decoder.completion

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """Take the next bytes and yield the events that they complete.

        Raises:
            ResponsesError: If the server reports a failure, after the events before it, or if its answer has no end.
        """
        self._size += len(data)
        if self._size > _MAX_BYTES:
            raise UnexpectedResponseError(
                "The server's answer was given up: it is larger than 128 MiB.",
                request_id=self.request_id,
            )
        if self._is_stream:
            yield from self._decode(self._frames.feed(data))
        else:
            self._body.append(data)

    def close(self) -> Iterator[StreamEvent]:
        """Yield what the end of the body brings.

        Raises:
            ResponsesError: If the server reports a failure, or the body ends too early or is no response.
        """
        if self._is_stream:
            yield from self._decode(self._frames.close())
        else:
            yield from self._until_failure(self._decoder.feed(self._whole_response()))
        yield from self._until_failure(self._decoder.close())

    def _decode(self, events: list[dict[str, Any]]) -> Iterator[StreamEvent]:
        for event in events:
            self.event_count += 1
            self.last_event_type = event["type"]
            # A loop of its own rather than `_until_failure`: one generator less in the way of every delta.
            for decoded in self._decoder.feed(event):
                if isinstance(decoded, ResponseFailure):
                    raise self._failure(decoded)
                yield decoded

    def _until_failure(self, events: list[StreamEvent]) -> Iterator[StreamEvent]:
        for event in events:
            if isinstance(event, ResponseFailure):
                raise self._failure(event)
            yield event

    def _failure(self, event: ResponseFailure) -> ResponsesError:
        return from_event(event, model=self._model, request_id=self.request_id)

    def _whole_response(self) -> dict[str, Any]:
        try:
            response = json.loads(b"".join(self._body))
        except (ValueError, RecursionError):
            response = None
        if not isinstance(response, dict) or response.keys().isdisjoint(_RESPONSE_FIELDS):
            raise UnexpectedResponseError(
                "The server's answer is not a response of the Responses API. Check openai_api_base.",
                request_id=self.request_id,
            )
        whole = cast("dict[str, Any]", response)
        event_type = _TERMINAL_TYPES.get(str(whole.get("status")), "response.completed")
        return {"type": event_type, "response": whole}
