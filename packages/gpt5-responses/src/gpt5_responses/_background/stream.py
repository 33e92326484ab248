"""Background responses by blocking calls: a stream that follows one to its end, and single calls about one.

The stream survives broken connections, failing servers and polls.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Unpack, override

from gpt5_messages import Completion, StreamEvent
from gpt5_responses._calls.calls import (
    background_body,
    cancel_call,
    poll_call,
    retrieve_call,
    start_call,
)
from gpt5_responses._calls.transport import TRANSPORT, SentRequest, Transport
from gpt5_responses._errors import ResponsesError
from gpt5_responses._settings.connection import Connection
from gpt5_responses._streams.body_reads import iter_batches
from gpt5_responses._streams.deadline import within
from gpt5_responses._streams.stream import ResponseStream
from gpt5_responses._streams.time_limits import TimeLimits
from gpt5_responses._streams.waiting import Pause

from .following import (
    LAST_SECONDS,
    FollowedFacts,
    Following,
    FollowOptions,
    attached_request,
    shows_options,
)


class BackgroundStream(FollowedFacts, ResponseStream):
    """The events of one background response: the same as those of a `ResponseStream`, however they are fetched.

    A stream that breaks off is resumed after its last event. If the server refuses that, as it does after 5 minutes, or
    if the response was not requested as a stream, the response is polled, and whatever is new in it is emitted as the
    same kinds of events. If the server fails meanwhile, it is asked again, for up to 10 minutes.

    The server **stores** the response (`store` is true, whatever the request says), with its input and output: for 30
    days, or until it is deleted. Projects with zero data retention keep it for about 10 minutes after its end, within
    which it has to be fetched. Its reasoning is stored with it and comes back without `encrypted_content`, so a
    conversation continues by `previous_response_id` (`Conversation.follow`).

    Leaving before the end, by closing the stream or its iterator, by an error, or because `seconds` have passed,
    cancels the response at the server unless it is detached. A detached response continues there, and `attach_stream`
    finds it by its id, even in another process.

    The request is sent once. If its answer breaks off before the response's id is known, nothing is sent again, since
    both responses might be made and billed.

    Args:
        connection: Where to send the request. Its `total_seconds` limit all of this, too.
        request: The request body, as `gpt5_payloads.build_request` makes it. `background` and `store` are set, and
            encrypted reasoning is not asked for.
        transport: The transport to send it through; the process's own by default.
        flex_fallback: As for `ResponseStream`.
        response_id: The id of a response that was started earlier: then no request is sent, and only `stream` and
            `include` of `request` count. See `attach_stream`.
        starting_after: The number of the last event of that response that the caller has had.
        options: `seconds`: how long the caller waits in all, from when the stream is opened, None for no limit; after
            that, iterating raises a `StillRunningError`. `detached`: whether the response continues at the server when
            the caller leaves. `poll_seconds`: the longest pause between two polls, in seconds, above 0.

    Raises:
        InvalidRequestError: If `response_id` is not an id.
        SettingsError: If a number is out of range.

    Attributes:
        left_out: The parts that the server refused, left out of the request.

    Source: https://platform.openai.com/docs/guides/background, read 2026-11-22; recorded background streams.
    """

    @shows_options
    def __init__(  # noqa: PLR0913  each is a decision of the caller's
        self,
        connection: Connection,
        request: Mapping[str, Any],
        *,
        transport: Transport = TRANSPORT,
        flex_fallback: bool = False,
        response_id: str | None = None,
        starting_after: int | None = None,
        **options: Unpack[FollowOptions],
    ) -> None:
        body = background_body(request)
        super().__init__(connection, body, transport=transport, flex_fallback=flex_fallback)
        self._following = Following(
            connection,
            body,
            response_id=response_id,
            seen_until=starting_after,
            **options,
        )
        self._reader, self._limits = self._following.reader, self._following.limits
        self._has_begun = response_id is not None  # whether the request has been sent
        self._begun: Iterator[list[StreamEvent]] = iter(())  # the answer to it
        self._left = threading.Event()
        self._pause: Pause | None = None

    def detach(self) -> str:
        """Close the connection without cancelling, and return the response's id, by which anyone with the key finds it.

        Raises:
            ResponsesError: If the request had still to be sent, and was refused.
        """
        self._following.is_detached = True
        self.open()  # a request that was never sent has no id to return
        self.close()
        return self._following.response_id

    @override
    def open(self) -> None:
        """Send the request, unless it has been sent or the stream is closed, and read until the response's id is known.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or answers with something else.
        """
        if self._has_begun or self._is_closed:
            return
        self._has_begun = True  # before sending: even a request that fails is not sent again
        sent = self._within(self._send, drop=self._cancel_late)
        self.left_out = sent.left_out
        if not self._hold(sent):  # closed by another thread, but the response has begun
            self._cancel_late(sent)
            return
        events = self._iter_answer(sent)
        begun: list[list[StreamEvent]] = []
        try:
            while not self.response_id and (batch := next(events, None)) is not None:
                begun.append(batch)
        except BaseException:
            self.close()
            raise
        self._begun = chain(begun, events)

    @override
    def close(self) -> None:
        """Close the connection, and cancel the response at the server unless it is over or detached."""
        # One step under the lock, so that only one of several closing threads cancels the response.
        with self._lock:
            self._is_closed = True
            must_cancel = self._following.leave()
            sent = self._sent
        self._left.set()  # ends a pause between two polls
        if sent is not None:
            sent.wake()
        if must_cancel:
            self._cancel()
        self._release()

    @override
    def batches(self, pause: Pause | None = None) -> Iterator[list[StreamEvent]]:
        self._pause = pause
        try:
            self.open()
            yield from self._begun
            while not (self._reader.is_over or self._left.wait(self._following.pause_seconds)):
                self._following.validate_time()
                yield from self._step()
        finally:
            self.close()

    def _step(self) -> Iterator[list[StreamEvent]]:
        return self._resume() if self._following.polling.step == "resume" else self._poll()

    def _resume(self) -> Iterator[list[StreamEvent]]:
        """Resume the stream and yield the rest of its events."""
        path = self._following.rest_path
        try:
            sent = self._within(
                lambda: self._transport.resume(self._connection, path),
                drop=lambda sent: sent.close(),
            )
        except ResponsesError as error:
            self._following.note_failed_step(error)
            return
        if self._hold(sent):
            yield from self._iter_answer(sent)
        else:
            sent.close()

    def _poll(self) -> Iterator[list[StreamEvent]]:
        """Poll the response and yield what is new."""
        call = poll_call(self._following.response_id, self._following.include)
        try:
            response = self._within(lambda: self._transport.ask(self._connection, call))
        except ResponsesError as error:
            self._following.note_failed_step(error)
            return
        yield from self._following.reader.take(response)
        self._following.polling.note_running()

    def _iter_answer(self, sent: SentRequest) -> Iterator[list[StreamEvent]]:
        """Yield the events of one HTTP answer; a broken connection is no error while the response goes on."""
        answer = sent.answer
        failure: ResponsesError | None = None
        try:
            self._following.begin_answer(status_code=answer.status_code, headers=answer.headers)
            yield from self._read(
                iter_batches(answer, self._reader, self._limits, self._look_again)
            )
        except ResponsesError as error:
            failure = error
        finally:
            self._release()
        # An answer that `close` has cut off is no failure of the response.
        if self._reader.is_over or not self._is_closed:
            self._following.note_answer(failure)

    def _look_again(self) -> bool:
        return self._pause is not None and self._pause()

    def _cancel(self) -> None:
        call = cancel_call(self._following.response_id)
        with suppress(ResponsesError, TimeoutError):  # it ends by itself eventually
            within(LAST_SECONDS, lambda: self._transport.ask(self._connection, call))

    def _cancel_late(self, sent: SentRequest) -> None:
        """Cancel a response that began too late for its caller; its id has to be read first."""
        answer, limits = sent.answer, TimeLimits(self._connection, seconds=LAST_SECONDS)
        try:
            self._following.begin_answer(status_code=answer.status_code, headers=answer.headers)
            batches = iter_batches(answer, self._reader, limits, None)
            while not self.response_id:
                next(batches)
        except (ResponsesError, StopIteration):
            pass  # the id may have arrived all the same
        finally:
            sent.close()
        if self.response_id and not self._reader.is_over:
            self._cancel()


@shows_options
def attach_stream(
    connection: Connection,
    response_id: str,
    *,
    starting_after: int | None = None,
    include: Sequence[str] = (),
    transport: Transport = TRANSPORT,
    **options: Unpack[FollowOptions],
) -> BackgroundStream:
    """Return the events of a background response that was started earlier, in this process or another.

    Nothing is sent before the first event is read. Leaving cancels the response at the server here, too, unless the stream is detached.

    Args:
        connection: Where it is, with a key of the project that it belongs to.
        response_id: Its id.
        starting_after: The number of the last event that the caller has received, from 0; events up to it are not
            emitted again. Once the server no longer streams the response, which is after 5 minutes, there are no
            numbers, and the whole response is emitted.
        include: Further fields to include, such as `web_search_call.action.sources`.
        transport: As for `BackgroundStream`.
        options: `seconds`, `detached` and `poll_seconds` of `BackgroundStream`.

    Raises:
        InvalidRequestError: If `response_id` is not an id.
        SettingsError: If a number is out of range.
    """
    return BackgroundStream(
        connection,
        attached_request(include),
        transport=transport,
        response_id=response_id,
        starting_after=starting_after,
        **options,
    )


def start_background(
    connection: Connection, request: Mapping[str, Any], *, transport: Transport = TRANSPORT
) -> Completion:
    """Start a background response and return its `response_id` and `status` at once.

    The server stores it, see `BackgroundStream`, and makes it whether or not anybody fetches it. The request is sent once.

    Args:
        connection: Where to send the request.
        request: The request body, as `gpt5_payloads.build_request` makes it. `background` and `store` are set, and no stream is asked for.
        transport: The transport to send it through; the process's own by default.

    Raises:
        ResponsesError: If the server cannot be reached, or refuses the request.
    """
    return transport.ask(connection, start_call(request))


def poll_background(
    connection: Connection,
    response_id: str,
    *,
    include: Sequence[str] = (),
    transport: Transport = TRANSPORT,
) -> Completion:
    """Poll a background response once and return its current state; a failed one too, with its `error`.

    Args:
        connection: Where it is.
        response_id: Its id.
        include: Further fields to include.
        transport: The transport to ask through; the process's own by default.

    Raises:
        NotFoundError: If the server has no response with this id, or no longer has it.
        ResponsesError: If the server cannot be reached, or refuses the request.
    """
    return transport.ask(connection, retrieve_call(response_id, include))


def cancel_background(
    connection: Connection, response_id: str, *, transport: Transport = TRANSPORT
) -> Completion:
    """Cancel a background response and return its final state; one that has ended stays as it is.

    Args:
        connection: Where it is.
        response_id: Its id.
        transport: The transport to ask through; the process's own by default.

    Raises:
        NotFoundError: If the server has no response with this id.
        ResponsesError: If the server cannot be reached, or it is not a background response.
    """
    return transport.ask(connection, cancel_call(response_id))
