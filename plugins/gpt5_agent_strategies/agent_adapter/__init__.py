"""The adapter between Dify's agent node and the agent packages, which translates Dify's shapes both ways.

Nothing here decides how a run goes: `agent_loop` decides about rounds, `agent_tooling` about arguments and results,
`agent_policy` about the instruction.
"""

from ._errors import AgentRunError, ParameterError
from ._invoke_agent import invoke_agent, request_errors, shorten_line
from ._settings import Settings


__all__ = [
    "AgentRunError",
    "ParameterError",
    "Settings",
    "invoke_agent",
    "request_errors",
    "shorten_line",
]
