"""One agent run through the plugin SDK's own test runner; run as a process of its own, since the SDK patches the one it is in.

    python sdk_runner.py CLI FOLDER

CLI is the command that stands for Dify's, FOLDER the plugin's sources. Prints the run's text.
"""

import sys

from dify_plugin.config.integration_config import IntegrationConfig
from dify_plugin.core.entities.plugin.request import (
    AgentActions,
    AgentInvokeRequest,
    PluginInvokeType,
)
from dify_plugin.entities.agent import AgentInvokeMessage
from dify_plugin.integration.run import PluginRunner


def main(cli: str, folder: str) -> None:
    model = {"provider": "p", "model": "m", "model_type": "llm", "mode": "chat"}
    request = AgentInvokeRequest(
        user_id="someone",
        agent_strategy_provider="gpt5_agent_strategies",
        agent_strategy="gpt5_function_calling",
        agent_strategy_params={
            "model": {**model, "completion_params": {}},
            "tools": [],
            "instruction": "Be brief.",
            "query": "Hello",
            "maximum_iterations": 3,
        },
    )
    config = IntegrationConfig(dify_cli_path=cli)
    with PluginRunner(config=config, plugin_package_path=folder) as runner:
        messages = runner.invoke(
            PluginInvokeType.Agent, AgentActions.InvokeAgentStrategy, request, AgentInvokeMessage
        )
        for message in messages:
            if message.type is AgentInvokeMessage.MessageType.TEXT:
                sys.stdout.write(message.message.text)


if __name__ == "__main__":
    main(*sys.argv[1:])
