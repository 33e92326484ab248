import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def loaded():
    """The modules that are there after the driver was imported in a process of its own."""
    program = "import agent_driver, sys; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize(
    "unwanted",
    ["pydantic", "jsonschema", "mcp", "sqlite3", "http.client", "httpx", "httpx2", "openai"],
)
def test_importing_the_driver_loads_nothing_that_a_run_may_not_need(loaded, unwanted):
    assert "agent_driver" in loaded
    assert unwanted not in loaded
