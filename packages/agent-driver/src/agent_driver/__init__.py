"""Runs an agent: calls the model, runs the tools of a round in parallel, and gives out every event as it happens."""

import logging

from agent_loop import (
    AgentEvent,
    AgentRun,
    AskApproval,
    Budgets,
    CallModel,
    CompactedWindow,
    Decision,
    Event,
    FallbackModel,
    Finished,
    Message,
    ModelDelta,
    ShowFile,
    ShowReasoning,
    ShowText,
    TimeBudget,
    ToolCallEnded,
    ToolCallStarted,
    Usage,
    Window,
)

from ._agent import Agent, agent_tool
from ._agent_settings import AgentSettings, RunOptions
from ._agents import AgentOutcome
from ._async_drive import adrive
from ._async_stream import AsyncRunStream
from ._drive import drive
from ._errors import AgentDriverError
from ._guardrails import GuardedCall, Guardrails, Stop
from ._models import Model, ModelClient, SessionClient
from ._result import NoAnswerError, Result
from ._settings import Decisions, DriveSettings
from ._step_records import RecordedError
from ._step_requests import StepRequest
from ._steps import StepError, StepKey, Steps, StepWork, TellsRun
from ._stream import RunStream
from ._time import Cancelled
from ._tool_calls import Tools
from ._tool_search import ToolSearch


__all__ = [
    "Agent",
    "AgentDriverError",
    "AgentEvent",
    "AgentOutcome",
    "AgentRun",
    "AgentSettings",
    "AskApproval",
    "AsyncRunStream",
    "Budgets",
    "CallModel",
    "Cancelled",
    "CompactedWindow",
    "Decision",
    "Decisions",
    "DriveSettings",
    "Event",
    "FallbackModel",
    "Finished",
    "GuardedCall",
    "Guardrails",
    "Message",
    "Model",
    "ModelClient",
    "ModelDelta",
    "NoAnswerError",
    "RecordedError",
    "Result",
    "RunOptions",
    "RunStream",
    "SessionClient",
    "ShowFile",
    "ShowReasoning",
    "ShowText",
    "StepError",
    "StepKey",
    "StepRequest",
    "StepWork",
    "Steps",
    "Stop",
    "TellsRun",
    "TimeBudget",
    "ToolCallEnded",
    "ToolCallStarted",
    "ToolSearch",
    "Tools",
    "Usage",
    "Window",
    "adrive",
    "agent_tool",
    "drive",
]

# Whoever wants the traces asks for them: an unasked library prints nothing between the words of an answer.
logging.getLogger("agent_driver").addHandler(logging.NullHandler())
