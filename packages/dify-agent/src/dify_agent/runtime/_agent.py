"""The parts that a run takes from its entered layers, and the agent that is made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import httpx
from pydantic_ai import Agent, DeferredToolRequests, Tool
from pydantic_ai.agent import AgentRunResult, EventStreamHandler
from pydantic_ai.models import Model
from pydantic_ai.usage import UsageLimits

from dify_agent.compositor import CompositorRun, Layer, UserPrompt
from dify_agent.exceptions import AgentRunValidationError
from dify_agent.layers.history import HistoryLayer

from .waiting import RunResumption


MODEL_LAYER_NAME: Final = "llm"
"""The name of the layer that a run takes its model from, whatever the layer's type."""


@runtime_checkable
class ModelLayer(Protocol):
    """A layer that has a model, as the one named `llm` must."""

    def get_model(self, *, http_client: httpx.AsyncClient) -> Model:
        """Return the model, which calls through the given client."""
        ...


@runtime_checkable
class ToolsLayer(Protocol):
    """A layer whose tools call through an HTTP client."""

    async def get_tools(self, *, http_client: httpx.AsyncClient) -> list[Tool[object]]:
        """Return the tools, which call through the given client."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedAgent:
    """An agent that is ready to run, with its input.

    Attributes:
        agent: The agent.
        user_prompts: The user's texts and files; at least one.
        history: The layer with the conversation so far, if there is one.
    """

    agent: Agent[object, Any]
    user_prompts: Sequence[UserPrompt]
    history: HistoryLayer | None

    async def run(
        self,
        run_id: str,
        *,
        event_stream_handler: EventStreamHandler[object],
        max_model_requests: int,
        resumption: RunResumption | None,
    ) -> AgentRunResult[Any]:
        """Run the agent to its answer, or until calls wait; keep the conversation of an answer if a layer asks for it.

        Raises:
            UsageLimitExceeded: If it would make more model requests than allowed, those before a wait included.
        """
        history = None if self.history is None else self.history.runtime_state
        options: dict[str, Any]
        if resumption is None:
            prompt = _single_text(self.user_prompts) or self.user_prompts
            options = {"message_history": None if history is None else history.messages}
        else:
            prompt, state = None, resumption.state
            options = {
                "message_history": state.messages,
                "usage": state.usage,
                "deferred_tool_results": resumption.results,
            }
            # Pydantic AI takes each id for one call of `run` only.
            run_id = f"{run_id}/{state.part}"
        result = await self.agent.run(
            prompt,
            event_stream_handler=event_stream_handler,
            run_id=run_id,
            usage_limits=UsageLimits(request_limit=max_model_requests),
            infer_name=False,
            **options,
        )
        if history is not None and not isinstance(result.output, DeferredToolRequests):
            history.messages = result.all_messages()
        return result


def _single_text(prompts: Sequence[UserPrompt]) -> str | None:
    match prompts:
        case [str() as text]:
            return text
        case _:
            return None


def require_user_prompts(run: CompositorRun) -> list[UserPrompt]:
    """Return the user's texts and files.

    Raises:
        AgentRunValidationError: If there is none that is not blank.
    """
    prompts = [each for each in run.user_prompts if not isinstance(each, str) or each.strip()]
    if not prompts:
        raise AgentRunValidationError("Agent run requires a user prompt that is not blank.")
    return prompts


def find_model_layer(run: CompositorRun) -> ModelLayer:
    """Return the layer with the model.

    Raises:
        AgentRunValidationError: If no layer has the name `llm`, or the layer of this name has no model.
    """
    slot = run.slots.get(MODEL_LAYER_NAME)
    if slot is None:
        raise AgentRunValidationError(f"Agent run requires a layer named {MODEL_LAYER_NAME!r}.")
    layer: object = slot.layer
    if not isinstance(layer, ModelLayer):
        raise AgentRunValidationError(
            f"Layer {MODEL_LAYER_NAME!r} must have a model, got {type(layer).__name__}."
        )
    return layer


def find_only_layer[LayerT: Layer[Any, Any, Any]](
    run: CompositorRun, layer_type: type[LayerT]
) -> LayerT | None:
    """Return the only layer of a type; None if there is none.

    Raises:
        AgentRunValidationError: If there are two.
    """
    found = [slot.layer for slot in run.slots.values() if isinstance(slot.layer, layer_type)]
    if len(found) > 1:
        raise AgentRunValidationError(
            f"Agent run takes one layer of type {layer_type.type_id!r}, got {len(found)}."
        )
    return found[0] if found else None
