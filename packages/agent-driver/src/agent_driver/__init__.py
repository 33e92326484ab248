"""Plays an agent run to its end: calls the model, runs the tools of a round at once, gives every event out as it happens."""

import logging

from ._agents import AgentOutcome, agent_tool
from ._async import adrive
from ._sync import drive
from ._tool_search import ToolSearch


__all__ = ["AgentOutcome", "ToolSearch", "adrive", "agent_tool", "drive"]

# Whoever wants the traces asks for them: an unasked library prints nothing between the words of an answer.
logging.getLogger("agent_driver").addHandler(logging.NullHandler())
