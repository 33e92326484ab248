"""The wire to Dify's plugin daemon, shared by the clients of models and tools: payloads, streamed frames, errors.

Source: docs/contracts/dify-agent.md, C26 to C29.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from urllib.parse import quote

import httpx

from stream_text import KnownSecrets, is_object, read_member

from ._daemon_errors import (
    PROTOCOL_ERROR_TYPE,
    PluginDaemonError,
    PluginDaemonErrorPayload,
    decode_plugin_daemon_error_payload,
    unwrap_plugin_daemon_error,
)
from ._headers import iter_credential_headers
from ._silence import SILENCE_ERROR_TYPE, Silence, SilenceLimits
from ._wire import Call, header_value, stream_envelopes, to_plugin_daemon_jsonable, write_body


__all__ = [
    "PROTOCOL_ERROR_TYPE",
    "SILENCE_ERROR_TYPE",
    "PluginDaemonError",
    "PluginDaemonErrorPayload",
    "Silence",
    "SilenceLimits",
    "decode_plugin_daemon_error_payload",
    "plugin_daemon_dispatch_url",
    "stream_plugin_daemon",
    "to_plugin_daemon_jsonable",
    "unwrap_plugin_daemon_error",
]


def plugin_daemon_dispatch_url(daemon_url: str, *, tenant_id: str, operation: str) -> str:
    """Build the address of a dispatch operation such as `tool/invoke` or `llm/invoke`."""
    tenant = quote(tenant_id, safe="")
    if tenant in {".", ".."}:
        # Unescaped, it would make HTTP clients drop parts of the path.
        tenant = tenant.replace(".", "%2E")
    return f"{daemon_url.rstrip('/')}/plugin/{tenant}/dispatch/{operation}"


async def stream_plugin_daemon(  # noqa: PLR0913 - what a call consists of
    http_client: httpx.AsyncClient,
    *,
    url: str,
    api_key: str,
    plugin_id: str,
    payload: Mapping[str, object],
    silence: Silence | None = None,
) -> AsyncGenerator[object]:
    """Post a payload, and yield the data of each frame of the reply as it arrives.

    The response is closed when the generator ends or is closed; a caller that may stop early wraps it in
    `contextlib.aclosing`. The API key and the texts among the payload's credentials never appear in an error.

    Args:
        http_client: An open client; it is neither configured nor closed here. `silence` takes the place of its timeout for
            reading.
        url: Address of the operation.
        api_key: The daemon's key.
        plugin_id: The plugin that answers, such as `langgenius/openai`.
        payload: The body, see `to_plugin_daemon_jsonable`; `data.credentials` holds the credentials.
        silence: How long the reply may be silent; ten minutes if left out. Comments count as silence.

    Raises:
        ValueError: If the payload holds a number or a nesting that JSON cannot carry.
        TypeError: If it holds a value that JSON does not know.
        PluginDaemonError: If the daemon or the plugin reported an error, a frame is empty or malformed, the reply is over
            128 MiB or silent for too long, or the key or the plugin's id does not fit into a header.
        httpx.TransportError: If the daemon could not be reached, or the connection broke.
    """
    call = Call(
        url=url,
        headers={
            b"X-Api-Key": header_value("the daemon's API key", api_key),
            b"X-Plugin-ID": header_value("plugin_id", plugin_id),
        },
        body=write_body(payload),
        secrets=_secrets(api_key, payload),
    )
    silence = silence or Silence(SilenceLimits().model_seconds)
    async with aclosing(stream_envelopes(http_client, call, silence)) as items:
        async for data in items:
            yield data


def _secrets(api_key: str, payload: Mapping[str, object]) -> KnownSecrets:
    """Return the texts that no error may show: the credentials and the key."""
    found: object = read_member(payload.get("data"), "credentials")
    credentials: Mapping[str, object] = found if is_object(found) else {}
    return KnownSecrets([api_key, *credentials.values(), *iter_credential_headers(credentials)])
