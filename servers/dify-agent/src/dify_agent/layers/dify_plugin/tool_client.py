"""The client that invokes the tools of one plugin through the plugin daemon, and does nothing else.

Source: docs/contracts/dify-agent.md, C26 to C31.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Any, Final

from pydantic import ValidationError

from agent_tooling import BlobError, BlobMessage, merge_blob_chunks
from dify_agent._daemon_client import PluginDaemonClient
from dify_agent._daemon_errors import INVALID_ITEM, build_protocol_error
from dify_agent.plugin_daemon_transport import PluginDaemonError, Silence

from ._tool_messages import DifyPluginToolInvokeMessage
from .configs import DifyPluginToolCredentialType


__all__ = [
    "DifyPluginDaemonToolClient",
    "DifyPluginToolClientError",
    "DifyPluginToolInvokeMessage",
]


_MOST_MESSAGES: Final = 20_000  # Three files of the largest size come in twelve thousand.
_MOST_CHARACTERS: Final = 4 * 1024 * 1024  # Far more than a model reads of a reply.
_FILE_TYPES: Final = (
    DifyPluginToolInvokeMessage.MessageType.BLOB,
    DifyPluginToolInvokeMessage.MessageType.BLOB_CHUNK,
)
_CUT_NOTICE: Final = DifyPluginToolInvokeMessage(
    type="text",
    message={"text": "\n[... the tool said more than is read of it; the rest was left ...]\n"},
)


class DifyPluginToolClientError(PluginDaemonError):
    """A refusal or failure of an invocation, by the daemon or the plugin, or a reply that is not a tool's."""


class DifyPluginDaemonToolClient(PluginDaemonClient):
    """A client for the tools of one plugin, on behalf of one tenant."""

    __slots__ = ()

    async def invoke(
        self,
        *,
        provider: str,
        tool_name: str,
        credential_type: DifyPluginToolCredentialType,
        credentials: Mapping[str, object],
        tool_parameters: Mapping[str, object],
    ) -> list[DifyPluginToolInvokeMessage]:
        """Invoke a tool, and return its messages with every file in one piece.

        Args:
            provider: The provider inside the plugin.
            tool_name: The tool's name in the daemon.
            credential_type: How the daemon hands the tool its credentials.
            credentials: The provider's credentials.
            tool_parameters: The arguments, in the shapes that the daemon expects.

        Raises:
            DifyPluginToolClientError: If the daemon or the plugin reported an error, or the reply is silent for too long or breaks
                the rules of its format; among these are chunks up to 8 KiB, files up to 30 MiB and no file without an end. A reply of
                over 20,000 messages or 4 Mi characters is cut there, and the last message says so.
            httpx.TransportError: If the daemon could not be reached, or the connection broke.
        """
        data = {
            "provider": provider,
            "tool": tool_name,
            "credentials": credentials,
            "credential_type": credential_type,
            "tool_parameters": dict(tool_parameters),
        }
        try:
            return _merge(await self._messages(data))
        except PluginDaemonError as error:
            raise DifyPluginToolClientError(
                error.message, error_type=error.error_type, status_code=error.status_code
            ) from None

    async def _messages(self, data: Mapping[str, object]) -> list[DifyPluginToolInvokeMessage]:
        """Return the tool's messages up to a bound, beyond which nothing is read."""
        messages: list[DifyPluginToolInvokeMessage] = []
        characters = 0
        silence = Silence(self.silence.tool_seconds)
        stream = self.dispatch("tool/invoke", data, silence=silence)
        async with aclosing(stream):
            async for item in stream:
                message = _read_message(item)
                characters += _count_characters(message)
                if len(messages) >= _MOST_MESSAGES or characters > _MOST_CHARACTERS:
                    # A file that is cut off here has no end, which would be an error of the plugin.
                    return [*_without_unfinished_files(messages), _CUT_NOTICE]
                messages.append(message)
        return messages


def _count_characters(message: DifyPluginToolInvokeMessage) -> int:
    """Return about how long a message's text is; files have limits of their own."""
    if message.type in _FILE_TYPES:
        return 0
    return len(str(message.message)) + len(str(message.meta))


def _without_unfinished_files(
    messages: Sequence[DifyPluginToolInvokeMessage],
) -> list[DifyPluginToolInvokeMessage]:
    chunk = DifyPluginToolInvokeMessage.MessageType.BLOB_CHUNK
    ended = {each.message.id for each in messages if each.type == chunk and each.message.end}
    return [each for each in messages if each.type != chunk or each.message.id in ended]


def _read_message(item: object) -> DifyPluginToolInvokeMessage:
    try:
        return DifyPluginToolInvokeMessage.model_validate(item)
    except ValidationError:
        # Its text would quote the item, and as a ValueError it would blame the model's arguments.
        raise build_protocol_error(INVALID_ITEM) from None


def _merge(messages: Iterable[DifyPluginToolInvokeMessage]) -> list[DifyPluginToolInvokeMessage]:
    """Merge the chunks of files among the messages."""
    try:
        merged = merge_blob_chunks(messages)
    except BlobError as error:
        raise build_protocol_error(str(error)) from error
    return [_to_message(message) for message in merged]


def _to_message(
    message: DifyPluginToolInvokeMessage | BlobMessage | dict[str, Any],
) -> DifyPluginToolInvokeMessage:
    """Return a message in the client's own class, also for a merged file, which comes in another."""
    fields = asdict(message) if isinstance(message, BlobMessage) else message
    return DifyPluginToolInvokeMessage.model_validate(fields)
