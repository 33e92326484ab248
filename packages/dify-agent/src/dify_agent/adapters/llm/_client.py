"""The daemon's LLM dispatch, called."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import httpx

from dify_agent.plugin_daemon_transport import plugin_daemon_dispatch_url, stream_plugin_daemon

from ._chunks import Chunk, parse_chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class DifyPluginDaemonLLMClient:
    """Call the models of one plugin on behalf of one tenant.

    Attributes:
        tenant_id: The workspace, which stands in the daemon's path.
        plugin_id: The plugin that serves the models, such as `langgenius/openai`.
        plugin_daemon_url: Where the daemon is.
        plugin_daemon_api_key: The daemon's key.
        user_id: The end user; None leaves it out.
        http_client: The client for the calls; it belongs to whoever made it.
    """

    tenant_id: str
    plugin_id: str
    plugin_daemon_url: str
    plugin_daemon_api_key: str = field(repr=False)
    user_id: str | None = None
    http_client: httpx.AsyncClient = field(repr=False)

    async def invoke(  # noqa: PLR0913 - the fields of the dispatch
        self,
        *,
        provider: str,
        model: str,
        credentials: Mapping[str, object],
        prompt_messages: Sequence[Mapping[str, object]],
        model_parameters: Mapping[str, object],
        tools: Sequence[Mapping[str, object]] | None,
        stop: Sequence[str] | None,
        stream: bool,
    ) -> AsyncGenerator[Chunk]:
        """Call a model, and yield the chunks of its answer.

        The daemon answers in chunks in either case; `stream` says in how many the plugin should cut the answer.

        Raises:
            PluginDaemonError: The daemon or the plugin reported an error, or what came is no chunk.
            httpx.TransportError: The daemon could not be reached, or the connection broke.
        """
        payload: dict[str, object] = {
            "data": {
                "provider": provider,
                "model_type": "llm",
                "model": model,
                "credentials": dict(credentials),
                "prompt_messages": list(prompt_messages),
                "model_parameters": dict(model_parameters),
                "tools": tools,
                "stop": stop,
                "stream": stream,
            }
        }
        if self.user_id is not None:
            payload["user_id"] = self.user_id
        frames = stream_plugin_daemon(
            self.http_client,
            url=plugin_daemon_dispatch_url(
                self.plugin_daemon_url, tenant_id=self.tenant_id, operation="llm/invoke"
            ),
            api_key=self.plugin_daemon_api_key,
            plugin_id=self.plugin_id,
            payload=payload,
        )
        async with aclosing(frames):
            async for data in frames:
                yield parse_chunk(data)
