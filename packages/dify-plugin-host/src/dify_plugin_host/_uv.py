"""uv, run as a command: the one installed beside this package, so that one lock means one behaviour."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import uv

from ._errors import PluginHostError


# 1980-01-01, the first date that a zip file can hold.
_SOURCE_DATE_EPOCH = "315532800"
_SHOWN_LINES = 12


class UvError(PluginHostError):
    """Say what uv was asked for and with which words it failed."""

    def __init__(self, command: str, output: str) -> None:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        super().__init__(f"`{command}` failed: {'; '.join(lines[-_SHOWN_LINES:])}")


def run_uv(*arguments: str, cwd: Path, environment: Mapping[str, str]) -> str:
    """Run uv and return what it writes to stdout.

    Raises:
        UvError: If it fails.
    """
    done = subprocess.run(  # noqa: S603 - a fixed program with arguments of our own
        [uv.find_uv_bin(), *arguments],
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UvError(" ".join(["uv", *arguments]), done.stderr or done.stdout)
    return done.stdout


def neutral_environment() -> dict[str, str]:
    """Return this process's environment without what changes uv's answers from one machine to the next."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "UV_CACHE_DIR" or not name.startswith(("UV_", "PIP_", "VIRTUAL_ENV", "PYTHON"))
    }
    return {**kept, "PATH": search_path(), "SOURCE_DATE_EPOCH": _SOURCE_DATE_EPOCH}


def search_path() -> str:
    """Return PATH with this interpreter in front, for uv finds Python there."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
