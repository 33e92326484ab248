"""Errors of calls of the plugin daemon, which it writes into a message as JSON inside JSON.

Source: docs/contracts/dify-agent.md, C29; langgenius/dify-plugin-daemon at bdb5642a, `pkg/exception/factory.go`.
"""

from dataclasses import dataclass
from typing import Final

from stream_text import InvalidJsonError, KnownSecrets, parse_json

from .exceptions import DifyAgentError


PROTOCOL_ERROR_TYPE: Final = "PluginDaemonProtocolError"
"""The error type of a reply that breaks the daemon's own rules."""

INVALID_ITEM: Final = "Plugin daemon returned an invalid stream item."

_MAX_ERROR_CHARACTERS: Final = 10_000
_MAX_ERROR_TYPE_CHARACTERS: Final = 200
_MAX_NESTING: Final = 16  # The daemon nests twice; deeper nesting was made to keep us unwrapping.


class PluginDaemonError(DifyAgentError):
    """A call that the plugin daemon refused or failed, or a reply that cannot be read.

    Attributes:
        message: What went wrong, without credentials; at most 10,000 characters.
        error_type: The name of the error in the daemon or the plugin; None if it gave none.
        status_code: The HTTP status; None for an error inside a stream, which has no status of its own.
    """

    def __init__(
        self, message: str, *, error_type: str | None = None, status_code: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_type = error_type
        self.status_code = status_code


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginDaemonErrorPayload:
    """An error as the daemon writes it into a message.

    Attributes:
        error_type: Name of the error class.
        message: Its text, which may be such a payload again.
    """

    error_type: str
    message: str


def decode_plugin_daemon_error_payload(raw_message: str) -> PluginDaemonErrorPayload | None:
    """Read a JSON object with the texts `error_type` and `message`; None for anything else."""
    try:
        value: object = parse_json(raw_message)
    except InvalidJsonError:
        return None
    match value:
        case {"error_type": str(error_type), "message": str(message)}:
            return PluginDaemonErrorPayload(error_type=error_type, message=message)
        case _:
            return None


def unwrap_plugin_daemon_error(*, error_type: str, message: str) -> PluginDaemonErrorPayload:
    """Return the error inside nested `PluginInvokeError` payloads, at most 16 levels down.

    A `PluginInvokeError` whose message is plain text is returned as it is.
    """
    payload = PluginDaemonErrorPayload(error_type=error_type, message=message)
    for _ in range(_MAX_NESTING):
        if payload.error_type != "PluginInvokeError":
            return payload
        inner = decode_plugin_daemon_error_payload(payload.message)
        if inner is None:
            return payload
        payload = inner
    return payload


def build_reported_error(
    raw_message: str,
    *,
    error_type: str | None = None,
    fallback: str,
    secrets: KnownSecrets,
    status_code: int | None = None,
) -> PluginDaemonError:
    """Build the error that the daemon or the plugin reported.

    Args:
        raw_message: The reported message, an error payload or a plain text.
        error_type: The type of a plain text; a payload names its own.
        fallback: The message to use if it is empty.
        secrets: Texts that must not be shown.
        status_code: The HTTP status of the reply.
    """
    payload = decode_plugin_daemon_error_payload(raw_message)
    message = raw_message
    if payload is not None:
        payload = unwrap_plugin_daemon_error(error_type=payload.error_type, message=payload.message)
        error_type, message = payload.error_type, payload.message
    if error_type is not None:
        error_type = secrets.redact(error_type)[:_MAX_ERROR_TYPE_CHARACTERS]
    # Redacted before it is cut: of a secret that is cut in two, nothing would be found.
    shown = secrets.redact(message)[:_MAX_ERROR_CHARACTERS]
    return PluginDaemonError(shown or fallback, error_type=error_type, status_code=status_code)


def build_protocol_error(message: str) -> PluginDaemonError:
    """Build the error of a reply that breaks the daemon's own rules."""
    return PluginDaemonError(message, error_type=PROTOCOL_ERROR_TYPE)
