"""The client for the daemon's LLM dispatch."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

import httpx
from pydantic import BaseModel, ValidationError

from dify_agent._daemon_client import PluginDaemonClient
from dify_agent._daemon_errors import build_protocol_error
from dify_agent.plugin_daemon_transport import PluginDaemonError, Silence

from ._chunks import Chunk, read_chunk


EMPTY_REPLY: Final = "Plugin daemon ended its reply without an LLM chunk."
"""The error of a reply without any chunk, such as that of a daemon that is being stopped."""

_PAUSE: Final = 1 / 6  # of the silence that is allowed to a model with keep-alives


class _ModelSchema(BaseModel):
    features: list[str] | None = None


class _ModelAnswer(BaseModel):
    model_schema: _ModelSchema | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DifyPluginDaemonLLMClient(PluginDaemonClient):
    """A client for the models of one plugin, on behalf of one tenant."""

    _keeping_alive: set[tuple[str, str]] = field(
        default_factory=set[tuple[str, str]], init=False, repr=False, compare=False
    )
    """The providers and models that have shown that they send keep-alives."""

    _features: dict[tuple[str, str], frozenset[str]] = field(
        default_factory=dict[tuple[str, str], frozenset[str]], init=False, repr=False, compare=False
    )
    """The features of the providers' models that were asked about so far."""

    async def features(
        self, *, provider: str, model: str, credentials: Mapping[str, object]
    ) -> frozenset[str] | None:
        """Return the features that Dify's plugin declares for a model, such as `vision`; None if it declares none.

        The plugin is asked once. A failure counts as no declaration: the model call that follows will show the error.
        """
        if (known := self._features.get((provider, model))) is not None:
            return known
        data: dict[str, object] = {
            "provider": provider,
            "model_type": "llm",
            "model": model,
            "credentials": dict(credentials),
        }
        silence = Silence(self.silence.model_seconds)
        try:
            async with aclosing(self.dispatch("model/schema", data, silence=silence)) as frames:
                answers = [_ModelAnswer.model_validate(frame) async for frame in frames]
        except (PluginDaemonError, httpx.TransportError, ValidationError):
            return None
        schema = next((each.model_schema for each in answers if each.model_schema), None)
        if schema is None or schema.features is None:
            return None
        return self._features.setdefault((provider, model), frozenset(schema.features))

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

        The daemon answers in chunks in either case; `stream` is the plugin's choice between many and few.

        Raises:
            PluginDaemonError: If the daemon or the plugin reported an error, a frame is not a chunk, no chunk came at
                all, or the reply was silent for too long.
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
            # Known from an earlier answer, so the shorter limit holds from the first chunk on.
            if (provider, model) in self._keeping_alive:
                silence.expect_keep_alives(self.silence.keep_alive_seconds)
            async for frame in frames:
                chunk = read_chunk(frame)
                # Many plugins begin at once with an empty chunk and send no other; after a pause it is
                # a keep-alive.
                if chunk.is_empty and not (is_first and silence.lasted < pause):
                    self._keeping_alive.add((provider, model))
                    silence.expect_keep_alives(self.silence.keep_alive_seconds)
                is_first = False
                yield chunk
        if is_first:
            raise build_protocol_error(EMPTY_REPLY)
