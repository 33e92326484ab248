"""The strategy that reasons and acts in turns.

It also acts through native function calling: an action parsed from text can be misread, and a thought that quotes one would run it.
The SDK runs this file and takes the one strategy class that it finds: import no other here.
"""

from collections.abc import Generator
from typing import Any

from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.interfaces.agent import AgentStrategy

from agent_adapter import invoke_agent


class GPT5ReActStrategy(AgentStrategy):
    """An agent that reasons and acts in turns."""

    def _invoke(self, parameters: dict[str, Any]) -> Generator[AgentInvokeMessage]:
        yield from invoke_agent(self, parameters)
