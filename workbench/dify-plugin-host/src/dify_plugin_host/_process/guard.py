"""A small program that makes its process end with the host, and then becomes the plugin.

It is run as a script with the host's pid and the plugin's command line. A function between fork and exec would do the same, but
is unsafe in a process that has threads.
"""

import ctypes
import os
import sys


_PR_SET_PDEATHSIG = 1
# The module `signal` would take half as long as all else here, before each start of a plugin.
_SIGKILL = 9


def main(
    host_pid: int, command: list[str]
) -> None:  # pragma: no cover - runs in the plugin's process
    """Make this process end with the host, then become `command`."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != host_pid:  # the host died before the line above took effect
        sys.exit(1)
    os.execv(command[0], command)  # noqa: S606 - the command line comes from the host itself


if __name__ == "__main__":  # pragma: no cover - runs in the plugin's process
    main(int(sys.argv[1]), sys.argv[2:])
