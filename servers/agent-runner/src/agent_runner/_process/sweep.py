"""Finding processes of a run that have left its process group.

Run as a script, with the marker and the run's folder as its arguments, this file is the guard of a run: see `guard.py`.
It must not import anything of this package.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


_PROCESSES = Path("/proc")
_ROUNDS = 20  # A process that forks as fast as it can must not keep us here for ever.


def kill_marked(*markers: str) -> None:
    """Kill every process that was started with one of the environment variables `markers`, each given as `NAME=value`.

    A process that was started with another environment is not found. Without `/proc`, none is.
    """
    for _ in range(_ROUNDS):  # pragma: no branch - more than one only against a fork bomb
        found = list(_marked({marker.encode() for marker in markers}))
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _marked(markers: set[bytes]) -> Iterator[int]:
    for path in _PROCESSES.glob("[0-9]*/environ"):
        # Processes may end meanwhile, and those of other users cannot be read.
        with suppress(OSError):
            if not markers.isdisjoint(path.read_bytes().split(b"\0")):
                yield int(path.parent.name)


def _guard(
    marker: str, scratch: str
) -> None:  # pragma: no cover - in a process of its own, which imports nothing
    """Wait for the end of the runner, which alone holds the other end of stdin; then clean up after it."""
    # Empty if the runner died before it could name the group.
    group = sys.stdin.buffer.read()
    if group:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(int(group), signal.SIGKILL)
    kill_marked(marker)
    import shutil  # noqa: PLC0415 - only needed at the end, and slow to load

    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":  # pragma: no cover - as above
    _guard(sys.argv[1], sys.argv[2])
