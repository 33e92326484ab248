"""The tests of the chain hold on the real daemon too: dify-agent, plugins of models and tools, the simulator."""

import json
import os
import subprocess
import sys
from pathlib import Path

from official import official_package
from servers import SERVER_KEY


ROOT = Path(__file__).parents[2]
_PATHS = "pythonpath=checks/chain workbench/dify-plugin-host/tests/exchanges"
TOOL_PLUGIN = ROOT / "workbench/dify-plugin-host/tests/plugins/demo_tools"


def test_the_chain_works_on_the_real_daemon(daemon, client, programs, tmp_path):
    for name in ("demo_tools", "more_tools"):
        client.install(official_package(programs, TOOL_PLUGIN, tmp_path, name))
    given = {"base_url": daemon.base_url, "api_key": SERVER_KEY, "tenant": client.tenant}
    tests = ["-m", "pytest", "-q", "--import-mode=importlib", "-o", _PATHS]
    run = subprocess.run(
        [sys.executable, *tests, "checks/chain/test_chain.py", "checks/chain/test_agent_files.py"],
        cwd=ROOT,
        env={**os.environ, "CHAIN_DAEMON": json.dumps(given)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-5000:]
