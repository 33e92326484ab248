"""The rounds of an agent run as a state machine with no I/O."""

from stream_text import MessageError, ThinkFilter

from ._file_places import with_files_moved
from ._rules.agents import AgentAnswer, Agents
from ._rules.display import should_emit_text
from ._rules.saving import (
    dump_inputs,
    dump_messages,
    iter_dumped_messages,
    load_inputs,
    load_messages,
)
from ._rules.settings import RunSettings
from ._rules.snapshots import validate_snapshot_key
from ._rules.transitions import TRANSITIONS, State, Trigger
from ._run import AgentRun
from ._time import CallWatch, TimeBudget
from ._values.budgets import BudgetName, Budgets, BudgetUse
from ._values.errors import (
    AgentLoopError,
    InvalidSettingError,
    LocalProtocolError,
    RefusedAgentError,
    SnapshotError,
    SnapshotFault,
)
from ._values.events import (
    AgentDecisions,
    AgentEvent,
    AskApproval,
    CallModel,
    CheckAnswer,
    ClosingReason,
    CompactionKind,
    Event,
    Finished,
    ModelCallEnded,
    RoundEnded,
    RoundStarted,
    RunCompacted,
    RunSteered,
    RunTools,
    ShowFile,
    ShowReasoning,
    ShowText,
    StopReason,
    ToolCallEnded,
    ToolCallStarted,
)
from ._values.inputs import (
    AgentWaiting,
    AnswerChecked,
    CompactedWindow,
    Decision,
    Failure,
    Input,
    ModelDelta,
    ModelDone,
    ModelFailure,
    Steered,
    TimePassed,
    TimeShort,
    ToolCallFragment,
    ToolResult,
)
from ._values.messages import AskedCall, Message, Role, ToolCall
from ._values.models import FallbackModel, Window
from ._values.own_functions import CallInstead, OwnFunction
from ._values.reading import read_input, read_user_message
from ._values.usage import AgentUse, Usage


__all__ = [
    "TRANSITIONS",
    "AgentAnswer",
    "AgentDecisions",
    "AgentEvent",
    "AgentLoopError",
    "AgentRun",
    "AgentUse",
    "AgentWaiting",
    "Agents",
    "AnswerChecked",
    "AskApproval",
    "AskedCall",
    "BudgetName",
    "BudgetUse",
    "Budgets",
    "CallInstead",
    "CallModel",
    "CallWatch",
    "CheckAnswer",
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
    "RunSettings",
    "RunSteered",
    "RunTools",
    "ShowFile",
    "ShowReasoning",
    "ShowText",
    "SnapshotError",
    "SnapshotFault",
    "State",
    "Steered",
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
    "dump_inputs",
    "dump_messages",
    "iter_dumped_messages",
    "load_inputs",
    "load_messages",
    "read_input",
    "read_user_message",
    "should_emit_text",
    "validate_snapshot_key",
    "with_files_moved",
]
