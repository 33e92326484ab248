import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "unwanted",
    ["pydantic", "jsonschema", "mcp", "sqlite3", "http.client", "httpx", "httpx2", "openai"],
)
def test_importing_the_driver_loads_nothing_that_a_run_may_not_need(unwanted):
    program = f"import agent_driver, sys; sys.exit({unwanted!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
