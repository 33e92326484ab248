"""One background response, followed asynchronously."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Any, Unpack, override

from gpt5_messages import StreamEvent
from gpt5_responses._calls.calls import Call, background_body, cancel_call, make, poll_call
from gpt5_responses._calls.fallback_requests import FallbackClient
from gpt5_responses._errors import ResponsesError
from gpt5_responses._http.client import HttpAnswer, aplay
from gpt5_responses._http.steps import Asynchronous
from gpt5_responses._settings.connection import Connection
from gpt5_responses._streams.async_stream import AsyncResponseStream

from .following import LAST_SECONDS, FollowedFacts, Following, FollowOptions, shows_options


class AsyncBackgroundStream(FollowedFacts, AsyncResponseStream):
    """The events of one background response, read asynchronously; everything said about `BackgroundStream` applies here too.

    Use it in `async with`, which sends the request and reads until the response's id is known. Leaving the block,
    cancellation or an error cancels the response at the server, unless it is over or detached.

    Attributes:
        left_out: The parts that the server refused, left out of the request.
    """

    @shows_options
    def __init__(  # noqa: PLR0913  one stream has these surroundings
        self,
        client: FallbackClient,
        body: Mapping[str, Any],
        *,
        owns_client: bool = False,
        flex_fallback: bool = False,
        response_id: str | None = None,
        starting_after: int | None = None,
        **options: Unpack[FollowOptions],
    ) -> None:
        sent = background_body(body)
        super().__init__(client, sent, owns_client=owns_client, flex_fallback=flex_fallback)
        self._following = Following(
            client.connection,
            sent,
            response_id=response_id,
            seen_until=starting_after,
            **options,
        )
        self._reader, self._limits = self._following.reader, self._following.limits
        self._begun: list[StreamEvent] = []  # read until the id was known
        self._first: AsyncGenerator[StreamEvent] | None = None
        self._opened.push_async_callback(self._leave)

    def detach(self) -> str:
        """Let the response continue when the caller leaves, and return its id, by which anyone with the key finds it."""
        self._following.is_detached = True
        return self._following.response_id

    @override
    async def _begin(self) -> AsyncGenerator[StreamEvent]:
        """Send the request and read until the response's id is known.

        A caller that is cancelled meanwhile waits for the id, so that the response can be cancelled at the server.
        """
        if self._following.response_id:
            return self._follow()
        task = asyncio.ensure_future(self._send_and_read())
        try:
            async with asyncio.timeout(self._limits.seconds_left):
                await asyncio.shield(task)
        except (TimeoutError, asyncio.CancelledError) as error:
            # The id may still arrive; without it the response could not be cancelled.
            await asyncio.wait({task}, timeout=LAST_SECONDS)
            task.cancel()
            await asyncio.wait({task})
            # Nobody has been given the id, so nobody could fetch the response.
            self._following.is_detached = False
            if isinstance(error, TimeoutError):
                raise self._took_too_long() from None
            raise
        return self._follow()

    async def _send_and_read(self) -> None:
        answer = await self._send()
        self._first = events = self._iter_answer(answer)
        while not self.response_id and (event := await anext(events, None)) is not None:
            self._begun.append(event)

    async def _follow(self) -> AsyncGenerator[StreamEvent]:
        try:
            for event in self._begun:
                yield event
            if self._first is not None:
                async for event in self._first:
                    yield event
            while not self._reader.is_over:
                await asyncio.sleep(self._following.pause_seconds)
                self._following.validate_time()
                is_resumed = self._following.polling.step == "resume"
                async for event in self._resume() if is_resumed else self._poll():
                    yield event
        finally:
            await self._leave()

    async def _resume(self) -> AsyncGenerator[StreamEvent]:
        """Resume the stream and yield the rest of its events."""
        steps = self._client.resume(self._following.rest_path)
        try:
            answer, _ = await self._within(aplay(steps))
        except ResponsesError as error:
            self._following.note_failed_step(error)
            return
        async for event in self._iter_answer(answer):
            yield event

    async def _poll(self) -> AsyncGenerator[StreamEvent]:
        """Poll the response and yield what is new."""
        call = poll_call(self._following.response_id, self._following.include)
        try:
            response = await self._within(self._ask(call))
        except ResponsesError as error:
            self._following.note_failed_step(error)
            return
        for events in self._following.reader.take(response):
            for event in events:
                yield event
        self._following.polling.note_running()

    async def _iter_answer(self, answer: HttpAnswer) -> AsyncGenerator[StreamEvent]:
        """Yield the events of one HTTP answer; a broken connection is no error while the response goes on."""
        self._answer = answer
        failure: ResponsesError | None = None
        try:
            self._following.begin_answer(status_code=answer.status_code, headers=answer.headers)
            async for event in self._iterate(answer):
                yield event
        except ResponsesError as error:
            failure = error
        finally:
            await self._release()
        self._following.note_answer(failure)

    async def _ask[T](self, call: Call[T]) -> T:
        return await aplay(make(self._client, call))

    async def _leave(self) -> None:
        """Close the connection, and cancel the response at the server unless it is over or detached."""
        await self._release()
        if self._following.leave():
            with suppress(ResponsesError, TimeoutError):  # it ends by itself eventually
                async with asyncio.timeout(LAST_SECONDS):
                    await self._ask(cancel_call(self._following.response_id))


@shows_options
def aopen_background(
    connection: Connection,
    request: Mapping[str, Any],
    *,
    flex_fallback: bool = False,
    **options: Unpack[FollowOptions],
) -> AsyncBackgroundStream:
    """Return the events of a background response; the request is sent when the stream is entered. The asynchronous form of `BackgroundStream`.

    The stream has a client of its own and closes it. For more than a few calls use an `AsyncResponsesClient`, which keeps its connections.

    Args:
        connection: Where to send it.
        request: The request body, as `gpt5_payloads.build_request` makes it.
        flex_fallback: As for `ResponseStream`.
        options: `seconds`, `detached` and `poll_seconds` of `BackgroundStream`.

    Raises:
        ResponsesError: If the connection's settings are refused, or an option is out of range.
    """
    return AsyncBackgroundStream(
        FallbackClient(connection, Asynchronous),
        request,
        owns_client=True,
        flex_fallback=flex_fallback,
        **options,
    )
