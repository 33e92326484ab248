"""The parts that a run takes from its entered layers, and the agent that is made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import httpx
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    Tool,
    capture_run_messages,
)
from pydantic_ai.agent import AgentRunResult, EventStreamHandler
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.usage import UsageLimits

from dify_agent.compositor import CompositorRun, Layer, UserPrompt
from dify_agent.exceptions import AgentRunValidationError
from dify_agent.layers.ask_human import QUESTION_VERSION, AskHumanLayer
from dify_agent.layers.history import HistoryLayer
from dify_agent.protocol import DeferredToolCall, DeferredToolResultsPayload

from ._history import find_open_calls, interrupt_open_calls, keep_last_instructions
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
        user_prompts: The user's texts and files; at least one, unless there are deferred results.
        history: The layer with the conversation so far, if there is one.
        deferred_results: The results of the calls that are open at the conversation's end, if it continues with them.
    """

    agent: Agent[object, Any]
    user_prompts: Sequence[UserPrompt]
    history: HistoryLayer | None
    deferred_results: DeferredToolResults | None = None

    async def run(
        self,
        run_id: str,
        *,
        event_stream_handler: EventStreamHandler[object],
        max_model_requests: int,
        resumption: RunResumption | None,
    ) -> AgentRunResult[Any]:
        """Run the agent to its answer, or until calls wait; keep the conversation that has ended, well or not, if a layer asks for it.

        Raises:
            UsageLimitExceeded: If it would make more model requests than allowed, those before a wait included.
        """
        options: dict[str, Any]
        if resumption is None:
            prompt, options = self._begin()
        else:
            prompt, state = None, resumption.state
            options = {
                "message_history": state.messages,
                "usage": state.usage,
                "deferred_tool_results": resumption.results,
            }
            # Pydantic AI takes each id for one call of `run` only.
            run_id = f"{run_id}/{state.part}"
        with capture_run_messages() as messages:
            try:
                result = await self.agent.run(
                    prompt,
                    event_stream_handler=event_stream_handler,
                    run_id=run_id,
                    usage_limits=UsageLimits(request_limit=max_model_requests),
                    infer_name=False,
                    **options,
                )
            except BaseException:
                if messages:  # It had begun.
                    self.keep(interrupt_open_calls(messages))
                raise
        if not isinstance(result.output, DeferredToolRequests):
            self.keep(result.all_messages())
        return result

    def keep(self, messages: Sequence[ModelMessage]) -> None:
        """Keep a conversation for a later run, if a layer asks for it."""
        if self.history is not None:
            self.history.runtime_state.messages = keep_last_instructions(messages)

    def _begin(self) -> tuple[str | Sequence[UserPrompt] | None, dict[str, Any]]:
        """Return the prompt and the options of a run that has not waited."""
        results, history = self.deferred_results, self.history
        # Other calls that a client has not answered are not answered any more.
        but = () if results is None else results.calls
        told = (
            None
            if history is None
            else interrupt_open_calls(history.runtime_state.messages, but=but)
        )
        options = {"message_history": told}
        if results is not None:
            return None, options | {"deferred_tool_results": results}
        return _single_text(self.user_prompts) or self.user_prompts, options


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


def require_open_calls(history: HistoryLayer | None, results: DeferredToolResultsPayload) -> None:
    """Check that there is a result for each open call of the conversation, and no other.

    Raises:
        AgentRunValidationError: If there is not, or no conversation.
    """
    if history is None:
        raise AgentRunValidationError(
            "deferred_tool_results: expected a history layer with the calls that they belong to."
        )
    calls = sorted(find_open_calls(history.runtime_state.messages))
    if sorted(results.calls) != calls:
        expected = ", ".join(calls) or "none, since no call is open"
        raise AgentRunValidationError(f"deferred_tool_results.calls: expected {expected}.")


def find_question(run: CompositorRun, requests: DeferredToolRequests) -> DeferredToolCall | None:
    """Return the call that asks a person, with which a run ends; None if there is none.

    Raises:
        AgentRunValidationError: If the run could not continue from it: without a conversation that is kept, or beside other calls that wait.
    """
    layer = find_only_layer(run, AskHumanLayer)
    asked = [] if layer is None else [one for one in requests.calls if layer.is_question(one)]
    if layer is None or not asked:
        return None
    if find_only_layer(run, HistoryLayer) is None:
        raise AgentRunValidationError(
            "A question to a person requires a history layer, from which the run continues with the answer."
        )
    if len(requests.calls) + len(requests.approvals) > 1:
        raise AgentRunValidationError("A question to a person cannot wait beside other calls.")
    question = layer.read_question(asked[0].args_as_dict())
    return DeferredToolCall(
        tool_call_id=asked[0].tool_call_id,
        tool_name=asked[0].tool_name,
        args=question.model_dump(mode="json"),
        metadata={
            "layer_type": layer.type_id,
            "tool_name": asked[0].tool_name,
            "schema_version": QUESTION_VERSION,
        },
    )


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
