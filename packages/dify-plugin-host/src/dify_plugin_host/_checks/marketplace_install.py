"""The marketplace's test of a package: pip installs it from another folder, and it serves HTTP, as in Dify's cloud.

Source: `.github/workflows/pre-check-plugin-sandbox.yaml` of langgenius/dify-plugins at 53a5341e and `validator/test-plugin-install.py` of
langgenius/dify-marketplace-toolkit at 94a5a31, read 2026-11.
"""

import asyncio
import http.client
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from dify_plugin_host._errors import InstallError, PluginHostError
from dify_plugin_host._process.child import Child
from dify_plugin_packager.packaging import Archive, run_program, run_uv, search_path
from stream_text import redact_text


UNPACKED = "unpacked_plugin"

_PYTHON = Path(".venv", "bin", "python")
_START_SECONDS = 20.0  # as long as its script waits
_POLL_SECONDS = 0.1
_STOP_SECONDS = 5.0
_SHOWN_LINES = 6


def install_elsewhere(archive: Archive, folder: Path) -> None:
    """Unpack a package below `folder`, and install its requirements.txt with pip from `folder` itself.

    Raises:
        PackageError: If the archive cannot be unpacked.
        InstallError: If pip fails.
    """
    archive.extract(folder / UNPACKED)
    environment = _environment()
    try:
        creating = ("venv", "--quiet", "--no-config", "--python", "3.12", ".venv")
        run_uv(*creating, cwd=folder, environment=environment)
        # Our own pip, because one that has to be downloaded first would be one more thing to fail.
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(_PYTHON))
        requirements = f"{UNPACKED}/requirements.txt"
        command = (*pip, "install", "--quiet", "-r", requirements)
        done = run_program(*command, cwd=folder, environment=environment)
    except PluginHostError as error:
        raise InstallError(redact_text(str(error))) from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = "; ".join((lines or done.stderr.splitlines())[-_SHOWN_LINES:])
        raise InstallError(redact_text(f"`pip install -r {requirements}` failed: {reason}"))


def start_serverless(folder: Path) -> float:
    """Start the plugin that `install_elsewhere` installed in serverless form, and return the seconds until it answered.

    Raises:
        InstallError: If it ends before, or does not answer within the time that the marketplace waits.
    """
    return asyncio.run(_start(folder))


async def _start(folder: Path) -> float:
    port = _free_port()
    settings = {
        "INSTALL_METHOD": "serverless",
        "SERVERLESS_HOST": "127.0.0.1",
        "SERVERLESS_PORT": str(port),
    }
    command = (str(folder / _PYTHON), "-m", "main")
    environment = {**_environment(), **settings}
    child = await Child.start(command, cwd=folder / UNPACKED, environment=environment)
    # With a full pipe the plugin would stop before it answers.
    reading = asyncio.create_task(_drain(child))
    started = time.monotonic()
    try:
        while (taken := time.monotonic() - started) < _START_SECONDS and not reading.done():
            if await asyncio.to_thread(_answers, port):
                return taken
            await asyncio.sleep(_POLL_SECONDS)
        what = "ended" if reading.done() else f"did not answer within {_START_SECONDS:g} s"
        ending = redact_text(" ".join(child.stderr_tail.split()))
        raise InstallError(f"`python -m main` in serverless form {what}; it said: {ending}")
    finally:
        reading.cancel()
        await child.stop(_STOP_SECONDS)


async def _drain(child: Child) -> None:
    async for _ in child.read():
        pass


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_STOP_SECONDS)
    try:
        connection.request("GET", "/")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    else:
        return True
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def _environment() -> Mapping[str, str]:
    """Return this process's environment without the variables that select a Python environment."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VIRTUAL_ENV", "PYTHON", "UV_PROJECT"))
    }
    return {**kept, "PATH": search_path()}
