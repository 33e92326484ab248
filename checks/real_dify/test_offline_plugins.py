"""Official plugins, made offline, install and answer where there is no network: `nox -s real-daemon -- --daemon … --official CHECKOUT -k offline`.

They are of all kinds: pure and heavy, with sources that have no wheel, with a lock that names an index of elsewhere, built themselves.
"""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from client import DaemonClient, DaemonError
from dify_plugin_packager.packaging import Archive
from official import official_package
from servers import SERVER_KEY, wait_until


PLUGINS = [
    "agent-strategies/cot_agent",
    "datasources/notion_datasource",
    "extensions/slack_bot",
    "models/ant_ling",
    "models/bedrock",
    "models/ollama",
    "models/openai",
    "tools/chart",
    "tools/gemini_video",
    "tools/qrcode",
    "tools/teams",
    "tools/wikipedia",
    "tools/yahoo",
    "triggers/rsshub_trigger",
]
# What asks a plugin of each kind for something, with credentials that nobody has; an endpoint waits for a caller.
CALLS = {
    "agent_strategies": "agent_strategy/invoke",
    "datasources": "datasource/validate_credentials",
    "models": "model/validate_provider_credentials",
    "tools": "tool/validate_credentials",
    "triggers": "trigger/validate_credentials",
}
ROUTES = {
    "uv.lock": {},
    "requirements.txt": {"PIP_MIRROR_URL": "http://127.0.0.1:9/simple"},
}


@pytest.fixture(scope="module", params=ROUTES, ids=str)
def client(request, start_daemon, without_network):
    settings = {**without_network, "MAX_PLUGIN_PACKAGE_SIZE": str(200 * 1024 * 1024)}
    with start_daemon(**settings, **ROUTES[request.param]) as daemon:
        yield DaemonClient(daemon.base_url, SERVER_KEY), daemon


@pytest.fixture(scope="module")
def make_offline(programs, folder, pytestconfig):
    """Pack a plugin as the official command line does it, then make it offline; return both packages."""

    def make(name):
        into = folder / name
        if not into.exists():
            into.mkdir(parents=True)
            official_package(programs, pytestconfig.getoption("official") / name, into)
            (package,) = into.glob("*.difypkg")
            command = [Path(sys.executable).with_name("dify-host"), "package", "--offline", package]
            options = ["--max-size", "200", "--output", into / "offline"]
            subprocess.run([*command, *options], check=True)
        (package,), (offline,) = into.glob("*.difypkg"), (into / "offline").iterdir()
        return package, offline

    return make


@pytest.mark.parametrize("name", PLUGINS)
def test_an_offline_plugin_installs_and_answers(client, make_offline, name):
    client, daemon = client
    package, offline = make_offline(name)
    identifier = client.install(offline)
    manifest = yaml.safe_load(Archive.read(package).files["manifest.yaml"])
    wait_until(lambda: daemon.plugin_pids(manifest["name"]), "the plugin")
    (kind,) = manifest["plugins"].keys() & CALLS or {None}
    if kind:
        provider = yaml.safe_load(Archive.read(package).files[manifest["plugins"][kind][0]])
        said = ask(client, identifier.partition(":")[0], kind, provider)
        assert "PluginInvokeError" in said or '"result"' in said, said


def ask(client, plugin, kind, provider):
    """Ask a plugin for something, as soon as it is there; return what it says, an error of its own included."""
    name = provider.get("provider") or provider["identity"]["name"]
    data = {"provider": name, "credentials": {}}
    if kind == "agent_strategies":
        data = {"agent_strategy_provider": name, "agent_strategy": "x", "agent_strategy_params": {}}
    said = []

    def has_answered():
        try:
            said.append(str(list(client.call(plugin, CALLS[kind], data))))
        except DaemonError as error:
            said.append(str(error))
        return not any(text in said[-1] for text in ("no proper instance", "NotFound"))

    with contextlib.suppress(TimeoutError):
        wait_until(has_answered, "an answer", seconds=30)
    return said[-1].replace("'", '"')
