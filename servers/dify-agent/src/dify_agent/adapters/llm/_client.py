"""The clients of models: what a model asks of any of them, and the one for the daemon's LLM dispatch."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Protocol, Self, TypedDict, Unpack

import httpx
from pydantic import BaseModel, ValidationError
from pydantic_ai.messages import ModelMessage

from dify_agent._daemon_client import PluginDaemonClient
from dify_agent._daemon_errors import build_protocol_error
from dify_agent.plugin_daemon_transport import PluginDaemonError, Silence, SilenceLimits

from ._chunks import Chunk, read_chunk


EMPTY_REPLY: Final = "ended its reply without an LLM chunk."
"""The end of the error of a reply without any chunk, such as that of a daemon that is being stopped."""

_PAUSE: Final = 1 / 6  # of the silence that is allowed to a model with keep-alives


class _ModelSchema(BaseModel):
    features: list[str] | None = None


class _ModelAnswer(BaseModel):
    model_schema: _ModelSchema | None = None


class ModelCall(TypedDict):
    """A call of a model.

    Attributes:
        provider: The provider inside the plugin.
        model: The model's name there.
        credentials: The provider's credentials.
        prompt_messages: The messages, in the shape that the daemon reads.
        model_parameters: The parameters, by the plugin's names.
        tools: The tools to choose from; None for none.
        stop: The stop sequences; None for none.
        stream: Whether the plugin is to answer in many chunks.
    """

    provider: str
    model: str
    credentials: Mapping[str, object]
    prompt_messages: Sequence[Mapping[str, object]]
    model_parameters: Mapping[str, object]
    tools: Sequence[Mapping[str, object]] | None
    stop: Sequence[str] | None
    stream: bool


class LLMClient(Protocol):
    """What calls the models of one plugin."""

    @property
    def plugin_id(self) -> str:
        """The plugin that serves the models, such as `langgenius/openai`."""
        ...

    @property
    def base_url(self) -> str:
        """Where the calls go, without a slash at its end."""
        ...

    def for_request(self, messages: Sequence[ModelMessage]) -> "LLMClient":
        """Return the client for the request that follows these messages."""
        ...

    async def features(
        self, *, provider: str, model: str, credentials: Mapping[str, object]
    ) -> frozenset[str] | None:
        """Return the features that are declared for a model, such as `vision`; None if nothing is."""
        ...

    def invoke(self, **call: Unpack[ModelCall]) -> AsyncGenerator[Chunk]:
        """Call a model, and yield the chunks of its answer."""
        ...


async def read_chunks(  # noqa: PLR0913 - what an answer is read with
    frames: AsyncGenerator[object],
    silence: Silence,
    *,
    limits: SilenceLimits,
    keeping_alive: set[tuple[str, str]],
    model: tuple[str, str],
    peer: str = "Plugin daemon",
) -> AsyncGenerator[Chunk]:
    """Yield the chunks of an answer, and see from them whether its model sends keep-alives.

    Args:
        frames: The data of the answer's frames, which end with this.
        silence: Their clock.
        limits: How long they may be silent.
        keeping_alive: The providers and models that have shown that they send keep-alives; this one is added once it has.
        model: The provider and the model.
        peer: What answers, for errors.

    Raises:
        PluginDaemonError: If a frame is not a chunk, or no chunk came at all.
    """
    pause = limits.keep_alive_seconds * _PAUSE
    is_first = True
    async with aclosing(frames):
        # Known from an earlier answer, so the shorter limit holds from the first chunk on.
        if model in keeping_alive:
            silence.expect_keep_alives(limits.keep_alive_seconds)
        async for frame in frames:
            chunk = read_chunk(frame)
            # Many plugins begin at once with an empty chunk and send no other; after a pause it is
            # a keep-alive.
            if chunk.is_empty and not (is_first and silence.lasted < pause):
                keeping_alive.add(model)
                silence.expect_keep_alives(limits.keep_alive_seconds)
            is_first = False
            yield chunk
    if is_first:
        raise build_protocol_error(f"{peer} {EMPTY_REPLY}")


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

    @property
    def base_url(self) -> str:
        """Address of the daemon, without a slash at its end."""
        return self.plugin_daemon_url.rstrip("/")

    def for_request(self, messages: Sequence[ModelMessage]) -> Self:  # noqa: ARG002 - only Dify's API counts requests
        """Return this client, which takes any request."""
        return self

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

    def invoke(self, **call: Unpack[ModelCall]) -> AsyncGenerator[Chunk]:
        """Call a model, and yield the chunks of its answer.

        The daemon answers in chunks in either case; `stream` is the plugin's choice between many and few.

        Raises:
            PluginDaemonError: If the daemon or the plugin reported an error, a frame is not a chunk, no chunk came at
                all, or the reply was silent for too long.
            httpx.TransportError: If the daemon could not be reached, or the connection broke.
        """
        silence = Silence(self.silence.model_seconds)
        data: dict[str, object] = {"provider": call["provider"], "model_type": "llm", **call}
        return read_chunks(
            self.dispatch("llm/invoke", data, silence=silence),
            silence,
            limits=self.silence,
            keeping_alive=self._keeping_alive,
            model=(call["provider"], call["model"]),
        )
