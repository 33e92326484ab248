"""The provider of the two strategies; it needs no credentials of its own."""

from dify_plugin.interfaces.agent import AgentProvider


class GPT5AgentProvider(AgentProvider):
    """Offer the strategies named in `gpt5_agent.yaml`."""
