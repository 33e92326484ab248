"""A small client for conversations with GPT-5 models, blocking or asynchronous, from a declared model."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Self

from gpt5_messages import Completion

from ._answer import Answer, AsyncAnswer, read_wanted
from ._async_stream import AsyncResponseStream
from ._attempts import Refusals
from ._connection import DEFAULT_BASE_URL, Connection
from ._http import HttpClient, aplay
from ._network import Asynchronous
from ._scheme import Request, ResponsesScheme
from ._stream import ResponseStream, open_stream
from ._transport import TRANSPORT, Transport


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
        defaults: What `answer` asks for besides messages, tools and tool choice.
        transport: Who sends; the process's own by default.

    Raises:
        SettingsError: If the configuration is not usable.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        scheme: ResponsesScheme | None = None,
        defaults: Request | None = None,
        transport: Transport = TRANSPORT,
    ) -> None:
        self._model = config.model_id
        self._connection = config.connect()
        self._scheme = scheme or ResponsesScheme()
        self._defaults = defaults or Request()
        self._transport = transport

    def stream(self, request: Request) -> ResponseStream:
        """Send a request and return its response as a stream of events.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or answers with something else.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        body = self._scheme.build_body(request, model=self._model)
        return open_stream(self._connection, body, transport=self._transport)

    def complete(self, request: Request) -> Completion:
        """Send a request and return the whole answer.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or fails underway.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        with self.stream(request) as stream:
            for _ in stream:
                pass
            return stream.completion

    def answer(self, call: object) -> Answer:
        """Answer what an agent run asks for, such as a `CallModel` of `agent_loop`, in pieces that it takes as they are.

        Args:
            call: Anything with `messages`, `tools` and `tool_choice` as attributes or keys.

        Raises:
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return Answer(self._open(read_wanted(call, self._defaults)))

    def _open(self, request: Request) -> ResponseStream:
        """Return a stream that is opened when it is read."""
        body = self._scheme.build_body(request, model=self._model)
        return ResponseStream(self._connection, body, transport=self._transport)


class AsyncResponsesClient:
    """An asynchronous client for one model. Use it as an asynchronous context manager, or call `aclose`.

    Args:
        config: The model and where it is.
        scheme: What is decided about the wire.
        defaults: What `answer` asks for besides messages, tools and tool choice.

    Raises:
        SettingsError: If the configuration is not usable.
    """

    def __init__(
        self,
        config: ModelConfig,
        *,
        scheme: ResponsesScheme | None = None,
        defaults: Request | None = None,
    ) -> None:
        connection = config.connect()
        self._model = config.model_id
        self._scheme = scheme or ResponsesScheme()
        self._defaults = defaults or Request()
        self._refusals = Refusals()
        self._http = HttpClient(connection, Asynchronous)
        self._connection = connection

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the client's connections."""
        await aplay(self._http.close())

    def stream(self, request: Request) -> "AsyncResponseStream":
        """Return the response to a request as a stream of events, sent when it is entered.

        Raises:
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        body = self._scheme.build_body(request, model=self._model)
        return AsyncResponseStream(self._http, self._connection, body, self._refusals)

    async def complete(self, request: Request) -> Completion:
        """Send a request and return the whole answer.

        Raises:
            ResponsesError: If the server cannot be reached, refuses the request, or fails underway.
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        async with self.stream(request) as stream:
            async for _ in stream:
                pass
            return stream.completion

    def answer(self, call: object) -> AsyncAnswer:
        """Answer what an agent run asks for, such as a `CallModel` of `agent_loop`, in pieces that it takes as they are.

        Args:
            call: Anything with `messages`, `tools` and `tool_choice` as attributes or keys.

        Raises:
            PayloadError: If something of the request cannot be sent.
            MessageError: If a message cannot be read.
        """
        return AsyncAnswer(self.stream(read_wanted(call, self._defaults)))
