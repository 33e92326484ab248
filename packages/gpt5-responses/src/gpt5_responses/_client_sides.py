"""The parts of the two clients that wait, under the same names on both sides; `_client` itself is generated from `_async_client`."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from gpt5_messages import Completion
from gpt5_payloads import PayloadError, read_hosted_tool
from gpt5_prices import READ_ON, ModelPrice, price_of

from ._background.async_stream import AsyncBackgroundStream
from ._background.stream import BackgroundStream
from ._calls.calls import Call, make
from ._calls.transport import TRANSPORT, AsyncClient, Transport
from ._http.client import aplay, play
from ._pricing import with_price
from ._scheme import Request, ResponsesScheme
from ._settings.model_config import ModelConfig
from ._streams.answer import read_wanted
from ._streams.async_stream import AsyncResponseStream
from ._streams.reader import with_marks
from ._streams.stream import ResponseStream


if TYPE_CHECKING:
    from ._calls.socket_session import SocketSession


class _Settings:
    """The settings of a client.

    Attributes:
        model_id: The model's name.
        has_answer_format: True: an agent's answer schema is sent as the format of the answer.
        hosted_tools: The names of the tools in `defaults`, which go out beside an agent's: their types, and the labels of MCP servers.
        lacking_tools: Those of them that the model is known not to have.
        no_agent_reason: Why no agent can use the client: a tool in `defaults` that needs somebody here; None if there is none.
    """

    has_answer_format: Final = True
    _response: partial[Any]

    def __init__(
        self, config: ModelConfig, scheme: ResponsesScheme | None, defaults: Request | None
    ) -> None:
        self.model_id = config.model_id
        self._connection = config.connect()
        self._scheme = scheme or ResponsesScheme()
        self._defaults = defaults or Request()
        self._hosted = [
            read_hosted_tool(tool, model=self.model_id) for tool in self._defaults.tools
        ]
        self.hosted_tools = tuple(tool.name for tool in self._hosted)
        self.lacking_tools = tuple(tool.name for tool in self._hosted if tool.is_lacking)
        needs = (
            f"defaults.tools[{index}]: {tool.name} cannot go out beside an agent's tools: {tool.need}"
            for index, tool in enumerate(self._hosted)
            if tool.need
        )
        self.no_agent_reason = next(needs, None)
        self._price: ModelPrice | Literal["listed"] | None = config.price
        self._has_socket = config.transport == "websocket"
        self._session: SocketSession | None = None

    @property
    def no_price_reason(self) -> str | None:
        """Why the usage of the client's answers includes no cost; None if it does.

        An agent run with a budget of money reads it before its first call.
        """
        if self._find_price(self.model_id) is not None:
            return None
        if self._price is None:
            why = ": ModelConfig.price is None"
        elif self._connection.is_default_server:
            why = f" in gpt5-prices, which was read on {READ_ON}"
        else:
            why = f" at {self._connection.host}, which is not OpenAI's own server: set ModelConfig.price"
        return f"the model {self.model_id!r} has no price{why}"

    def _find_price(self, model: str) -> ModelPrice | None:
        """Return the price of the model that a response names, or of the client's."""
        if self._price != "listed":
            return self._price
        return price_of(model or self.model_id) if self._connection.is_default_server else None

    def _begin_session(self, client: "_Settings") -> None:
        """Be the session of a client: all that it has, and a socket, if that is wanted."""
        vars(self).update(vars(client))
        if self._has_socket:
            from ._calls.socket_session import SocketSession  # noqa: PLC0415 - few need it

            self._session = SocketSession()
            self._response = partial(self._response, session=self._session)

    @property
    def _transport_name(self) -> Literal["http", "websocket"]:
        return "http" if self._session is None else self._session.transport

    def _wanted(self, call: object) -> Request:
        """Return the request for an agent run's model call.

        Raises:
            PayloadError: If the defaults have a tool that needs somebody here.
        """
        if self.no_agent_reason is not None:
            raise PayloadError(self.no_agent_reason, field="tools")
        return read_wanted(call, self._defaults, self._hosted)

    def _body(self, request: Request) -> dict[str, Any]:
        return self._scheme.build_body(
            request,
            model=self.model_id,
            mcp_tokens=self._connection.mcp_tokens,
            made_by=self._connection.reasoning_mark(self.model_id),
        )

    def _finished(self, completion: Completion) -> Completion:
        """Return a response with its cost, and the mark of the connection and model in its open reasoning."""
        made_by = self._connection.reasoning_mark(self.model_id)
        return with_price(with_marks(completion, made_by), self._find_price)


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
        self._client = client = AsyncClient(self._connection)
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

    async def _end_session(self) -> None:
        if self._session is not None:
            await aplay(self._session.close(self._client))

    async def _make[T](self, call: Call[T]) -> T:
        return await aplay(make(self._client, call))


class BlockingSide(_Settings):
    """A client that sends through a transport shared with others, and may be used as a context manager."""

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the client's connections; those in use are closed with their responses, and a later call opens others."""
        self._transport.release(self._connection)

    @staticmethod
    def _begin[S: ResponseStream](stream: S) -> S:
        """Send the stream's request and return the stream."""
        stream.open()
        return stream

    def _end_session(self) -> None:
        if self._session is not None:
            with self._transport.lend(self._connection) as client:
                play(self._session.close(client))

    def _make[T](self, call: Call[T]) -> T:
        return self._transport.ask(self._connection, call)
