"""The parts of the two clients that wait, under the same names on both sides; `_client` itself is generated from `_async_client`."""

from functools import partial
from typing import Any, Self

from ._background.async_stream import AsyncBackgroundStream
from ._background.stream import BackgroundStream
from ._calls.calls import Call, make
from ._calls.fallback_requests import FallbackClient
from ._calls.transport import TRANSPORT, Transport
from ._http.client import aplay
from ._http.steps import Asynchronous
from ._scheme import Request, ResponsesScheme
from ._settings.model_config import ModelConfig
from ._streams.async_stream import AsyncResponseStream
from ._streams.stream import ResponseStream


class _Settings:
    """The settings of a client."""

    def __init__(
        self, config: ModelConfig, scheme: ResponsesScheme | None, defaults: Request | None
    ) -> None:
        self._model = config.model_id
        self._connection = config.connect()
        self._scheme = scheme or ResponsesScheme()
        self._defaults = defaults or Request()

    def _body(self, request: Request) -> dict[str, Any]:
        tokens = self._connection.mcp_tokens
        return self._scheme.build_body(request, model=self._model, mcp_tokens=tokens)


class AsyncSide(_Settings):
    """A client with network connections of its own, which it closes."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        scheme: ResponsesScheme | None = None,
        defaults: Request | None = None,
    ) -> None:
        super().__init__(config, scheme, defaults)
        self._client = client = FallbackClient(self._connection, Asynchronous)
        flex_fallback = self._scheme.flex_fallback
        self._response = partial(AsyncResponseStream, client, flex_fallback=flex_fallback)
        self._background = partial(AsyncBackgroundStream, client, flex_fallback=flex_fallback)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the client's connections."""
        await aplay(self._client.close())

    @staticmethod
    def _begin[S: AsyncResponseStream](stream: S) -> S:
        """Return the stream as it is: it begins when it is entered."""
        return stream

    async def _make[T](self, call: Call[T]) -> T:
        return await aplay(make(self._client, call))


class BlockingSide(_Settings):
    """A client that sends through a transport shared with others."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        scheme: ResponsesScheme | None = None,
        defaults: Request | None = None,
        transport: Transport = TRANSPORT,
    ) -> None:
        super().__init__(config, scheme, defaults)
        self._transport = transport
        connection, flex_fallback = self._connection, self._scheme.flex_fallback
        self._response = partial(
            ResponseStream, connection, transport=transport, flex_fallback=flex_fallback
        )
        self._background = partial(
            BackgroundStream, connection, transport=transport, flex_fallback=flex_fallback
        )

    @staticmethod
    def _begin[S: ResponseStream](stream: S) -> S:
        """Send the stream's request and return the stream."""
        stream.open()
        return stream

    def _make[T](self, call: Call[T]) -> T:
        return self._transport.ask(self._connection, call)
