"""`dify-host debug --dify` beside an installed plugin, on the real daemon.

Up to 0.6.0 a daemon lists plugins that are debugged under the workspace's id; models, and calls, have the author that the host has given them in all.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from client import DaemonClient
from servers import SERVER_KEY, free_port, wait_until


PLUGIN = Path(__file__).parents[2] / "plugins" / "openai_gpt5_responses"
INSTALLED = "gpt5-agent/openai_gpt5_responses"
DEBUGGED = INSTALLED.replace("/", "-debug/")


@pytest.fixture
def workspace(start_daemon, packages):
    """A tenant in which the model plugin is installed, and the address at which plugins are debugged."""
    port = free_port()
    settings = {"ENABLED": "true", "HOST": "127.0.0.1", "PORT": str(port)}
    limits = {"MAX_CONN": "9", "MAX_SINGLE_TENANT_CONN": "9"}
    named = {
        f"PLUGIN_REMOTE_INSTALLING_{name}": value for name, value in (settings | limits).items()
    }
    with start_daemon(**named, PLUGIN_REMOTE_INSTALL_SERVER_EVENT_LOOP_NUMS="1") as daemon:
        client = DaemonClient(daemon.base_url, SERVER_KEY)
        client.install(packages[0])
        yield client, f"127.0.0.1:{port}"


@contextlib.contextmanager
def debugging(address, key):
    """Debug the model plugin while the block runs."""
    command = [Path(sys.executable).with_name("dify-host"), "debug", PLUGIN, "--dify", address]
    environment = os.environ | {"REMOTE_INSTALL_KEY": key}
    with subprocess.Popen([*command, "--port", "0"], env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()


def models(client):
    """Return the ids of the plugins whose models are listed."""
    return {one["plugin_id"] for one in client.manage("GET", "models?page=1&page_size=9")}


def schema(client, plugin):
    """Ask a plugin for a model's schema; return the model's name."""
    data = {
        "provider": "openai_gpt5_responses",
        "model_type": "llm",
        "model": "gpt-5.2",
        "credentials": {},
    }
    [answer] = client.call(plugin, "model/schema", data)
    return answer["model_schema"]["model"]


def test_a_plugin_is_debugged_beside_the_installed_one(workspace):
    client, address = workspace
    with debugging(address, client.debugging_key()):
        wait_until(lambda: models(client) == {INSTALLED, DEBUGGED}, "the debugged plugin")
        assert {schema(client, INSTALLED), schema(client, DEBUGGED)} == {"gpt-5.2"}
    wait_until(lambda: models(client) == {INSTALLED}, "the end of the debugging")
    assert schema(client, INSTALLED) == "gpt-5.2"


def test_a_wrong_key_is_refused_with_the_daemons_words(workspace):
    _, address = workspace
    with debugging(address, "wrong") as process:
        assert process.wait(timeout=60) == 1
