"""One run of an agent, from its input to its result, and what is written down of it."""

from .result import RunResult
from .runner import AgentRunner


__all__ = ["AgentRunner", "RunResult"]
