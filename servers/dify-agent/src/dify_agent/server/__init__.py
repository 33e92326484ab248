"""dify-agent as an executor of `gpt5-agent-server`, and its command. Needs the extra `server`."""

from dify_agent._settings import DifyAgentSettings

from ._executor import DifyAgentExecutor


__all__ = ["DifyAgentExecutor", "DifyAgentSettings"]
