"""Ending a run whose runner was killed."""

import subprocess
import sys
from contextlib import suppress

from . import sweep


class Guard:
    """A small process beside each run, which ends the run's processes once the runner is gone without a word.

    SIGKILL leaves the runner no word: but it closes the pipe that the guard reads, and that wakes it.
    """

    def __init__(self, marker: str) -> None:
        # Isolated and without site-packages: it starts in a few milliseconds, and nothing can get in its way.
        self._process = subprocess.Popen(  # noqa: S603 - our own file
            [sys.executable, "-I", "-S", sweep.__file__, marker],
            cwd="/",
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        """Tell the process group that is to end; elsewhere than on Linux only that can be found."""
        assert self._process.stdin is not None  # noqa: S101 - opened above
        with suppress(OSError):
            self._process.stdin.write(str(group).encode())
            self._process.stdin.flush()

    def dismiss(self) -> None:
        """Let it go before it can act; without a wait that anyone would notice."""
        with self._process:
            self._process.kill()
