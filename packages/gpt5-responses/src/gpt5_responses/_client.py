"""A small client for conversations with GPT-5 models, blocking or asynchronous, from a declared model."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Self

import openai

from gpt5_messages import Completion, StreamEvent

from ._attempts import Refusals, iter_attempts
from ._connection import DEFAULT_BASE_URL, Connection
from ._failures import interrupted
from ._fallbacks import Fallback
from ._reader import ResponseReader
from ._scheme import Request, ResponsesScheme
from ._stream import ResponseStream, open_stream
from ._transport import TRANSPORT, Transport


type _Response = openai.AsyncAPIResponse[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A model and where it is.

    Attributes:
        model_id: The model's name, such as `gpt-5`.
        api_key: The key; never part of `repr`.
        base_url: The API's root; `/v1` is added where it is missing.
        organization: The organisation to bill, if not the key's own.
        timeout_seconds: Seconds to wait for a connection, and then for each next byte, brought within 30 to 900.
        max_retries: How often a request that could not be started is sent again, brought within 0 to 5.
    """

    model_id: str
    api_key: str = field(repr=False)
    base_url: str = DEFAULT_BASE_URL
    organization: str | None = None
    timeout_seconds: int = 300
    max_retries: int = 1

    def connect(self) -> Connection:
        """Return the connection that this describes.

        Raises:
            SettingsError: If the key is missing, or the key, organisation or base URL is not usable.
        """
        names = ("api_key", "base_url", "organization", "timeout_seconds", "max_retries")
        return Connection.from_settings({name: getattr(self, name) for name in names})


class ResponsesClient:
    """A blocking client for one model.

    Args:
        config: The model and where it is.
        scheme: What is decided about the wire.
        transport: Who sends; the process's own by default.

    Raises:
        SettingsError: If the configuration is not usable.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        scheme: ResponsesScheme | None = None,
        transport: Transport = TRANSPORT,
    ) -> None:
        self._model = config.model_id
        self._connection = config.connect()
        self._scheme = scheme or ResponsesScheme()
        self._transport = transport

    def stream(self, request: Request) -> ResponseStream:
        """Send a request and return its response as a stream of events.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or answers with something else.
            PayloadError: If a tool is not usable.
        """
        body = self._scheme.build_body(request, model=self._model)
        return open_stream(self._connection, body, transport=self._transport)

    def complete(self, request: Request) -> Completion:
        """Send a request and return the whole answer.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or fails underway.
            PayloadError: If a tool is not usable.
        """
        with self.stream(request) as stream:
            for _ in stream:
                pass
            return stream.completion


class AsyncResponsesClient:
    """An asynchronous client for one model. Use it as an asynchronous context manager, or call `aclose`.

    Args:
        config: The model and where it is.
        scheme: What is decided about the wire.

    Raises:
        SettingsError: If the configuration is not usable.
    """

    def __init__(self, config: ModelConfig, *, scheme: ResponsesScheme | None = None) -> None:
        connection = config.connect()
        self._model = config.model_id
        self._scheme = scheme or ResponsesScheme()
        self._refusals = Refusals()
        self._openai = openai.AsyncOpenAI(**connection.client_settings())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the client's connections."""
        await self._openai.close()

    def stream(self, request: Request) -> "AsyncResponseStream":
        """Return the response to a request as a stream of events, sent when it is entered.

        Raises:
            PayloadError: If a tool is not usable.
        """
        body = self._scheme.build_body(request, model=self._model)
        return AsyncResponseStream(self._openai, body, self._refusals)

    async def complete(self, request: Request) -> Completion:
        """Send a request and return the whole answer.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or fails underway.
            PayloadError: If a tool is not usable.
        """
        async with self.stream(request) as stream:
            async for _ in stream:
                pass
            return stream.completion


class AsyncResponseStream:
    """The events of one response, within `async with`, which sends the request and closes its connection.

    Attributes:
        left_out: What the server refused and was therefore left out of the request.
    """

    def __init__(
        self, client: openai.AsyncOpenAI, body: dict[str, Any], refusals: Refusals
    ) -> None:
        self._client = client
        self._body = body
        self._refusals = refusals
        self._reader = ResponseReader(model=body["model"])
        self._opened = AsyncExitStack()
        self.left_out: tuple[Fallback, ...] = ()

    async def __aenter__(self) -> Self:
        response = await self._send()
        try:
            self._reader.begin(status_code=response.status_code, headers=response.headers)
        except BaseException:
            await self._opened.aclose()
            raise
        self._events = self._iterate(response)
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

    async def _send(self) -> _Response:
        attempts = iter_attempts(self._body, self._refusals)
        attempt = next(attempts)
        while True:
            opening = self._client.responses.with_streaming_response.create(extra_body=attempt.body)
            try:
                response = await self._opened.enter_async_context(opening)
            except openai.OpenAIError as error:
                attempt = attempts.send(error)
            else:
                self.left_out = attempt.left_out
                return response

    async def _iterate(self, response: _Response) -> AsyncGenerator[StreamEvent]:
        async for data in self._bytes(response):
            for event in self._reader.feed(data):
                yield event
            if self._reader.is_over:
                return
        for event in self._reader.close():
            yield event

    async def _bytes(self, response: _Response) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; whatever the HTTP library raises meanwhile is a broken connection."""
        try:
            async for data in response.iter_bytes():
                yield data
        except (
            Exception
        ) as error:  # which HTTP library raises here is the official client's business
            raise interrupted(request_id=self.request_id) from error
