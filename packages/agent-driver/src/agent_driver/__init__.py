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
    ShowText,
    TimeBudget,
    ToolCallEnded,
    ToolCallStarted,
    Usage,
    Window,
)

from ._agents import AgentOutcome, agent_tool
from ._async_drive import adrive
from ._drive import drive
from ._settings import DriveSettings
from ._tool_search import ToolSearch


__all__ = [
    "AgentEvent",
    "AgentOutcome",
    "AgentRun",
    "AskApproval",
    "Budgets",
    "CallModel",
    "CompactedWindow",
    "Decision",
    "DriveSettings",
    "Event",
    "FallbackModel",
    "Finished",
    "Message",
    "ModelDelta",
    "ShowFile",
    "ShowText",
    "TimeBudget",
    "ToolCallEnded",
    "ToolCallStarted",
    "ToolSearch",
    "Usage",
    "Window",
    "adrive",
    "agent_tool",
    "drive",
]

# Whoever wants the traces asks for them: an unasked library prints nothing between the words of an answer.
logging.getLogger("agent_driver").addHandler(logging.NullHandler())
