"""The adapter between Dify's agent node and the agent packages: Dify shapes in, packages called, Dify shapes out.

Nothing here decides how a run goes: rounds are `agent_loop`'s, arguments and results `agent_tooling`'s, the instruction `agent_policy`'s.
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
