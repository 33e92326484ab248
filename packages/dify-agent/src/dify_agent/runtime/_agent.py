"""The parts that a run takes from its entered layers, and the agent that is made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import httpx
from pydantic import JsonValue
from pydantic_ai import Agent
from pydantic_ai.agent import EventStreamHandler
from pydantic_ai.models import Model
from pydantic_ai.usage import UsageLimits

from dify_agent.compositor import CompositorRun, Layer, UserPrompt
from dify_agent.exceptions import AgentRunValidationError
from dify_agent.layers.history import HistoryLayer


MODEL_LAYER_NAME: Final = "llm"
"""The name of the layer that a run takes its model from, whatever the layer's type."""


@runtime_checkable
class ModelLayer(Protocol):
    """A layer that has a model, as the one named `llm` must."""

    def get_model(self, *, http_client: httpx.AsyncClient) -> Model:
        """Return the model, which calls through the given client."""
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
    ) -> JsonValue:
        """Run the agent to its answer, and keep the conversation if a layer asks for it.

        Raises:
            UsageLimitExceeded: If it would make more model requests than allowed.
        """
        state = None if self.history is None else self.history.runtime_state
        result = await self.agent.run(
            _single_text(self.user_prompts) or self.user_prompts,
            message_history=None if state is None else state.messages,
            event_stream_handler=event_stream_handler,
            run_id=run_id,
            usage_limits=UsageLimits(request_limit=max_model_requests),
            infer_name=False,
        )
        if state is not None:
            state.messages = result.all_messages()
        return result.output


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
