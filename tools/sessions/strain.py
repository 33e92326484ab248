"""Run a command while the machine is unkind to it: `python strain.py stops|busy|others COMMAND`.

A test that waits for a clock passes until a machine is slow in the wrong instant. Here that instant is brought about: by `stops` each
process of the command is stopped now and then for up to some seconds and resumed, by `busy` four others take the processors. By `others`
the machine is somebody else's: variables are set that other programs take, and temporary files lie in a folder with a blank in its name.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil


_LOOK_SECONDS = 0.5
# Of each process, at each look: so it stands still for about a quarter of its time.
_STOP_CHANCE = 0.1
# Short ones part what usually follows at once, long ones outlast timeouts; but not the five seconds that plugins give an address.
_STOPS_SECONDS = (0.05, 0.5, 2.0, 4.0)
_BUSY_PROCESSES = 4
_OF_OTHERS = {
    "CI": "true",
    "COLUMNS": "60",
    "DEBUG": "1",
    "DIFY_HOST_API_KEY": "of-others",
    "FORCE_COLOR": "1",
    "GITHUB_ACTIONS": "true",
    "HOST": "0.0.0.0",  # noqa: S104 - nobody listens there
    "LC_ALL": "C",
    "LOG_LEVEL": "DEBUG",
    "OPENAI_API_KEY": "sk-of-others",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    "OTEL_SERVICE_NAME": "of-others",
    "PORT": "1",
    "TZ": "America/St_Johns",
}


class Stopper:
    """Stops and resumes what runs below a process."""

    def __init__(self, above: psutil.Process) -> None:
        self._above = above
        self._resume_at: dict[psutil.Process, float] = {}

    def look(self) -> None:
        """Resume those whose time has come, and stop some others."""
        now = time.monotonic()
        for process in [each for each, due in self._resume_at.items() if due <= now]:
            self._resume(process)
        for process in self._above.children(recursive=True):
            if process not in self._resume_at and random.random() < _STOP_CHANCE:
                # One that a test has stopped itself is that test's to resume.
                with suppress(psutil.Error):
                    if process.status() != psutil.STATUS_STOPPED:
                        process.suspend()
                        self._resume_at[process] = now + random.choice(_STOPS_SECONDS)

    def resume_all(self) -> None:
        """Resume all that are stopped."""
        for process in list(self._resume_at):
            self._resume(process)

    def _resume(self, process: psutil.Process) -> None:
        del self._resume_at[process]
        with suppress(psutil.Error):
            process.resume()


@contextmanager
def stops(above: psutil.Process) -> Iterator[Callable[[], None]]:
    """Stop and resume the processes below one at random at each look."""
    stopper = Stopper(above)
    try:
        yield stopper.look
    finally:
        stopper.resume_all()


@contextmanager
def busy(_above: psutil.Process) -> Iterator[Callable[[], None]]:
    """Keep the processors busy beside a process."""
    with ExitStack() as stack:
        for _ in range(_BUSY_PROCESSES):
            process = stack.enter_context(
                subprocess.Popen([sys.executable, "-c", "while True: pass"])
            )
            stack.callback(process.kill)
        yield lambda: None


@contextmanager
def others() -> Iterator[dict[str, str]]:
    """Yield an environment that others have filled."""
    with tempfile.TemporaryDirectory(prefix="a folder ") as folder:
        yield {**os.environ, **_OF_OTHERS, "TMPDIR": folder}


def main(strain: str, *command: str) -> int:
    """Run a command under a strain and return its exit code."""
    if strain == "others":
        with others() as environment:
            return subprocess.run(command, env=environment, check=False).returncode
    with subprocess.Popen(command) as process:
        with {"stops": stops, "busy": busy}[strain](psutil.Process(process.pid)) as look:
            while process.poll() is None:
                look()
                time.sleep(_LOOK_SECONDS)
        return process.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
