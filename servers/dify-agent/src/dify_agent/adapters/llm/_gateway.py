"""The way to a plugin's model through Dify's API, which has the credentials, counts the requests and asks the daemon itself.

Source: docs/contracts/dify-agent.md, C70 and C71; langgenius/dify at 6d9bb6c04526, `dify-agent/src/dify_agent/adapters/llm/provider.py`, and at
49dcbd369d9b, `api/controllers/inner_api/agent/llm.py`.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Unpack
from uuid import NAMESPACE_URL, uuid5

from pydantic_ai.messages import ModelMessage, ModelResponse

from dify_agent._inner_api import INNER_API, InnerApiClient
from dify_agent.plugin_daemon_transport import Silence

from ._chunks import Chunk
from ._client import ModelCall, read_chunks


_SLASHES_OF_A_WHOLE_PROVIDER: Final = 2  # as in `langgenius/openai/openai`


@dataclass(frozen=True, slots=True, kw_only=True)
class DifyGatewayLLMClient:
    """A client for the models of one plugin through Dify's API, in the name of one run.

    Attributes:
        inner_api: The client of Dify's inner API.
        plugin_id: The plugin that serves the models, such as `langgenius/openai`.
        caller: What the API is sent about the run: the execution context.
        run_id: The run.
        call_index: The number of the request in the run, from 1.
    """

    inner_api: InnerApiClient
    plugin_id: str
    caller: Mapping[str, str | None] = field(repr=False)
    run_id: str
    call_index: int = 1
    _keeping_alive: set[tuple[str, str]] = field(
        default_factory=set[tuple[str, str]], repr=False, compare=False
    )

    def for_request(self, messages: Sequence[ModelMessage]) -> "DifyGatewayLLMClient":
        """Return the client for the request that follows these messages.

        Its number comes from the answers of the run among them, and not from a count of calls: an attempt after a crash makes only
        those calls of which no answer was recorded.
        """
        answers = sum(isinstance(each, ModelResponse) and self._is_ours(each) for each in messages)
        return replace(self, call_index=answers + 1)

    def _is_ours(self, answer: ModelResponse) -> bool:
        # A run that has waited goes on under its id and a number.
        known = answer.run_id or ""
        return known == self.run_id or known.startswith(f"{self.run_id}/")

    async def features(
        self, *, provider: str, model: str, credentials: Mapping[str, object]
    ) -> None:
        """Return None, because the API does not report what is declared for a model."""

    @property
    def base_url(self) -> str:
        """Address of Dify's API, without a slash at its end."""
        return self.inner_api.url.rstrip("/")

    def invoke(self, **call: Unpack[ModelCall]) -> AsyncGenerator[Chunk]:
        """Call a model, and yield the chunks of its answer; its credentials are left out, since Dify has its own.

        Raises:
            PluginDaemonError: If Dify, the daemon or the plugin reported an error, a frame is not a chunk, no chunk came at all, or the
                reply was silent for too long.
            httpx.TransportError: If Dify could not be reached, or the connection broke.
        """
        name = f"dify-agent:{self.run_id}:llm:{self.call_index}"
        about = {
            "invocation_id": str(uuid5(NAMESPACE_URL, name)),
            "agent_run_id": self.run_id,
            "call_index": self.call_index,
        }
        provider = call["provider"]
        is_whole = provider.count("/") == _SLASHES_OF_A_WHOLE_PROVIDER
        target = {key: value for key, value in call.items() if key != "credentials"}
        target["provider"] = provider if is_whole else f"{self.plugin_id}/{provider}"
        limits = self.inner_api.silence
        silence = Silence(limits.model_seconds, peer=INNER_API)
        payload = {"caller": {**self.caller, **about}, "target": target}
        return read_chunks(
            self.inner_api.stream("agent/llm/invoke", payload, silence=silence),
            silence,
            limits=limits,
            keeping_alive=self._keeping_alive,
            model=(provider, call["model"]),
            peer=INNER_API,
        )
