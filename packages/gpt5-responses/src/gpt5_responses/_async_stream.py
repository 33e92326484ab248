"""One response, read asynchronously."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any, Self

from gpt5_messages import Completion, StreamEvent

from ._attempts import Refusals, post
from ._connection import Connection
from ._errors import ResponsesError
from ._failures import interrupted
from ._fallbacks import Fallback
from ._http import Answer, HttpClient, aplay
from ._network import Asynchronous
from ._patience import MOST_REST_BYTES, REST_SECONDS, Patience, is_delimited
from ._reader import ResponseReader


class AsyncResponseStream:
    """The events of one response, within `async with`, which sends the request and closes its connection.

    Attributes:
        left_out: What the server refused and was therefore left out of the request.
    """

    def __init__(  # noqa: PLR0913  one stream has these surroundings
        self,
        client: HttpClient,
        connection: Connection,
        body: dict[str, Any],
        refusals: Refusals,
        *,
        owns_client: bool = False,
        flex_fallback: bool = False,
    ) -> None:
        self._client = client
        self._body = body
        self._refusals = refusals
        self._flex_fallback = flex_fallback
        self._secrets = connection.secrets
        self._reader = ResponseReader(model=str(body.get("model")), secrets=self._secrets)
        self._patience = Patience(connection)
        self._opened = AsyncExitStack()
        if owns_client:
            self._opened.push_async_callback(aplay, client.close())
        self.left_out: tuple[Fallback, ...] = ()

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.timeout(self._patience.seconds_left):
                answer = await self._send()
            self._reader.begin(status_code=answer.status_code, headers=answer.headers)
        except TimeoutError:
            await self._opened.aclose()
            raise self._patience.took_too_long() from None
        except BaseException:
            await self._opened.aclose()
            raise
        self._events = self._iterate(answer)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._events.aclose()
        await self._opened.aclose()

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self._events

    @property
    def request_id(self) -> str | None:
        """The server's id of the request, once it has answered."""
        return self._reader.request_id

    @property
    def completion(self) -> Completion:
        """What the response has said so far, or in all once the events have been read."""
        return self._reader.completion

    async def _send(self) -> Answer:
        steps = post(
            self._client,
            self._body,
            self._refusals,
            self._secrets,
            flex_fallback=self._flex_fallback,
        )
        answer, self.left_out = await aplay(steps)
        self._opened.push_async_callback(aplay, self._client.end(answer))
        return answer

    async def _iterate(self, answer: Answer) -> AsyncGenerator[StreamEvent]:
        chunks = self._bytes(answer)
        async for data in chunks:
            for events in self._reader.feed(data):
                for event in events:
                    yield event
            if self._reader.is_over:
                await _read_rest(chunks, answer)
                return
        for events in self._reader.close():
            for event in events:
                yield event

    async def _bytes(self, answer: Answer) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives; whatever the HTTP library raises meanwhile is a broken connection."""
        chunks = aiter(answer.response.aiter_stream())
        while True:
            try:
                async with asyncio.timeout(self._patience.seconds_left):
                    data = await anext(chunks, None)
            except TimeoutError:
                raise self._patience.took_too_long() from None
            except Exception as error:  # noqa: BLE001  whatever it is
                raise interrupted(error, request_id=self.request_id) from None
            if data is None:
                return
            yield data
            self._patience.note(self._reader.progress)


async def _read_rest(chunks: AsyncGenerator[bytes], answer: Answer) -> None:
    """Read the end of a body whose response is over, so that its connection can serve the next call."""
    if is_delimited(answer.headers):
        with suppress(ResponsesError, TimeoutError):
            async with asyncio.timeout(REST_SECONDS):
                size = 0
                async for data in chunks:
                    size += len(data)
                    if size > MOST_REST_BYTES:
                        return


def aopen_stream(
    connection: Connection, request: Mapping[str, Any], *, flex_fallback: bool = False
) -> AsyncResponseStream:
    """Return the response to a request as a stream of events, sent when it is entered: the twin of `open_stream`.

    It has a client of its own, closed with it. Who makes more than a few calls keeps an `AsyncResponsesClient`, which keeps its connections.

    Args:
        connection: Where to send it.
        request: The request body, as `gpt5_payloads.build_request` makes it.
        flex_fallback: As for `ResponseStream`.

    Raises:
        ResponsesError: If the connection's settings are refused.
    """
    client = HttpClient(connection, Asynchronous)
    return AsyncResponseStream(
        client,
        connection,
        dict(request),
        Refusals(),
        owns_client=True,
        flex_fallback=flex_fallback,
    )


async def acreate(
    connection: Connection, request: Mapping[str, Any], *, flex_fallback: bool = False
) -> Completion:
    """Send a request and return the whole answer, streamed or not: the twin of `create`.

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
