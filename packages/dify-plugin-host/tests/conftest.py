import json
import shutil
import textwrap
from pathlib import Path

import pytest


WIRE = Path(__file__).parent / "plugins" / "wire.py"

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
    for name in ("echo_model", "small_agent"):
        shutil.copytree(WIRE.parent / name, tmp_path / "plugins" / name)
        shutil.copy(WIRE, tmp_path / "plugins" / name)
    return tmp_path / "plugins"
