"""What the tests of the chain have in common: how a run is asked for, carried out and looked at."""

import json
import os

import rig

from dify_agent.layers.dify_plugin import (
    DifyPluginLayerConfig,
    DifyPluginLLMLayerConfig,
    DifyPluginToolConfig,
    DifyPluginToolsLayerConfig,
)
from dify_agent.layers.prompt import PromptLayerConfig
from dify_agent.preparation import prepare_tool_config
from dify_agent.protocol import CreateRunRequest, RunComposition, RunLayerSpec
from dify_agent.runtime.event_sink import InMemoryRunEventSink
from dify_agent.runtime.layer_providers import create_default_layer_providers
from dify_agent.runtime.runner import AgentRunRunner
from gpt5_simulator import ResponsesSimulator, ScriptedModel


KEY = "sk-chain-0123456789"
GIVEN = json.loads(os.environ.get("CHAIN_DAEMON", "null"))
"""Another daemon than ours, in which the three plugins are installed: its `base_url`, `api_key` and `tenant`."""
TENANT = GIVEN["tenant"] if GIVEN else rig.TENANT


def prepare(plugin_id, provider, declaration, **settings):
    """Prepare a tool from what the daemon tells of it."""
    config = DifyPluginToolConfig(
        plugin_id=plugin_id,
        provider=provider,
        tool_name=declaration["identity"]["name"],
        credential_type="unauthorized",
        description=declaration["description"]["llm"],
        **settings,
    )
    return prepare_tool_config(config, declared=declaration["parameters"])


def model_of(plugin_id, provider, model, **credentials):
    return DifyPluginLLMLayerConfig(
        plugin_id=plugin_id, model_provider=provider, model=model, credentials=credentials
    )


def our_model(simulator):
    """Choose a model of the model plugin, whose server is the simulator."""
    return model_of(
        "gpt5-agent/openai_gpt5_responses",
        "openai_gpt5_responses",
        "gpt-5.2",
        openai_api_key=KEY,
        openai_api_base=simulator.base_url,
    )


def ask(model, *tools):
    """Ask for a run."""
    plugin = DifyPluginLayerConfig(tenant_id=TENANT, user_id="user")
    layers = [
        ("plugin", "dify.plugin", {}, plugin),
        ("prompt", "plain.prompt", {}, PromptLayerConfig(user="Do it.")),
        ("llm", "dify.plugin.llm", {"plugin": "plugin"}, model),
        (
            "tools",
            "dify.plugin.tools",
            {"plugin": "plugin"},
            DifyPluginToolsLayerConfig(tools=list(tools)),
        ),
    ]
    return CreateRunRequest(
        composition=RunComposition(
            layers=[
                RunLayerSpec(name=name, type=kind, deps=deps, config=config)
                for name, kind, deps, config in layers
            ]
        )
    )


def runner(daemon, http_client, sink):
    providers = create_default_layer_providers(
        plugin_daemon_url=daemon["base_url"], plugin_daemon_api_key=daemon["api_key"]
    )
    return AgentRunRunner(http_client=http_client, event_sink=sink, layer_providers=providers)


async def run(daemon, http_client, request):
    sink = InMemoryRunEventSink()
    await runner(daemon, http_client, sink).run("run-1", request)
    return sink.events("run-1")


def simulate(*turns, **settings):
    return ResponsesSimulator(model=ScriptedModel(list(turns)), api_keys=[KEY], **settings)


def results(events):
    return {
        event.tool_name: event.content.strip() for event in events if event.type == "tool_result"
    }
