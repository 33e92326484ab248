"""The guard, a process that ends a run whose runner was killed."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from . import sweep


class Guard:
    """A small process beside each run, which ends the run's processes and deletes its folder if the runner is killed.

    A killed runner cannot do that itself, but its death closes the pipe that the guard reads, and that wakes the guard.
    """

    def __init__(self, marker: str, scratch: Path) -> None:
        # Isolated and without site-packages, so that it starts in a few milliseconds whatever is installed.
        self._process = subprocess.Popen(  # noqa: S603 - our own file
            [sys.executable, "-I", "-S", sweep.__file__, marker, str(scratch)],
            cwd="/",
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # So that it survives signals to the runner's group, such as Ctrl-C on a terminal.
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        """Tell the guard which process group to end; on systems other than Linux it can find nothing else."""
        assert self._process.stdin is not None  # noqa: S101 - opened above
        with suppress(OSError):
            self._process.stdin.write(str(group).encode())
            self._process.stdin.flush()

    def dismiss(self) -> None:
        """End the guard, so that it does not act."""
        # Killed before the pipe is closed: the closed pipe would wake it, and it would act.
        with self._process:
            self._process.kill()
