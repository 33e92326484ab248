"""One model call through the plugin SDK's own test runner; run as a process of its own, since the SDK patches the one it is in.

    python sdk_runner.py CLI FOLDER BASE_URL

CLI is the command that stands for Dify's, FOLDER the plugin's sources. Prints the answer's text.
"""

import sys

from dify_plugin.config.integration_config import IntegrationConfig
from dify_plugin.core.entities.plugin.request import (
    ModelActions,
    ModelInvokeLLMRequest,
    PluginInvokeType,
)
from dify_plugin.entities.model import ModelType
from dify_plugin.entities.model.llm import LLMResultChunk
from dify_plugin.entities.model.message import UserPromptMessage
from dify_plugin.integration.run import PluginRunner


def main(cli: str, folder: str, base_url: str) -> None:
    request = ModelInvokeLLMRequest(
        user_id="someone",
        provider="openai_gpt5_responses",
        model_type=ModelType.LLM,
        model="gpt-5.2",
        credentials={"openai_api_key": "key", "openai_api_base": base_url},
        prompt_messages=[UserPromptMessage(content="Hello")],
        model_parameters={},
        stop=None,
        tools=None,
    )
    config = IntegrationConfig(dify_cli_path=cli)
    with PluginRunner(config=config, plugin_package_path=folder) as runner:
        chunks = runner.invoke(
            PluginInvokeType.Model, ModelActions.InvokeLLM, request, LLMResultChunk
        )
        for chunk in chunks:
            sys.stdout.write(str(chunk.delta.message.content))


if __name__ == "__main__":
    main(*sys.argv[1:])
