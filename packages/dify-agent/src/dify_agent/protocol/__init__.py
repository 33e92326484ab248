"""The messages between a client and the side that runs agents; safe to import on either."""

from .schemas import (
    CreateRunRequest,
    LayerExitSignals,
    RunCancelled,
    RunComposition,
    RunEvent,
    RunEventData,
    RunFailed,
    RunLayerSpec,
    RunStarted,
    RunStatus,
    RunSucceeded,
    TextDelta,
    ThinkingDelta,
    ToolCallFinished,
    ToolCallStarted,
)


__all__ = [
    "CreateRunRequest",
    "LayerExitSignals",
    "RunCancelled",
    "RunComposition",
    "RunEvent",
    "RunEventData",
    "RunFailed",
    "RunLayerSpec",
    "RunStarted",
    "RunStatus",
    "RunSucceeded",
    "TextDelta",
    "ThinkingDelta",
    "ToolCallFinished",
    "ToolCallStarted",
]
