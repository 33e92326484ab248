"""The provider of the two strategies; it needs no credentials of its own."""

from dify_plugin.interfaces.agent import AgentProvider


class GPT5AgentProvider(AgentProvider):
    """The provider of the strategies in `gpt5_agent_strategies.yaml`."""
