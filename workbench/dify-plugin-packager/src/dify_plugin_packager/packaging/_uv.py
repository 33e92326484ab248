"""uv as a command: the one that is installed beside this package, so that the lock decides about its version."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import uv

from dify_plugin_packager._errors import DifyPluginError


# 1980-01-01, the first date that a zip file can hold.
_SOURCE_DATE_EPOCH = "315532800"
_SHOWN_LINES = 12
_TIMEOUT_SECONDS = 600.0  # the daemon's own limit for an installation


class UvError(DifyPluginError):
    """A uv command that failed, with its last words."""

    def __init__(self, command: str, output: str) -> None:
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        super().__init__(f"`{command}` failed: {'; '.join(lines[-_SHOWN_LINES:])}")


def run_uv(
    *arguments: str, cwd: Path, environment: Mapping[str, str], program: str | None = None
) -> str:
    """Run uv, ours or another one, and return what it writes to stdout.

    Raises:
        UvError: If it fails.
    """
    done = run_program(program or uv.find_uv_bin(), *arguments, cwd=cwd, environment=environment)
    if done.returncode:
        raise UvError(" ".join(["uv", *arguments]), done.stderr or done.stdout)
    return done.stdout


def run_program(
    *command: str, cwd: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and capture its output; one that hangs is killed.

    Raises:
        DifyPluginError: If it takes longer than the daemon allows for an installation.
    """
    try:
        return subprocess.run(  # noqa: S603 - programs that we choose
            command,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:  # pragma: no cover - would take minutes
        raise DifyPluginError(
            f"`{' '.join(command)}` took longer than {_TIMEOUT_SECONDS:g} s"
        ) from None


def neutral_environment() -> dict[str, str]:
    """Return this process's environment without the variables that make uv's results depend on the machine."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "UV_CACHE_DIR" or not name.startswith(("UV_", "PIP_", "VIRTUAL_ENV", "PYTHON"))
    }
    return {**kept, "PATH": search_path(), "SOURCE_DATE_EPOCH": _SOURCE_DATE_EPOCH}


def search_path() -> str:
    """Return PATH with the base Python of this process in front, where uv finds it.

    The environment's own `bin` would not do: uv makes no environment from another one.
    """
    return os.pathsep.join([str(Path(sys.base_prefix) / "bin"), os.environ.get("PATH", os.defpath)])
