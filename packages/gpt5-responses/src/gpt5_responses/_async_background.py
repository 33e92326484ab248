"""One background response, followed asynchronously: the twin of `_background`."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import suppress
from typing import Any, Self, Unpack, override

from gpt5_messages import StreamEvent

from ._async_stream import AsyncResponseStream
from ._attempts import Refusals, post, resume
from ._calls import Call, background_body, cancel_call, make, poll_call
from ._connection import Connection
from ._errors import ResponsesError, StillRunningError
from ._following import LAST_SECONDS, POLL_SECONDS, Following, FollowOptions
from ._http import Answer, HttpClient, aplay
from ._network import Asynchronous


class AsyncBackgroundStream(AsyncResponseStream):
    """The events of one response that is made in the background: the twin of `BackgroundStream`, with all that is said there.

    Within `async with`, which sends the request and reads until the response's id is known. Leaving the block, being cancelled, or an error has the server cancel
    the response, unless it is over or detached.

    Attributes:
        left_out: What the server refused and was therefore left out of the request.
    """

    def __init__(  # noqa: PLR0913  one stream has these surroundings
        self,
        client: HttpClient,
        connection: Connection,
        body: Mapping[str, Any],
        refusals: Refusals,
        *,
        owns_client: bool = False,
        flex_fallback: bool = False,
        seconds: float | None = None,
        detached: bool = False,
        poll_seconds: float = POLL_SECONDS,
        response_id: str | None = None,
        starting_after: int | None = None,
    ) -> None:
        sent = background_body(body)
        super().__init__(
            client,
            connection,
            sent,
            refusals,
            owns_client=owns_client,
            flex_fallback=flex_fallback,
        )
        self._following = Following(
            connection,
            sent,
            seconds=seconds,
            detached=detached,
            poll_seconds=poll_seconds,
            response_id=response_id,
            told_until=starting_after,
        )
        self._reader, self._patience = self._following.reader, self._following.patience
        self._answer: Answer | None = None
        self._begun: list[StreamEvent] = []
        self._first: AsyncGenerator[StreamEvent] | None = None
        self._told: AsyncGenerator[StreamEvent] | None = None

    @override
    async def __aenter__(self) -> Self:
        try:
            if not self._following.response_id:
                await self._begin()
        except BaseException:
            await self.__aexit__()
            raise
        self._events = self._told = self._follow()
        return self

    @override
    async def __aexit__(self, *exception: object) -> None:
        try:
            if self._told is not None:
                await self._told.aclose()
            await self._leave()
        finally:
            await self._opened.aclose()

    @property
    def response_id(self) -> str | None:
        """The response's id: what `AsyncResponsesClient.attach` takes."""
        return self._following.reader.response_id

    @property
    def last_number(self) -> int | None:
        """The number of the last event that has come, for `starting_after` of `AsyncResponsesClient.attach`; None where there is none."""
        return self._following.reader.last_number

    @property
    def status(self) -> str | None:
        """The response's state as far as the server has told it, such as `queued`."""
        return self._following.reader.status

    @property
    def is_detached(self) -> bool:
        """Whether the response goes on at the server when the caller leaves."""
        return self._following.is_detached

    def detach(self) -> str:
        """Have the response go on when the caller leaves, and return its id, by which whoever has the key finds it."""
        self._following.is_detached = True
        return self._following.response_id

    async def _begin(self) -> None:
        """Send the request and read until the response's id is known; a caller that is cancelled meanwhile waits until it can be cancelled at the server."""
        task = asyncio.ensure_future(self._send_and_read())
        try:
            async with asyncio.timeout(self._patience.seconds_left):
                await asyncio.shield(task)
        except (TimeoutError, asyncio.CancelledError) as error:
            await asyncio.wait({task}, timeout=LAST_SECONDS)
            task.cancel()
            await asyncio.wait({task})
            self._following.is_detached = False
            if isinstance(error, TimeoutError):
                raise self._following.took_too_long() from None
            raise

    async def _send_and_read(self) -> None:
        steps = post(
            self._client,
            self._body,
            self._refusals,
            self._secrets,
            flex_fallback=self._flex_fallback,
        )
        answer, self.left_out = await aplay(steps)
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
                step = self._following.course.step
                self._following.course.note_start(step)
                async for event in self._resume() if step == "resume" else self._poll():
                    yield event
        finally:
            await self._leave()

    async def _resume(self) -> AsyncGenerator[StreamEvent]:
        """Yield what the rest of the stream brings."""
        steps = resume(self._client, self._following.rest_path, self._secrets)
        try:
            answer = await self._within(aplay(steps))
        except StillRunningError:
            raise
        except ResponsesError as error:
            self._following.note_refused_stream(error)
            return
        async for event in self._iter_answer(answer):
            yield event

    async def _poll(self) -> AsyncGenerator[StreamEvent]:
        """Yield what the response, as it is now, says beyond what has been told."""
        call = poll_call(self._following.response_id, self._following.include)
        try:
            response = await self._within(self._ask(call))
        except StillRunningError:
            raise
        except ResponsesError as error:
            self._following.note_failed_poll(error)
            return
        for events in self._reader.take(response):
            for event in events:
                yield event
        self._following.course.note_running()

    async def _iter_answer(self, answer: Answer) -> AsyncGenerator[StreamEvent]:
        """Yield what one answer brings; that it breaks off is no error as long as the response goes on."""
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

    async def _within[T](self, doing: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._patience.seconds_left):
                return await doing
        except TimeoutError:
            raise self._following.took_too_long() from None

    async def _ask[T](self, call: Call[T]) -> T:
        return await aplay(make(self._client, call, self._secrets))

    async def _release(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            await aplay(self._client.end(answer))

    async def _leave(self) -> None:
        """Close what is being read, and have the server cancel the response unless it is over or detached."""
        await self._release()
        if self._following.leave():
            with suppress(ResponsesError, TimeoutError):  # it ends by itself some time
                async with asyncio.timeout(LAST_SECONDS):
                    await self._ask(cancel_call(self._following.response_id))


def aopen_background(
    connection: Connection,
    request: Mapping[str, Any],
    *,
    flex_fallback: bool = False,
    **options: Unpack[FollowOptions],
) -> AsyncBackgroundStream:
    """Return the events of a response that is made in the background, whose request is sent when it is entered: the twin of `BackgroundStream`.

    It has a client of its own, closed with it. Who makes more than a few calls keeps an `AsyncResponsesClient`, which keeps its connections.

    Args:
        connection: Where to send it.
        request: The request body, as `gpt5_payloads.build_request` makes it.
        flex_fallback: As for `ResponseStream`.
        options: `seconds`, `detached` and `poll_seconds` of `BackgroundStream`.

    Raises:
        ResponsesError: If the connection's settings are refused, or an option is out of its range.
    """
    return AsyncBackgroundStream(
        HttpClient(connection, Asynchronous),
        connection,
        request,
        Refusals(),
        owns_client=True,
        flex_fallback=flex_fallback,
        **options,
    )
