"""Installation of a package in the way of the daemon, with the same commands and rules; a package that is written anew is installed anew.

Source: `internal/core/local_runtime/setup_python_environment.go` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from dify_plugin_host._errors import InstallError, PluginHostError
from dify_plugin_host._plugin.source import stamp
from dify_plugin_packager.declarations import PluginFolder
from dify_plugin_packager.packaging import (
    Archive,
    identifier_of,
    run_program,
    run_uv,
    search_path,
    validate_identifier,
)
from stream_text import redact_text

from ._install_settings import InstallSettings, Route


_MARK = Path(".venv", "dify", "plugin.json")
# The daemon starts a Python for each of the two.
_WARM_UP = r"""
import compileall, re
compileall.compile_dir(".", quiet=1, rx=re.compile(r"\.venv|\.uv-cache"))
import dify_plugin
"""


def install(
    folder: Path,
    *,
    route: Route = "uv.lock",
    settings: InstallSettings | None = None,
    cache: Path | None = None,
) -> None:
    """Install the dependencies of an extracted package into its `.venv`.

    Args:
        folder: The package's files; must be outside of every workspace.
        route: The file to install from, without `settings`.
        settings: The settings; those of an untouched daemon by default.
        cache: uv's cache; by default the one in this host's state folder.

    Raises:
        InstallError: If a step fails.
    """
    settings = settings or InstallSettings(route=route, is_bare=True)
    # What is begun in the folder takes its paths from there.
    folder = folder.absolute()
    cache = (cache or state_folder() / ".uv-cache").absolute()
    environment = {
        "VIRTUAL_ENV": str(folder / ".venv"),
        "PATH": search_path(),
        "UV_CACHE_DIR": str(cache),
        **settings.handed_on(os.environ),
    }
    try:
        arguments = settings.arguments(folder)
        # Python is looked for with the whole environment, because without HOME uv finds only those on
        # PATH.
        creating = {**os.environ, **environment}
        run_uv("venv", ".venv", "--python", "3.12", cwd=folder, environment=creating)
        run_uv(*arguments, cwd=folder, environment=environment)
    except PluginHostError as error:
        raise InstallError(redact_text(str(error))) from None
    # The daemon does not fail over files that do not compile or an SDK that cannot be imported.
    python = str(folder / ".venv" / "bin" / "python")
    run_program(python, "-c", _WARM_UP, cwd=folder, environment=environment)
    # Last, because a folder without the mark was not installed to the end.
    (folder / _MARK).parent.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).write_text(json.dumps({"timestamp": int(time.time())}), encoding="utf-8")


def installed(
    package: Path, *, settings: InstallSettings | None = None, state: Path | None = None
) -> Path:
    """Return the folder of an installed package; install it unless the same content is already installed in the same way.

    Args:
        package: The package.
        settings: The settings; those in this process's environment by default.
        state: The folder for installed packages; this host's state folder by default.

    Raises:
        ContentError: If its manifest cannot be read.
        PackageError: If the file is not a package, or author, name and version do not make an identifier.
        InstallError: If its dependencies cannot be installed.
    """
    archive = Archive.read(package)
    settings = settings or InstallSettings.from_environment(os.environ)
    state = (state or state_folder()).absolute()
    identifier = identifier_of(archive)
    validate_identifier(package, identifier)
    author, _, name = identifier.replace(":", "-").partition("/")
    folder = state / settings.folder_name / author / name
    _install_once(folder, archive.extract, settings=settings, state=state)
    return folder


def install_sdk(version: str) -> Path:
    """Return the Python of an environment with a release of the plugin SDK alone; install it unless it is there.

    Raises:
        InstallError: If it cannot be installed.
    """
    settings = InstallSettings.from_environment(os.environ, route="requirements.txt")
    folder = state_folder() / "sdk" / settings.folder_name / version

    def ask_for_it(folder: Path) -> None:
        folder.mkdir(parents=True)
        requirement = f"dify-plugin=={version}\n"
        (folder / "requirements.txt").write_text(requirement, encoding="utf-8")

    _install_once(folder, ask_for_it, settings=settings, state=state_folder())
    return folder / ".venv" / "bin" / "python"


def _install_once(
    folder: Path, fill: Callable[[Path], None], *, settings: InstallSettings, state: Path
) -> None:
    """Fill a folder and install its dependencies, unless that was done to the end before."""
    with _locked(state):
        if not (folder / _MARK).is_file():
            # Left by an installation that did not come to its end.
            shutil.rmtree(folder, ignore_errors=True)
            fill(folder)
            install(folder, settings=settings, cache=state / ".uv-cache")


class PackageSource:
    """A package that somebody may write anew.

    Args:
        path: The package.
        settings: The settings; those in this process's environment by default.

    Raises:
        PluginHostError: If it is not a package, cannot be installed, or is not a plugin.
    """

    def __init__(self, path: Path, *, settings: InstallSettings | None = None) -> None:
        self._path = path
        self._settings = settings
        self._stamp = stamp(path)
        self.folder = self.read()

    def find_changes(self) -> Sequence[str]:
        """Return the file's name if it has changed since the last call."""
        before, self._stamp = self._stamp, stamp(self._path)
        return () if before == self._stamp else (self._path.name,)

    def read(self) -> PluginFolder:
        """Install the package as it is now.

        Raises:
            PluginHostError: If it is not a package, cannot be installed, or is not a plugin.
        """
        self.folder = PluginFolder.read(installed(self._path, settings=self._settings))
        return self.folder


def state_folder() -> Path:
    """Return the folder for installed packages, outside of every repository."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return (Path(home) / "dify-host").absolute()


@contextlib.contextmanager
def _locked(state: Path) -> Generator[None]:
    """Hold a lock, so that two hosts do not install at the same time."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
