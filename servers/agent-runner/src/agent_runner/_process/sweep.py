"""Finding processes of a run that have left its process group.

Run as a script, with the marker and the run's folder as its arguments, this file is the guard of a run: see `guard.py`.
It must not import anything of this package.
"""

import sys


# The end of the runner, which alone holds the other end of a guard's stdin. Waited for before anything is loaded: there is
# a guard to each run, and nearly none ever has more to do. Empty if the runner died before it could name the group.
_GROUP = sys.stdin.buffer.read() if __name__ == "__main__" else b""

import os  # noqa: E402
import signal  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from contextlib import suppress  # noqa: E402
from pathlib import Path  # noqa: E402


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
    # Not by a pattern, which takes four times as long, and the event loop waits.
    for path in _PROCESSES.iterdir() if _PROCESSES.exists() else ():
        # Processes may end meanwhile, and those of other users cannot be read.
        with suppress(OSError):
            if path.name.isdecimal() and not markers.isdisjoint(
                (path / "environ").read_bytes().split(b"\0")
            ):
                yield int(path.name)


if __name__ == "__main__":  # pragma: no cover - in a process of its own, which imports nothing
    import shutil

    if _GROUP:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(int(_GROUP), signal.SIGKILL)
    kill_marked(sys.argv[1])
    shutil.rmtree(sys.argv[2], ignore_errors=True)
