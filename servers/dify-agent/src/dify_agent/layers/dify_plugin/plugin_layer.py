"""The layer that knows the daemon: its address and key, and the tenant and user of the calls.

Source: docs/contracts/dify-agent.md, C17 and C18.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, override

import httpx

from dify_agent.adapters.llm import DifyPluginDaemonProvider
from dify_agent.compositor import EmptyRuntimeState, NoLayerDeps, PlainLayer
from dify_agent.plugin_daemon_transport import SilenceLimits

from .configs import DIFY_PLUGIN_LAYER_TYPE_ID, DifyPluginLayerConfig
from .tool_client import DifyPluginDaemonToolClient


__all__ = ["DifyPluginLayer"]


@dataclass(slots=True, eq=False)
class DifyPluginLayer(PlainLayer[NoLayerDeps, DifyPluginLayerConfig, EmptyRuntimeState]):
    """The tenant and user that plugins are called for, and the daemon's address and key.

    It makes clients for the layers that depend on it, each on an HTTP client that belongs to the caller: it never opens,
    keeps, closes or stores one.

    Attributes:
        config: The public part: tenant and user.
        daemon_url: The daemon's address, a server's setting.
        daemon_api_key: The daemon's key, a server's setting.
        silence: How long a reply may be silent, a server's setting.
    """

    type_id: ClassVar[str] = DIFY_PLUGIN_LAYER_TYPE_ID

    config: DifyPluginLayerConfig
    daemon_url: str
    daemon_api_key: str = field(repr=False)
    silence: SilenceLimits = field(default_factory=SilenceLimits)

    @classmethod
    @override
    def from_config(cls, config: DifyPluginLayerConfig) -> Self:
        """Raise, because the public configuration alone does not say where the daemon is.

        Raises:
            TypeError: If it is called.
        """
        raise TypeError(
            f"{cls.__name__} requires server-side daemon settings and must use a provider factory."
        )

    @classmethod
    def from_config_with_settings(
        cls,
        config: DifyPluginLayerConfig,
        *,
        daemon_url: str,
        daemon_api_key: str,
        silence: SilenceLimits | None = None,
        **more: Any,
    ) -> Self:
        """Make the layer from its public configuration and the server's settings; `more` are those of a layer that knows more."""
        return cls(
            config=config,
            daemon_url=daemon_url,
            daemon_api_key=daemon_api_key,
            silence=silence or SilenceLimits(),
            **more,
        )

    def create_daemon_provider(
        self, *, plugin_id: str, http_client: httpx.AsyncClient
    ) -> DifyPluginDaemonProvider:
        """Make the provider through which a model of a plugin is called.

        Args:
            plugin_id: The plugin that serves the model.
            http_client: The caller's client; it must be open, and stays the caller's.

        Raises:
            RuntimeError: If the HTTP client is closed.
        """
        self._require_open(http_client, caller="create_daemon_provider")
        return self._connect(DifyPluginDaemonProvider, plugin_id, http_client)

    def create_tool_client(
        self, *, plugin_id: str, http_client: httpx.AsyncClient
    ) -> DifyPluginDaemonToolClient:
        """Make the client through which the tools of a plugin are invoked.

        Args:
            plugin_id: The plugin that holds the tools.
            http_client: The caller's client; it must be open, and stays the caller's.

        Raises:
            RuntimeError: If the HTTP client is closed.
        """
        self._require_open(http_client, caller="create_tool_client")
        return self._connect(DifyPluginDaemonToolClient, plugin_id, http_client)

    def _connect[Client](
        self, make: Callable[..., Client], plugin_id: str, http_client: httpx.AsyncClient
    ) -> Client:
        """Make a client for a plugin; the arguments are the same for models and tools."""
        return make(
            tenant_id=self.config.tenant_id,
            plugin_id=plugin_id,
            plugin_daemon_url=self.daemon_url,
            plugin_daemon_api_key=self.daemon_api_key,
            user_id=self.config.user_id,
            http_client=http_client,
            silence=self.silence,
        )

    def _require_open(self, http_client: httpx.AsyncClient, *, caller: str) -> None:
        if http_client.is_closed:
            raise RuntimeError(
                f"{type(self).__name__}.{caller}() requires an open shared HTTP client."
            )
