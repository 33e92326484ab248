"""The rounds of an agent run as a state machine with no I/O."""

from stream_text import MessageError, ThinkFilter

from ._agents import AgentAnswer, Agents
from ._approval import AskApproval, Decision
from ._budgets import BudgetName, Budgets, BudgetUse
from ._compaction_events import CompactedWindow, CompactionKind, RunCompacted
from ._display import should_emit_text
from ._errors import (
    AgentLoopError,
    InvalidSettingError,
    LocalProtocolError,
    RefusedAgentError,
    SnapshotError,
    SnapshotFault,
)
from ._events import (
    AgentEvent,
    CallModel,
    ClosingReason,
    Event,
    Finished,
    ModelCallEnded,
    RoundEnded,
    RoundStarted,
    RunTools,
    ShowFile,
    ShowText,
    StopReason,
    ToolCallEnded,
    ToolCallStarted,
)
from ._failure_texts import to_plain_text
from ._file_places import with_files_moved
from ._inputs import (
    Failure,
    Input,
    ModelDelta,
    ModelDone,
    ModelFailure,
    TimePassed,
    TimeShort,
    ToolCallFragment,
    ToolResult,
)
from ._messages import Message, Role, ToolCall
from ._model_failures import read_model_failure
from ._models import FallbackModel
from ._own_functions import CallInstead, OwnFunction
from ._reading import read_input
from ._run import AgentRun
from ._snapshots import validate_snapshot_key
from ._state import TRANSITIONS, State, Trigger
from ._time import CallWatch, TimeBudget
from ._usage import AgentUse, Usage
from ._window import Window


__all__ = [
    "TRANSITIONS",
    "AgentAnswer",
    "AgentEvent",
    "AgentLoopError",
    "AgentRun",
    "AgentUse",
    "Agents",
    "AskApproval",
    "BudgetName",
    "BudgetUse",
    "Budgets",
    "CallInstead",
    "CallModel",
    "CallWatch",
    "ClosingReason",
    "CompactedWindow",
    "CompactionKind",
    "Decision",
    "Event",
    "Failure",
    "FallbackModel",
    "Finished",
    "Input",
    "InvalidSettingError",
    "LocalProtocolError",
    "Message",
    "MessageError",
    "ModelCallEnded",
    "ModelDelta",
    "ModelDone",
    "ModelFailure",
    "OwnFunction",
    "RefusedAgentError",
    "Role",
    "RoundEnded",
    "RoundStarted",
    "RunCompacted",
    "RunTools",
    "ShowFile",
    "ShowText",
    "SnapshotError",
    "SnapshotFault",
    "State",
    "StopReason",
    "ThinkFilter",
    "TimeBudget",
    "TimePassed",
    "TimeShort",
    "ToolCall",
    "ToolCallEnded",
    "ToolCallFragment",
    "ToolCallStarted",
    "ToolResult",
    "Trigger",
    "Usage",
    "Window",
    "read_input",
    "read_model_failure",
    "should_emit_text",
    "to_plain_text",
    "validate_snapshot_key",
    "with_files_moved",
]
