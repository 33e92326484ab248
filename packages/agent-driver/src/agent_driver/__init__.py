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
from ._declare.agent_settings import AgentSettings, RunOptions
from ._declare.drive_settings import Decisions, DriveSettings
from ._declare.models import Model, ModelClient, SessionClient
from ._drive.agents import AgentOutcome
from ._drive.async_drive import adrive
from ._drive.async_stream import AsyncRunStream
from ._drive.drive import drive
from ._drive.result import NoAnswerError, Result
from ._drive.stream import RunStream
from ._errors import AgentDriverError
from ._steps.records import RecordedError
from ._steps.requests import StepRequest
from ._steps.steps import StepError, StepKey, Steps, StepWork, TellsRun, WatchesSteps
from ._time import Cancelled
from ._tools.calls import Tools
from ._tools.guardrails import GuardedCall, Guardrails, Stop
from ._tools.search import ToolSearch


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
    "WatchesSteps",
    "Window",
    "adrive",
    "agent_tool",
    "drive",
]

# Whoever wants the traces asks for them: an unasked library prints nothing between the words of an answer.
logging.getLogger("agent_driver").addHandler(logging.NullHandler())
