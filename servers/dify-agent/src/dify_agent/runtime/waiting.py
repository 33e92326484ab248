"""Runs that wait for the results of deferred tool calls, and what they continue from."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ModelMessage
from pydantic_ai.usage import RunUsage

from dify_agent.compositor import CompositorSessionSnapshot


__all__ = ["RunResumption", "WaitingRun", "WaitingState"]


class WaitingState(BaseModel):
    """What a run that waits continues from; as JSON it may be kept anywhere, but holds the whole conversation.

    Attributes:
        part: How often the run has waited.
        messages: The conversation so far. Its last answer has the calls that wait; results of the answer's other calls follow it.
        usage: The usage so far.
        session_snapshot: The states of all layers, whatever the exit intents are.
    """

    model_config = ConfigDict(defer_build=True, ser_json_bytes="base64", val_json_bytes="base64")

    part: int = Field(ge=1)
    messages: list[ModelMessage] = Field(repr=False)
    usage: RunUsage
    session_snapshot: CompositorSessionSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """A run that waits.

    Attributes:
        requests: The calls that wait: for approval, or for a result from outside.
        state: What it continues from.
    """

    requests: DeferredToolRequests
    state: WaitingState


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumption:
    """What a run continues with that has waited.

    Attributes:
        state: The state of its last `WaitingRun`.
        results: A decision or a result for each call that waited.
    """

    state: WaitingState
    results: DeferredToolResults
