"""The client for the daemon's LLM dispatch."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from dify_agent._daemon_client import PluginDaemonClient
from dify_agent.plugin_daemon_transport import Silence

from ._chunks import Chunk, read_chunk


_PAUSE: Final = 1 / 6  # of the time that a model with keep-alives may be silent


@dataclass(frozen=True, slots=True, kw_only=True)
class DifyPluginDaemonLLMClient(PluginDaemonClient):
    """A client for the models of one plugin, on behalf of one tenant."""

    _keeping_alive: set[tuple[str, str]] = field(
        default_factory=set[tuple[str, str]], init=False, repr=False, compare=False
    )
    """The providers and models that have shown that they send keep-alives."""

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
            PluginDaemonError: If the daemon or the plugin reported an error, what came is no chunk, or nothing came for too
                long.
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
        silence = Silence(self.silence.model_seconds)
        pause = self.silence.keep_alive_seconds * _PAUSE
        is_first = True
        async with aclosing(self.dispatch("llm/invoke", data, silence=silence)) as frames:
            if (provider, model) in self._keeping_alive:
                silence.expect_keep_alives(self.silence.keep_alive_seconds)
            async for frame in frames:
                chunk = read_chunk(frame)
                # Many plugins begin at once with a chunk without content, and send no other.
                if chunk.is_empty and not (is_first and silence.lasted < pause):
                    self._keeping_alive.add((provider, model))
                    silence.expect_keep_alives(self.silence.keep_alive_seconds)
                is_first = False
                yield chunk
