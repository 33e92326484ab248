"""A module that runs as a process beside a benchmark: its first line is its address, and it answers each line with figures in JSON."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ._table import Figures


class Beside:
    """The process.

    Attributes:
        base_url: The address under which it is asked like a server of models.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None  # noqa: S101 - a pipe was asked for
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        self._asked, self._told = process.stdin, process.stdout
        self.base_url = self._told.readline().strip()

    def report(self) -> Figures:
        """Return the figures of what came since the last time."""
        self._asked.write("\n")
        self._asked.flush()
        figures: Any = json.loads(self._told.readline())
        return figures


@contextmanager
def beside(module: str, *arguments: object) -> Generator[Beside]:
    """Run a module of this folder while the `with` block runs."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with subprocess.Popen(  # noqa: S603 - our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Beside(process)
        finally:
            process.terminate()
