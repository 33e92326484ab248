"""The rounds of an agent run as a state machine with no I/O."""

from ._errors import AgentLoopError, InvalidSettingError, LocalProtocolError
from ._events import (
    CallEnded,
    CallModel,
    CallStarted,
    ClosingReason,
    Event,
    Failure,
    Finished,
    Input,
    ModelDelta,
    ModelDone,
    RoundEnded,
    RoundStarted,
    RunTools,
    ShowText,
    StopReason,
    ThoughtEnded,
    TimeShort,
    ToolCallFragment,
    ToolResult,
)
from ._messages import Message, Role, ToolCall
from ._run import AgentRun
from ._state import TRANSITIONS, State, Trigger
from ._texts import should_emit_text
from ._think import ThinkFilter, strip_thoughts
from ._usage import Usage


__all__ = [
    "TRANSITIONS",
    "AgentLoopError",
    "AgentRun",
    "CallEnded",
    "CallModel",
    "CallStarted",
    "ClosingReason",
    "Event",
    "Failure",
    "Finished",
    "Input",
    "InvalidSettingError",
    "LocalProtocolError",
    "Message",
    "ModelDelta",
    "ModelDone",
    "Role",
    "RoundEnded",
    "RoundStarted",
    "RunTools",
    "ShowText",
    "State",
    "StopReason",
    "ThinkFilter",
    "ThoughtEnded",
    "TimeShort",
    "ToolCall",
    "ToolCallFragment",
    "ToolResult",
    "Trigger",
    "Usage",
    "should_emit_text",
    "strip_thoughts",
]
