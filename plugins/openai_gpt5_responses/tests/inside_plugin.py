"""Running a piece of Python where the plugin's modules live: the SDK patches the process that imports it, so it gets one of its own."""

import json
import os
import subprocess
import sys
from typing import Any

from model_plugin import PLUGIN


def run_inside(code: str, **environment: str) -> Any:
    """Run `code` with the plugin's folder as its own, and return the JSON value that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PLUGIN,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
