import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


TESTS = Path(__file__).parent
WIRE = TESTS / "plugins" / "wire.py"
PLUGINS = ("echo_model", "small_agent")

MANIFEST = {
    "version": "0.0.1",
    "type": "plugin",
    "author": "tests",
    "name": "scripted",
    "resource": {"memory": 1048576, "permission": {}},
    "plugins": {"models": []},
    "meta": {"version": "0.0.1", "runner": {"language": "python", "entrypoint": "main"}},
}


@pytest.fixture
def make_plugin(tmp_path):
    """Write a plugin folder whose `main.py` is the given script; `wire` is at hand in it."""

    def make(script, **manifest):
        name = manifest.get("name", MANIFEST["name"])
        folder = tmp_path / "plugins" / name
        folder.mkdir(parents=True)
        shutil.copy(WIRE, folder / "wire.py")
        (folder / "main.py").write_text("import os, sys, time, wire\n" + textwrap.dedent(script))
        (folder / "manifest.yaml").write_text(json.dumps({**MANIFEST, **manifest}))
        return folder

    return make


@pytest.fixture
def echo(make_plugin):
    return make_plugin(
        """
        wire.ready()
        for request in wire.requests():
            wire.stream(request, request["data"])
            wire.end(request)
        """
    )


@pytest.fixture
def plugins(tmp_path):
    """Lay out a `plugins` folder with the model plugin and the agent plugin of these tests."""
    return lay_out_plugins(tmp_path / "plugins")


def lay_out_plugins(folder):
    for name in PLUGINS:
        shutil.copytree(TESTS / "plugins" / name, folder / name)
        shutil.copy(WIRE, folder / name)
    return folder


@pytest.fixture
def workshop(tmp_path):
    """Lay out a workspace with three packages, and the plugins of these tests, which need them all."""
    return lay_out_workshop(tmp_path / "workshop")


def lay_out_workshop(root):
    shutil.copytree(TESTS / "workshop", root)
    lay_out_plugins(root / "plugins")
    (root / "plugins/echo_model/models/llm/_position.yaml").write_text("[echo-2, echo-1]")
    return root


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """Package both plugins of the workshop; return the folder with `echo_model` and `small_agent`, each a .difypkg."""
    root = lay_out_workshop(tmp_path_factory.mktemp("packages") / "workshop")
    command = [Path(sys.executable).with_name("dify-host"), "package"]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    for path in (root / "dist").iterdir():
        path.rename(path.with_name(path.name.replace("-0.0.1", "")))
    return root / "dist"
