"""Errors as the plugin daemon writes them into a message: JSON inside JSON.

Source: docs/contracts/dify-agent.md, C29; langgenius/dify-plugin-daemon at bdb5642a, `pkg/exception/factory.go`.
"""

from dataclasses import dataclass
from typing import Final

from stream_text import InvalidJsonError, parse_json


_MAX_NESTING: Final = 16  # The daemon nests twice; what nests deeper was made to be unwrapped.


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
