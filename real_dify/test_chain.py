"""The tests of the chain hold on the real daemon too: dify-agent, plugins of models and tools, the simulator."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from servers import SERVER_KEY


ROOT = Path(__file__).parents[1]
TOOL_PLUGIN = ROOT / "packages/dify-plugin-host/tests/plugins/demo_tools"


def test_the_chain_works_on_the_real_daemon(daemon, client, binaries, tmp_path):
    for name in ("demo_tools", "more_tools"):
        client.install(official_package(binaries, tmp_path / name))
    given = {"base_url": daemon.base_url, "api_key": SERVER_KEY, "tenant": client.tenant}
    tests = ["-m", "pytest", "-q", "--import-mode=importlib", "-o", "pythonpath=chain", "chain"]
    run = subprocess.run(
        [sys.executable, *tests],
        cwd=ROOT,
        env={**os.environ, "CHAIN_DAEMON": json.dumps(given)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-5000:]


def official_package(binaries, folder):
    """Pack the demonstration tools under the name of `folder`, as the official command line does."""
    shutil.copytree(TOOL_PLUGIN, folder, ignore=shutil.ignore_patterns("__pycache__", ".venv"))
    manifest = folder / "manifest.yaml"
    values = yaml.safe_load(manifest.read_text())
    manifest.write_text(yaml.safe_dump({**values, "name": folder.name}))
    package = folder.with_suffix(".difypkg")
    pack = [binaries / "commandline", "plugin", "package", folder, "-o", package]
    subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
    return package
