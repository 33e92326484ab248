"""A package, extracted and installed as the daemon does it: the same commands, in its bare environment.

Source: `internal/core/local_runtime/setup_python_environment.go` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Generator
from pathlib import Path
from typing import Literal

from dify_plugin_host._errors import InstallError

from ._archive import Archive
from ._identity import identifier_of, validate_identifier
from ._uv import UvError, run_program, run_uv, search_path


type Route = Literal["uv.lock", "requirements.txt"]
"""What the dependencies come from: the lock, or where an operator names a mirror, the plain list."""

ROUTES: tuple[Route, ...] = ("uv.lock", "requirements.txt")

_COMMANDS: dict[Route, tuple[str, ...]] = {
    "uv.lock": ("sync", "--no-dev", "--frozen"),
    "requirements.txt": ("pip", "install", "-r", "requirements.txt"),
}
_MARK = Path(".venv", "dify", "plugin.json")
# Of its own environment the daemon hands these to uv, and nothing else: no HOME, no setting of uv.
_HANDED_ON = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
)


def install(folder: Path, *, route: Route = "uv.lock", cache: Path | None = None) -> None:
    """Install the dependencies of an extracted package into its `.venv`.

    Args:
        folder: The package's files; must lie outside of every workspace.
        route: What to install from.
        cache: uv's cache; by default the one in this host's state folder.

    Raises:
        InstallError: If a step fails.
    """
    environment = _bare_environment(folder, cache or state_folder() / ".uv-cache")
    try:
        run_uv("venv", ".venv", "--python", "3.12", cwd=folder, environment=environment)
        run_uv(*_COMMANDS[route], cwd=folder, environment=environment)
    except UvError as error:
        raise InstallError(str(error)) from None
    python = str(folder / ".venv" / "bin" / "python")
    # What does not compile is no reason for the daemon to stop.
    compiling = ("-m", "compileall", "-q", "-x", r"\.venv|\.uv-cache", ".")
    run_program(python, *compiling, cwd=folder, environment=environment)
    imported = run_program(python, "-c", "import dify_plugin", cwd=folder, environment=environment)
    if imported.returncode:
        last_line = imported.stderr.strip().rpartition("\n")[2]
        raise InstallError(f"`import dify_plugin` failed: {last_line}")
    (folder / _MARK).parent.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).write_text(json.dumps({"timestamp": int(time.time())}), encoding="utf-8")


def installed(package: Path, state: Path | None = None) -> Path:
    """Return the folder of an installed package; install it unless exactly this content already is.

    Args:
        package: The package.
        state: Where installed packages lie; by default this host's state folder.

    Raises:
        ContentError: If its manifest cannot be read.
        PackageError: If the file is no package, or author, name and version make no identifier.
        InstallError: If its dependencies cannot be installed.
    """
    archive = Archive.read(package)
    state = state or state_folder()
    identifier = identifier_of(archive)
    validate_identifier(package, identifier)
    author, _, name = identifier.replace(":", "-").partition("/")
    folder = state / "plugins" / author / name
    with _locked(state):
        if not (folder / _MARK).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            archive.extract(folder)
            install(folder, cache=state / ".uv-cache")
    return folder


def state_folder() -> Path:
    """Return where this host keeps what it installs, outside of every repository."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "dify-host"


def _bare_environment(folder: Path, cache: Path) -> dict[str, str]:
    handed_on = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    return {
        "VIRTUAL_ENV": str(folder / ".venv"),
        "PATH": search_path(),
        "UV_CACHE_DIR": str(cache),
        **handed_on,
    }


@contextlib.contextmanager
def _locked(state: Path) -> Generator[None]:
    """Keep two hosts from installing at the same time."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
