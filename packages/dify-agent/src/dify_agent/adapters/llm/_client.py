"""The client for the daemon's LLM dispatch."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from dify_agent._daemon_client import PluginDaemonClient

from ._chunks import Chunk, read_chunk


class DifyPluginDaemonLLMClient(PluginDaemonClient):
    """A client for the models of one plugin, on behalf of one tenant."""

    __slots__ = ()

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
            PluginDaemonError: If the daemon or the plugin reported an error, or what came is no chunk.
            httpx.TransportError: If the daemon could not be reached, or the connection broke.
        """
        data: dict[str, object] = {
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
        async with aclosing(self.dispatch("llm/invoke", data)) as frames:
            async for frame in frames:
                yield read_chunk(frame)
