"""The strategy that calls tools through the model's own function calling.

The SDK runs this file and takes the one strategy class that it finds: import no other here.
"""

from collections.abc import Generator
from typing import Any

from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.interfaces.agent import AgentStrategy

from agent_adapter import invoke_agent


class GPT5FunctionCallingStrategy(AgentStrategy):
    """An agent on native function calling."""

    def _invoke(self, parameters: dict[str, Any]) -> Generator[AgentInvokeMessage]:
        yield from invoke_agent(self, parameters)
