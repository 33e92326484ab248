import os
import pty
import subprocess
import tempfile
import termios

import pytest


@pytest.fixture
def run_command(preloaded):
    """Return a function that runs the command and returns what it wrote and its exit code."""

    def run(*arguments, stdin="", environment=None):
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as stdout,
            tempfile.TemporaryFile() as stderr,
        ):
            given.write(stdin.encode("utf-8", "surrogateescape"))
            given.seek(0)
            files = [file.fileno() for file in (given, stdout, stderr)]
            code = preloaded.start(arguments, *files, environment=environment).wait()
            stdout.seek(0)
            stderr.seek(0)
            return subprocess.CompletedProcess(arguments, code, stdout.read(), stderr.read())

    return run


@pytest.fixture
def read_terminal():
    """Return a function that returns all that was written to a terminal, once nobody has its other end open any more."""
    return _read_terminal


def _read_terminal(ours):
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # how a terminal says that nobody writes any more
        pass
    os.close(ours)
    return shown


@pytest.fixture
def run_on_terminal(preloaded):
    """Return a function that runs an agent on a terminal and returns all that appeared there."""

    def run(folder, *options, columns=80, environment=None):
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, columns))
        process = preloaded.start(
            ["run", folder, "--input", "{}", *options],
            *(theirs, theirs, theirs),
            environment={"TERM": "xterm-256color"} | (environment or {}),
        )
        os.close(theirs)
        shown = _read_terminal(ours)
        assert process.wait() == 0
        return shown.decode()

    return run
