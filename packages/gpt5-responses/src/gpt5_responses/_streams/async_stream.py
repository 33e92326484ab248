"""One response, read asynchronously."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any, Self

from gpt5_messages import Completion, StreamEvent
from gpt5_responses._calls.fallback_requests import FallbackClient, Whole
from gpt5_responses._calls.left_out import Fallback
from gpt5_responses._errors import ResponsesError
from gpt5_responses._http.client import HttpAnswer, aplay
from gpt5_responses._http.steps import Asynchronous
from gpt5_responses._settings.connection import Connection

from .async_body_reads import async_iter_batches
from .reader import ResponseReader, StreamFacts
from .time_limits import TimeLimits


if TYPE_CHECKING:
    from gpt5_responses._calls.socket_session import SocketSession


class AsyncResponseStream(StreamFacts):
    """The events of one response. Use it in `async with`, which sends the request and closes the connection.

    Attributes:
        left_out: The parts that the server refused, left out of the request.
    """

    def __init__(  # noqa: PLR0913 - settings, each with a default
        self,
        client: FallbackClient,
        body: Mapping[str, Any],
        *,
        owns_client: bool = False,
        flex_fallback: bool = False,
        whole: Whole | None = None,
        session: "SocketSession | None" = None,
    ) -> None:
        self._client = client
        self._session = session
        self._body = body
        self._flex_fallback = flex_fallback
        self._whole = whole
        model = str(body.get("model"))
        self._reader = ResponseReader(body, client.connection)
        self._made_by = client.connection.reasoning_mark(model)
        self._limits = TimeLimits(client.connection)
        self._answer: HttpAnswer | None = None
        # Undone in the reverse order: the events end first, then the answer, then the client.
        self._opened = AsyncExitStack()
        if owns_client:
            self._opened.push_async_callback(aplay, client.close())
        self._opened.push_async_callback(self._release)
        self.left_out: tuple[Fallback, ...] = ()

    async def __aenter__(self) -> Self:
        try:
            self._events = await self._begin()
        except BaseException as error:  # `__aexit__` is not called if entering fails
            await self._opened.aclose()
            if isinstance(error, ResponsesError):
                self._name(error)
            raise
        self._opened.push_async_callback(self._events.aclose)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._opened.aclose()

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self._events

    async def _begin(self) -> AsyncGenerator[StreamEvent]:
        """Send the request and return the events of its response."""
        answer = await self._within(self._send())
        self._reader.begin_answer(answer)
        return self._iterate(answer)

    async def _send(self) -> HttpAnswer:
        answer, self.left_out = await aplay(
            self._client.post(
                self._body,
                flex_fallback=self._flex_fallback,
                whole=self._whole,
                session=self._session,
            )
        )
        self._answer = answer
        return answer

    async def _within[T](self, doing: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self._limits.seconds_left):
                return await doing
        except TimeoutError:
            raise self._took_too_long() from None

    async def _release(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            await aplay(self._client.end(answer))

    async def _iterate(self, answer: HttpAnswer) -> AsyncGenerator[StreamEvent]:
        try:
            async with aclosing(async_iter_batches(answer, self._reader, self._limits)) as batches:
                async for events in batches:
                    for event in events:
                        yield event
        except ResponsesError as error:
            self._name(error)
            raise


def aopen_stream(
    connection: Connection,
    request: Mapping[str, Any],
    *,
    flex_fallback: bool = False,
    whole: Whole | None = None,
) -> AsyncResponseStream:
    """Return the response to a request as a stream of events; the request is sent when the stream is entered. The asynchronous form of `open_stream`.

    The stream has a client of its own and closes it. For more than a few calls use an `AsyncResponsesClient`, which keeps its connections.

    Args:
        connection: Where to send it.
        request: The request body, as `gpt5_payloads.build_request` makes it.
        flex_fallback: As for `ResponseStream`.
        whole: As for `ResponseStream`.

    Raises:
        ResponsesError: If the connection's settings are refused.
    """
    return AsyncResponseStream(
        FallbackClient(connection, Asynchronous),
        request,
        owns_client=True,
        flex_fallback=flex_fallback,
        whole=whole,
    )


async def acreate(
    connection: Connection, request: Mapping[str, Any], *, flex_fallback: bool = False
) -> Completion:
    """Send a request and return the whole answer, streamed or not. The asynchronous form of `create`.

    Args:
        connection: Where to send it.
        request: The request body, as `gpt5_payloads.build_request` makes it.
        flex_fallback: As for `ResponseStream`.

    Raises:
        ResponsesError: If the server cannot be reached, refuses the request, or fails underway.
    """
    async with aopen_stream(connection, request, flex_fallback=flex_fallback) as stream:
        async for _ in stream:
            pass
        return stream.completion
