"""The messages between a client and the side that runs agents; safe to import on either."""

from .events import (
    RUN_EVENT_ADAPTER,
    BaseRunEvent,
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
    CreateRunResponse,
    LayerExitSignals,
    ProtocolModel,
    RunComposition,
    RunLayerSpec,
    RunStatus,
    RunStatusResponse,
)


__all__ = [
    "RUN_EVENT_ADAPTER",
    "BaseRunEvent",
    "CreateRunRequest",
    "CreateRunResponse",
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
    "RunStatus",
    "RunStatusResponse",
    "RunSucceededEvent",
    "TerminalRunEvent",
    "TextDeltaEvent",
    "ThinkingDeltaEvent",
    "ToolCallEvent",
    "ToolResultEvent",
]
