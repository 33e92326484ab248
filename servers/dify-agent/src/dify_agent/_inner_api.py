"""The client of Dify's inner API, for what only Dify itself can do: its own tools, knowledge, models with its own credentials.

Source: docs/contracts/dify-agent.md, C65; dify-agent 1.16.0, its `layers/dify_core_tools/client.py` and `layers/knowledge/client.py`;
langgenius/dify at 483984280d51, `api/controllers/inner_api/agent/tools.py`.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

import httpx

from stream_text import InvalidJsonError, KnownSecrets, parse_json

from ._wire import Call, header_value, read_reply, stream_envelopes, write_body
from .exceptions import DifyAgentError
from .plugin_daemon_transport import (
    PROTOCOL_ERROR_TYPE,
    PluginDaemonError,
    Silence,
    SilenceLimits,
)


INNER_API: Final = "Dify's API"
"""What errors call it."""

UNREACHABLE_ERROR_TYPE: Final = "InnerApiUnreachableError"
"""The error type of a call that did not reach Dify's API, or whose connection broke."""

_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERROR: Final = 500
# Of a tool that raised, which is no fault of the API: it would do so again, and what it did before it did.
_TOOL_RAISED: Final = "agent_tool_invoke_unexpected_error"


class InnerApiError(DifyAgentError):
    """A call that Dify's inner API refused or failed, or a reply that cannot be read.

    Attributes:
        message: What went wrong, without the key; at most 10,000 characters.
        error_type: Dify's word for it, such as `app_not_found`; None if it gave none.
        status_code: The HTTP status; None if there was no reply.
        is_transient: Whether the call may go well another time: Dify could not be reached or broke off, or answered 429 or with a fault
            of its own. After a silence it is not worth another try.
    """

    def __init__(
        self,
        message: str,
        *,
        error_type: str | None = None,
        status_code: int | None = None,
        is_transient: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_type = error_type
        self.status_code = status_code
        self.is_transient = is_transient


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerApiClient:
    """A client for Dify's inner API.

    Attributes:
        url: Where Dify's API is.
        api_key: The key of its inner part, sent as `X-Inner-Api-Key`.
        http_client: An open client, which belongs to the caller.
        silence: How long a reply may be silent.
    """

    url: str
    api_key: str = field(repr=False)
    http_client: httpx.AsyncClient = field(repr=False)
    silence: SilenceLimits = field(default_factory=SilenceLimits)

    async def post(self, operation: str, payload: Mapping[str, object]) -> object:
        """Call an operation such as `agent/tools/invoke`, and return the JSON of its reply.

        Raises:
            ValueError: If the payload holds a number or a nesting that JSON cannot carry.
            TypeError: If it holds a value that JSON does not know.
            InnerApiError: If Dify could not be reached, refused or failed the call, was silent for longer than a tool may be, or
                answered with more than 16 MiB or with anything other than JSON.
        """
        silence = Silence(
            self.silence.tool_seconds, peer=INNER_API, cause="it may still be at work"
        )
        try:
            body = await read_reply(self.http_client, self._build_call(operation, payload), silence)
        except PluginDaemonError as error:
            raise _to_inner_error(error) from None
        except httpx.TransportError as error:
            message = f"{INNER_API} could not be reached: {str(error) or type(error).__name__}"
            raise InnerApiError(
                message, error_type=UNREACHABLE_ERROR_TYPE, is_transient=True
            ) from None
        try:
            return parse_json(body.decode())
        except (InvalidJsonError, UnicodeDecodeError):
            raise InnerApiError(
                f"{INNER_API} answered with something other than JSON.",
                error_type=PROTOCOL_ERROR_TYPE,
            ) from None

    async def stream(
        self, operation: str, payload: Mapping[str, object], *, silence: Silence
    ) -> AsyncGenerator[object]:
        """Call an operation that answers as the plugin daemon does, and yield the data of each frame of the reply.

        Close the generator as `stream_plugin_daemon` says.

        Raises:
            ValueError: If the payload holds a number or a nesting that JSON cannot carry.
            TypeError: If it holds a value that JSON does not know.
            PluginDaemonError: If Dify, the daemon or the plugin reported an error, or the reply is malformed or silent for too long.
            httpx.TransportError: If Dify could not be reached, or the connection broke.
        """
        call = self._build_call(operation, payload)
        async with aclosing(stream_envelopes(self.http_client, call, silence)) as items:
            async for data in items:
                yield data

    def _build_call(self, operation: str, payload: Mapping[str, object]) -> Call:
        return Call(
            peer=INNER_API,
            url=f"{self.url.rstrip('/')}/inner/api/{operation}",
            headers={b"X-Inner-Api-Key": header_value("the inner API's key", self.api_key)},
            body=write_body(payload),
            secrets=KnownSecrets([self.api_key]),
        )


def _to_inner_error(error: PluginDaemonError) -> InnerApiError:
    status = error.status_code or 0
    is_fault = status == _TOO_MANY_REQUESTS or status >= _SERVER_ERROR
    return InnerApiError(
        error.message,
        error_type=error.error_type,
        status_code=error.status_code,
        is_transient=is_fault and error.error_type != _TOOL_RAISED,
    )
