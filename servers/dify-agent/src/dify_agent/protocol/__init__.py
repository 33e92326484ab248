"""The messages between a client and the side that runs agents; safe to import on either."""

from ._events import (
    RUN_EVENT_ADAPTER,
    FileEvent,
    ModelRequestStartedEvent,
    RunCancelledEvent,
    RunEvent,
    RunFailedEvent,
    RunStartedEvent,
    RunSucceededEvent,
    TerminalRunEvent,
    TextDeltaEvent,
    ThinkingDeltaEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from .schemas import (
    CreateRunRequest,
    DeferredToolCall,
    DeferredToolResultsPayload,
    LayerExitSignals,
    ProtocolModel,
    RunComposition,
    RunLayerSpec,
)


__all__ = [
    "RUN_EVENT_ADAPTER",
    "CreateRunRequest",
    "DeferredToolCall",
    "DeferredToolResultsPayload",
    "FileEvent",
    "LayerExitSignals",
    "ModelRequestStartedEvent",
    "ProtocolModel",
    "RunCancelledEvent",
    "RunComposition",
    "RunEvent",
    "RunFailedEvent",
    "RunLayerSpec",
    "RunStartedEvent",
    "RunSucceededEvent",
    "TerminalRunEvent",
    "TextDeltaEvent",
    "ThinkingDeltaEvent",
    "ToolCallEvent",
    "ToolResultEvent",
]
