import importlib.metadata
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from dify_plugin_packager import build_package


# What whoever runs the tests has git sign and ignore.
os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

# Plugins and a workspace that the host's tests have, too.
SHARED = Path(__file__).parents[2] / "dify-plugin-host" / "tests"
PLUGINS = ("echo_model", "small_agent")
CACHES = shutil.ignore_patterns("__pycache__")  # of the host's tests
MANIFEST = {
    "version": "0.0.1",
    "author": "tests",
    "name": "scripted",
    "plugins": {"models": []},
    "meta": {"runner": {"language": "python", "entrypoint": "main"}},
}


@pytest.fixture
def packager(monkeypatch, capsys):
    """Run the installed command in this process; return exit code, stdout and stderr."""
    (command,) = importlib.metadata.entry_points(
        group="console_scripts", name="dify-plugin-packager"
    )

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dify-plugin-packager", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            command.load()()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


@pytest.fixture
def workshop(tmp_path):
    """Lay out a workspace with three packages, and plugins which need them all."""
    return lay_out_workshop(tmp_path / "workshop")


def lay_out_workshop(root):
    shutil.copytree(SHARED / "workshop", root)
    for name in PLUGINS:
        shutil.copytree(SHARED / "plugins" / name, root / "plugins" / name, ignore=CACHES)
        shutil.copy(SHARED / "plugins" / "wire.py", root / "plugins" / name)
    (root / "plugins/echo_model/models/llm/_position.yaml").write_text("[echo-2, echo-1]")
    return root


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """Package both plugins of the workshop; return the folder with `echo_model` and `small_agent`, each a .difypkg."""
    root = lay_out_workshop(tmp_path_factory.mktemp("packages") / "workshop")
    for name in PLUGINS:
        build_package(root / "plugins" / name, root / "dist" / f"{name}.difypkg")
    return root / "dist"


@pytest.fixture
def plugin_folder(tmp_path):
    """Write a plugin folder with this in its manifest; return it."""

    def write(**manifest):
        folder = tmp_path / "scripted"
        folder.mkdir()
        (folder / "manifest.yaml").write_text(json.dumps({**MANIFEST, **manifest}))
        return folder

    return write
