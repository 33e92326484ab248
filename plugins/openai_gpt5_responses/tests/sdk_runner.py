"""One model call through the plugin SDK's own test runner; run as a process of its own, since the SDK patches the one it is in.

    python sdk_runner.py CLI PACKAGE BASE_URL

CLI is the command that stands for Dify's, PACKAGE the plugin's package. Prints the answer's text.
"""

import os
import sys
import traceback

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


def main(cli: str, package: str, base_url: str) -> None:
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
    with PluginRunner(config=config, plugin_package_path=package) as runner:
        chunks = runner.invoke(
            PluginInvokeType.Model, ModelActions.InvokeLLM, request, LLMResultChunk
        )
        for chunk in chunks:
            sys.stdout.write(str(chunk.delta.message.content))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception:  # noqa: BLE001  whatever it is, the SDK's thread would wait for the plugin for ever
        traceback.print_exc()
        os._exit(1)
