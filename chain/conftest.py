"""The peers of the chain: both kinds of plugins behind `dify-host serve`, and a scripted model behind the plugin."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from dify_agent.layers.dify_plugin import DifyPluginToolConfig
from dify_agent.preparation import prepare_tool_config


ROOT = Path(__file__).parents[1]
MODEL_PLUGIN = ROOT / "plugins/openai_gpt5_responses"
TOOL_PLUGIN = ROOT / "packages/dify-plugin-host/tests/plugins/demo_tools"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    """Run `dify-host serve` with the model plugin and two tool plugins, and give out where it is."""
    second = rename(TOOL_PLUGIN, tmp_path_factory.mktemp("plugins"), "more_tools")
    command = [Path(sys.executable).with_name("dify-host"), "serve", "--json", "--port", "0"]
    with subprocess.Popen(
        [*command, MODEL_PLUGIN, TOOL_PLUGIN, second], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def declarations(daemon):
    """What the daemon tells of the tools that it serves, by plugin and name."""
    answer = httpx.get(
        f"{daemon['base_url']}/plugin/tenant/management/tools?page=1&page_size=256",
        headers={"x-api-key": daemon["api_key"]},
        trust_env=False,
    )
    return {
        (provider["plugin_id"], tool["identity"]["name"]): tool
        for provider in answer.json()["data"]
        for tool in provider["declaration"]["tools"]
    }


@pytest.fixture
def tool(declarations):
    """Give out a function that prepares a tool from what the daemon tells of it."""

    def prepare(tool_name, *, plugin="demo_tools", **settings):
        declaration = declarations[f"tests/{plugin}", tool_name]
        config = DifyPluginToolConfig(
            plugin_id=f"tests/{plugin}",
            provider="demo",
            tool_name=tool_name,
            credential_type="unauthorized",
            description=declaration["description"]["llm"],
            **settings,
        )
        return prepare_tool_config(config, declared=declaration["parameters"])

    return prepare


@pytest.fixture
def server(daemon, tmp_path):
    """Run `dify-agent serve` beside the daemon, and give out its address."""
    settings = {
        "DIFY_AGENT_PLUGIN_DAEMON_URL": daemon["base_url"],
        "DIFY_AGENT_PLUGIN_DAEMON_API_KEY": daemon["api_key"],
        "DIFY_AGENT_DATABASE_URL": f"sqlite:///{tmp_path}/runs/runs.sqlite",
    }
    command = [Path(sys.executable).with_name("dify-agent"), "serve", "--port", "0"]
    with subprocess.Popen(
        command, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


@pytest.fixture
async def http_client():
    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        yield client


def rename(plugin, into, name):
    folder = into / name
    shutil.copytree(plugin, folder, ignore=shutil.ignore_patterns("__pycache__"))
    manifest = yaml.safe_load((folder / "manifest.yaml").read_text())
    (folder / "manifest.yaml").write_text(yaml.safe_dump({**manifest, "name": name}))
    return folder
