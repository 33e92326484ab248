"""A small client for conversations with GPT-5 models, blocking or asynchronous, from a declared model."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, fields
from typing import Any, Self

import openai

from gpt5_messages import Completion, StreamEvent

from ._attempts import Refusals, iter_attempts
from ._connection import DEFAULT_BASE_URL, Connection
from ._errors import ResponsesError
from ._failures import interrupted, to_responses_error
from ._fallbacks import Fallback
from ._http import RESPONSES_PATH, UNREAD, AsyncHttpClient
from ._patience import MOST_REST_BYTES, REST_SECONDS, Patience, is_delimited
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
        timeout_seconds: Seconds to wait for a connection, and then for each next event, brought within 30 to 900.
        max_retries: How often a request that could not be started is sent again, brought within 0 to 5.
        total_seconds: Seconds that a call may take in all; None for what the environment says, which is no limit unless it is set.
        extra_headers: Further headers for every request, for gateways; never part of `repr`. See `Connection`.
    """

    model_id: str
    api_key: str = field(repr=False)
    base_url: str = DEFAULT_BASE_URL
    organization: str | None = None
    timeout_seconds: int = 300
    max_retries: int = 1
    total_seconds: float | None = None
    extra_headers: Mapping[str, str] | None = field(default=None, repr=False, hash=False)

    def connect(self) -> Connection:
        """Return the connection that this describes.

        Raises:
            SettingsError: If the key is missing, or the key, organisation, base URL or a further header is not usable.
        """
        return Connection.from_settings(
            {setting.name: getattr(self, setting.name) for setting in fields(self)}
        )


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
        try:
            self._openai = openai.AsyncOpenAI(
                **connection.client_settings(), http_client=AsyncHttpClient()
            )
        except Exception as error:  # noqa: BLE001  as in `Transport`
            raise to_responses_error(error, model="") from None
        self._connection = connection

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
        return AsyncResponseStream(self._openai, self._connection, body, self._refusals)

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
        self,
        client: openai.AsyncOpenAI,
        connection: Connection,
        body: dict[str, Any],
        refusals: Refusals,
    ) -> None:
        self._client = client
        self._body = body
        self._refusals = refusals
        self._secrets = connection.secrets
        self._reader = ResponseReader(model=body["model"], secrets=self._secrets)
        self._patience = Patience(connection)
        self._opened = AsyncExitStack()
        self.left_out: tuple[Fallback, ...] = ()

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.timeout(self._patience.seconds_left):
                response = await self._send()
        except TimeoutError:
            raise self._patience.took_too_long() from None
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
        attempts = iter_attempts(self._body, self._refusals, self._secrets)
        attempt = next(attempts)
        while True:
            try:
                response: Any = await self._client.post(
                    RESPONSES_PATH, cast_to=object, body=attempt.body, options=UNREAD
                )
            except Exception as error:  # noqa: BLE001  as in `Transport`
                attempt = attempts.send(error)
            else:
                self._opened.push_async_callback(response.close)
                self.left_out = attempt.left_out
                return response

    async def _iterate(self, response: _Response) -> AsyncGenerator[StreamEvent]:
        chunks = self._bytes(response)
        async for data in chunks:
            for events in self._reader.feed(data):
                for event in events:
                    yield event
            if self._reader.is_over:
                await _read_rest(chunks, response)
                return
        for events in self._reader.close():
            for event in events:
                yield event

    async def _bytes(self, response: _Response) -> AsyncGenerator[bytes]:
        """Yield the body as it arrives; whatever the HTTP library raises meanwhile is a broken connection."""
        chunks = response.http_response.aiter_raw()
        while True:
            try:
                async with asyncio.timeout(self._patience.seconds_left):
                    data = await anext(chunks, None)
            except TimeoutError:
                raise self._patience.took_too_long() from None
            except Exception as error:  # noqa: BLE001  which HTTP library raises here is the official client's business
                raise interrupted(error, request_id=self.request_id) from None
            if data is None:
                return
            yield data
            self._patience.note(self._reader.progress)


async def _read_rest(chunks: AsyncGenerator[bytes], response: _Response) -> None:
    """Read the end of a body whose response is over, so that its connection can serve the next call."""
    if is_delimited(response.headers):
        with suppress(ResponsesError, TimeoutError):
            async with asyncio.timeout(REST_SECONDS):
                size = 0
                async for data in chunks:
                    size += len(data)
                    if size > MOST_REST_BYTES:
                        return
