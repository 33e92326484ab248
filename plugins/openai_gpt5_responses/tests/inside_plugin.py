"""Running pieces of Python where the plugin's modules live: the SDK patches the process that imports it, so they get one of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from model_plugin import NO_CERTIFICATES, PLUGIN


# With timeouts that are no use.
_ENVIRONMENT = {
    "PYTHONPATH": str(PLUGIN),
    "INSTALL_METHOD": "local",
    "MAX_INVOCATION_TIMEOUT": "bad",
    "MAX_REQUEST_TIMEOUT": "10",
}


class InsidePlugin:
    """A process that has imported the plugin, and forks for each piece: importing takes seconds, and no piece sees another."""

    def __init__(self, folder: Path) -> None:
        self._output = folder / "output"
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "run_pieces.py"],
            cwd=PLUGIN,
            env=os.environ | NO_CERTIFICATES | _ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.communicate(timeout=600)

    def run(self, code: str, **environment: str) -> Any:
        """Run `code` with the plugin's folder as its own, and return the JSON value that it prints."""
        piece = {"code": code, "environment": environment, "output": str(self._output)}
        self._process.stdin.write(json.dumps(piece) + "\n")
        self._process.stdin.flush()
        exit_code = self._process.stdout.readline().strip()
        output = self._output.read_text(encoding="utf-8")
        assert exit_code == "0", output
        return json.loads(output)
