"""The peers of the chain: both kinds of plugins behind `dify-host serve`, and a scripted model behind the plugin."""

import asyncio
import json
import os
import shutil
import ssl
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import httpx
import pytest
import rig
import yaml

from dify_plugin_host import PluginProcess
from runs import GIVEN, TENANT, prepare


BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
MODEL_PLUGIN = ROOT / "plugins/openai_gpt5_responses"
STRATEGY_PLUGIN = ROOT / "plugins/gpt5_agent_strategies"
TOOL_PLUGIN = ROOT / "workbench/dify-plugin-host/tests/plugins/demo_tools"
# All servers here speak plain HTTP, and to read the machine's certificates costs a client more than everything else.
os.environ["SSL_CERT_DIR"] = str(ROOT / "checks/chain")
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
OFFICIAL = [
    *("models/openai", "models/deepseek", "models/moonshot"),
    *("tools/maths", "tools/json_process", "tools/regex", "tools/qrcode"),
    "agent-strategies/cot_agent",
]


def pytest_addoption(parser):
    parser.addoption(
        "--official",
        metavar="CHECKOUT",
        help="A checkout of langgenius/dify-official-plugins: also run with plugins of it.",
    )


def pytest_ignore_collect(collection_path, config):
    """Leave out what needs a checkout unless one is given."""
    needs_checkout = collection_path.name == "test_official_plugins.py"
    return True if needs_checkout and not config.getoption("official") else None


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def daemon(tmp_path_factory):
    """Run `dify-host serve` with our plugins, two tool plugins and what recorded exchanges need, and give out where it is."""
    if GIVEN:
        yield GIVEN
        return
    second = rename(TOOL_PLUGIN, tmp_path_factory.mktemp("plugins"), "more_tools")
    plugins = (*rig.PROBES, MODEL_PLUGIN, STRATEGY_PLUGIN, TOOL_PLUGIN, second)
    with rig.serving(tmp_path_factory.mktemp("rig"), *plugins) as running:
        yield {"base_url": running.base_url, "api_key": rig.API_KEY, "rig": running}


@pytest.fixture(scope="session")
def package_official(request, tmp_path_factory):
    """Give out a function that packages a plugin of the checkout, by its path there."""
    checkout = request.config.getoption("official")
    if not checkout:
        pytest.skip("needs --official CHECKOUT")
    folder = tmp_path_factory.mktemp("packages")

    @cache
    def make_package(name):
        package = folder / f"{Path(name).name}.difypkg"
        source = Path(checkout) / name
        command = [BIN / "dify-plugin", "plugin", "package", source, "--output_path", package]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return package

    return make_package


@pytest.fixture(scope="session")
def official_daemon(package_official):
    """Run `dify-host serve` with our plugins and official ones, packaged and installed as Dify does it."""
    packages = [package_official(name) for name in OFFICIAL]
    with serve(MODEL_PLUGIN, STRATEGY_PLUGIN, *packages) as daemon:
        yield daemon


@pytest.fixture(scope="session")
def runner():
    """Run what a plugin's process is asked, which belongs to one loop."""
    with asyncio.Runner() as runner:
        yield runner


@contextmanager
def running(runner, plugin):
    """Run a plugin's process in a runner."""
    process = PluginProcess(plugin)
    runner.run(process.start())
    try:
        yield process
    finally:
        runner.run(process.stop())


@pytest.fixture(scope="session")
def model_process(runner):
    """The model plugin's process, for those who need no more than that."""
    with running(runner, MODEL_PLUGIN) as process:
        yield process


@contextmanager
def serve(*plugins):
    command = [BIN / "dify-host", "serve", "--json", "--port", "0", *plugins]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def list_tools(daemon):
    """Return what a daemon tells of its tool providers."""
    answer = httpx.get(
        f"{daemon['base_url']}/plugin/{TENANT}/management/tools?page=1&page_size=256",
        headers={"x-api-key": daemon["api_key"]},
        timeout=120,
        trust_env=False,
        verify=NO_CERTIFICATES,
    )
    return answer.json()["data"]


@pytest.fixture(scope="session")
def declarations(daemon):
    """What the daemon tells of the tools that it serves, by plugin and name."""
    return {
        (provider["plugin_id"], tool["identity"]["name"]): tool
        for provider in list_tools(daemon)
        for tool in provider["declaration"]["tools"]
    }


@pytest.fixture(scope="session")
def official_tools(official_daemon):
    """The tools of the official plugins, by name."""
    return {
        tool["identity"]["name"]: (provider, tool)
        for provider in list_tools(official_daemon)
        for tool in provider["declaration"]["tools"]
    }


@pytest.fixture
def tool(declarations):
    """Give out a function that prepares a tool from what the daemon tells of it."""

    def prepare_demo(tool_name, *, plugin="demo_tools", **settings):
        plugin_id = f"tests/{plugin}"
        return prepare(plugin_id, "demo", declarations[plugin_id, tool_name], **settings)

    return prepare_demo


@pytest.fixture
def server(daemon, tmp_path):
    """Run `dify-agent serve` beside the daemon, and give out its address."""
    settings = {
        "DIFY_AGENT_PLUGIN_DAEMON_URL": daemon["base_url"],
        "DIFY_AGENT_PLUGIN_DAEMON_API_KEY": daemon["api_key"],
        "DIFY_AGENT_STATE": f"{tmp_path}/state",
    }
    command = [BIN / "dify-agent", "serve", "--port", "0"]
    with subprocess.Popen(
        command, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


@pytest.fixture
async def http_client():
    async with httpx.AsyncClient(timeout=300, trust_env=False, verify=NO_CERTIFICATES) as client:
        yield client


def rename(plugin, into, name):
    folder = into / name
    shutil.copytree(plugin, folder, ignore=shutil.ignore_patterns("__pycache__"))
    manifest = yaml.safe_load((folder / "manifest.yaml").read_text())
    (folder / "manifest.yaml").write_text(yaml.safe_dump({**manifest, "name": name}))
    return folder
