"""One background response, read from any number of HTTP answers: streams, resumed streams and polls.

All of them go into one decoder, which knows what has been emitted already: events by their numbers, texts by their
beginnings. The reader of the events need not know how they arrived.

Source: docs/evidence/responses-api.md, R24; recorded background streams, their resumption, and polled responses.
"""

from collections.abc import Iterator, Mapping
from typing import Any, override

from gpt5_messages import StreamEvent
from gpt5_responses._errors import ResponsesError, StreamInterruptedError
from gpt5_responses._http.error_messages import INTERRUPTED
from gpt5_responses._settings.connection import Connection
from gpt5_responses._streams.reader import ResponseReader, terminal_type
from stream_text import is_list, is_object


RUNNING = ("queued", "in_progress")
"""The states of a response that is still being made."""

_ERRORS = ("error", "response.error")


class BackgroundReader(ResponseReader):
    """The answers about one background response, as the events of one stream.

    Call `begin`, `feed` and `close` for each HTTP answer that is a stream or a whole response, and `take` with each
    polled response. An answer that ends before the response does raises `StreamInterruptedError` and leaves everything
    as it was, so that the next one can continue from there.

    Args:
        request: As for `ResponseReader`.
        connection: As for `ResponseReader`.
        seen_until: The number of the last event that the caller has received; None for none. Events up to it are read but not emitted again.

    Attributes:
        response_id: The response's id, once it is known.
        last_number: The number of the last event received; None if the server does not number them.
        status: The last state of the response that the server reported.
    """

    def __init__(
        self,
        request: Mapping[str, Any],
        connection: Connection,
        *,
        response_id: str | None = None,
        seen_until: int | None = None,
    ) -> None:
        super().__init__(request, connection)
        self.response_id = response_id
        self.last_number: int | None = None
        self.status: str | None = None
        self._seen_until = -1 if seen_until is None else seen_until
        self._has_started = False

    @override
    def close(self) -> Iterator[list[StreamEvent]]:
        if self.is_stream:
            raise self._broken_off()
        whole = self.read_whole()
        if isinstance(whole.get("id"), str) and isinstance(whole.get("status"), str):
            yield from self.take(whole)
        else:
            yield from super().close()

    def take(self, response: Mapping[str, Any]) -> Iterator[list[StreamEvent]]:
        """Yield the events that a polled response adds to those emitted so far.

        Args:
            response: The response, as on the wire.

        Raises:
            ResponsesError: If it has failed, or was cancelled before it had an answer.
        """
        self.status = str(response.get("status"))
        events: list[StreamEvent] = []
        if not self._has_started:  # no stream came before the first poll
            events += self._feed({"type": "response.created", "response": response})
        if self.status in RUNNING:
            events += self._take_items(response)
        else:
            events += self.decoder.feed({"type": terminal_type(response), "response": response})
            if not self.is_over:  # it failed without a reason, and no later answer will give one
                events += self.decoder.close()
        self.progress += 1  # even if nothing is new, the server has answered
        yield from self.until_failure(events)

    def _take_items(self, response: Mapping[str, Any]) -> list[StreamEvent]:
        """Return the events of the finished items, up to the first unfinished one."""
        output: object = response.get("output")
        events: list[StreamEvent] = []
        for index, item in enumerate(output if is_list(output) else ()):
            if not is_object(item) or item.get("status") != "completed":
                break
            done = {"type": "response.output_item.done", "output_index": index, "item": item}
            events += self.decoder.feed(done)
        return events

    @override
    def _decode(self, events: list[dict[str, Any]]) -> Iterator[list[StreamEvent]]:
        self.progress += len(events)
        decoded: list[StreamEvent] = []
        for event in events:
            self.note_event(event)
            if event["type"] in _ERRORS or _is_unexplained(event):
                # It may be the stream that has failed, not the response: the next answer will tell.
                yield decoded
                raise self._broken_off()
            decoded += self._feed(event)
            if self.is_over:
                break
        yield from self.until_failure(decoded)

    def _feed(self, event: Mapping[str, Any]) -> list[StreamEvent]:
        number = event.get("sequence_number")
        if isinstance(number, int):
            self.last_number = max(number, -1 if self.last_number is None else self.last_number)
        response = event.get("response")
        if is_object(response):
            self._note_response(response)
        if event["type"] == "response.created":
            if self._has_started:  # a server without numbers begins again from its first event
                return []
            self._has_started = True
        events = self.decoder.feed(event)
        # The events that end the response are emitted in any case.
        is_seen = isinstance(number, int) and number <= self._seen_until and not self.is_over
        return [] if is_seen else events

    def _note_response(self, response: Mapping[str, Any]) -> None:
        found, status = response.get("id"), response.get("status")
        if self.response_id is None and isinstance(found, str) and found:
            self.response_id = found
        self.status = status if isinstance(status, str) else self.status

    def _broken_off(self) -> ResponsesError:
        return StreamInterruptedError(INTERRUPTED, request_id=self.request_id)


def _is_unexplained(event: Mapping[str, Any]) -> bool:
    """Return whether an event says that the response has failed without saying why."""
    if event["type"] != "response.failed":
        return False
    response: object = event.get("response")
    reason = response.get("error") if is_object(response) else None
    return not (reason or event.get("error"))
