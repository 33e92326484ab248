"""The base of the clients of the daemon's operations: whom they call, on whose behalf, and how."""

import ssl
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from functools import cache

import httpx

from .plugin_daemon_transport import (
    Silence,
    SilenceLimits,
    plugin_daemon_dispatch_url,
    stream_plugin_daemon,
)


def make_http_client(timeout: httpx.Timeout) -> httpx.AsyncClient:
    """Return a client for the daemon, a service of the same installation: it ignores the environment's proxies and netrc entries."""
    return httpx.AsyncClient(timeout=timeout, trust_env=False, verify=_trusted())


@cache
def _trusted() -> ssl.SSLContext:
    # Loading the certificates takes longer than most calls.
    return httpx.create_ssl_context(trust_env=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginDaemonClient:
    """A client for one plugin, on behalf of one tenant.

    Attributes:
        tenant_id: The workspace, which is part of the daemon's paths.
        plugin_id: The plugin that is called, such as `langgenius/openai`.
        plugin_daemon_url: Where the daemon is.
        plugin_daemon_api_key: The daemon's key.
        user_id: The end user; None leaves it out.
        http_client: An open client, which belongs to the caller.
        silence: How long a reply may be silent.
    """

    tenant_id: str
    plugin_id: str
    plugin_daemon_url: str
    plugin_daemon_api_key: str = field(repr=False)
    user_id: str | None = None
    http_client: httpx.AsyncClient = field(repr=False)
    silence: SilenceLimits = field(default_factory=SilenceLimits)

    def dispatch(
        self, operation: str, data: Mapping[str, object], *, silence: Silence
    ) -> AsyncGenerator[object]:
        """Yield the data of each frame in the reply of an operation such as `llm/invoke`.

        Close the generator as `stream_plugin_daemon` says.

        Raises:
            ValueError: If the data holds a number or a nesting that JSON cannot carry.
            TypeError: If it holds a value that JSON does not know.
            PluginDaemonError: If the daemon or the plugin reported an error, or the reply is malformed or silent for too long.
            httpx.TransportError: If the daemon could not be reached, or the connection broke.
        """
        user = {} if self.user_id is None else {"user_id": self.user_id}
        return stream_plugin_daemon(
            self.http_client,
            url=plugin_daemon_dispatch_url(
                self.plugin_daemon_url, tenant_id=self.tenant_id, operation=operation
            ),
            api_key=self.plugin_daemon_api_key,
            plugin_id=self.plugin_id,
            payload={"data": data, **user},
            silence=silence,
        )
