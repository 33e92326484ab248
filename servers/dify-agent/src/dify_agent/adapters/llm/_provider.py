"""The provider by which Pydantic AI finds the models of a Dify plugin."""

from collections.abc import Callable
from functools import partial
from typing import override

import httpx
from pydantic_ai.providers import Provider

from dify_agent._daemon_client import make_http_client
from dify_agent.plugin_daemon_transport import SilenceLimits

from ._client import DifyPluginDaemonLLMClient, LLMClient


# For connecting and sending; `SilenceLimits` bounds the silence of a reply.
_make_http_client = partial(make_http_client, httpx.Timeout(600))


class DifyPluginProvider(Provider[LLMClient]):
    """A provider of the models of one plugin.

    Args:
        client: What calls them, whose HTTP client is never closed here.
    """

    def __init__(self, client: LLMClient) -> None:
        self._client = client

    @property
    @override
    def name(self) -> str:
        """`DifyPlugin/` and the plugin's id, which message histories record: they continue whatever the way to the plugin."""
        return f"DifyPlugin/{self._client.plugin_id}"

    @property
    @override
    def base_url(self) -> str:
        """Where the calls go, without a slash at its end."""
        return self._client.base_url

    @property
    @override
    def client(self) -> LLMClient:
        """The client for the plugin's models."""
        return self._client


class DifyPluginDaemonProvider(DifyPluginProvider):
    """A provider of the models of one plugin, through the plugin daemon.

    Args:
        tenant_id: The workspace that the calls are made for.
        plugin_id: The plugin that serves the models, such as `langgenius/openai`.
        plugin_daemon_url: Where the daemon is.
        plugin_daemon_api_key: The daemon's key; never shown.
        user_id: The end user; None leaves it out.
        http_client: An open client, which is never closed here. Without one the provider makes its own (timeout 600
            seconds, no proxies) and closes it when `async with provider`, or an agent's `async with`, ends.
        silence: How long a reply may be silent; if left out, ten minutes for models, and one minute for those that send keep-alives.
    """

    def __init__(  # noqa: PLR0913 - what a provider consists of
        self,
        *,
        tenant_id: str,
        plugin_id: str,
        plugin_daemon_url: str,
        plugin_daemon_api_key: str,
        user_id: str | None = None,
        http_client: httpx.AsyncClient | None = None,
        silence: SilenceLimits | None = None,
    ) -> None:
        if http_client is None:
            http_client = _make_http_client()
            # Pydantic AI closes and replaces a client only if it stands in these two: one that was
            # passed in stays the caller's.
            self._own_http_client = http_client
            self._http_client_factory = _make_http_client
        self._connect: Callable[..., LLMClient] = partial(
            DifyPluginDaemonLLMClient,
            tenant_id=tenant_id,
            plugin_id=plugin_id,
            plugin_daemon_url=plugin_daemon_url.rstrip("/"),
            plugin_daemon_api_key=plugin_daemon_api_key,
            user_id=user_id,
            silence=silence or SilenceLimits(),
        )
        super().__init__(self._connect(http_client=http_client))

    @override
    def _set_http_client(self, http_client: object) -> None:
        """Take the client that Pydantic AI made with our factory for another event loop."""
        self._client = self._connect(http_client=http_client)
