"""dify-agent as an executor of `gpt5-agent-server`, and its command. Needs the extra `server`."""

from .executor import DifyAgentExecutor
from .settings import DifyAgentSettings


__all__ = ["DifyAgentExecutor", "DifyAgentSettings"]
