"""The source of a plugin, which may change while the plugin runs."""

import contextlib
import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from dify_plugin_packager.declarations import PluginFolder


# Names that are not part of a plugin: caches, logs, editors' temporary files, and all that begin
# with a dot, except `.env`, which the SDK reads.
_LEFT_OUT = re.compile(
    r"__pycache__|node_modules|logs|.*\.(log|pyc|tmp|difypkg)|.*~|\.(?!env$).*", re.DOTALL
)
_ENVIRONMENT = ".venv"

type Stamps = dict[str, object]


class PluginSource(Protocol):
    """The source of a plugin, whose contents may change."""

    @property
    def folder(self) -> PluginFolder:
        """The plugin as it was last read."""
        ...

    def find_changes(self) -> Sequence[str]:
        """Return the names of the files that have changed since the last call."""
        ...

    def read(self) -> PluginFolder:
        """Read the plugin as it is now.

        Raises:
            PluginHostError: If it cannot be started as it is.
        """
        ...


class FolderSource:
    """A plugin folder that somebody is working on.

    Args:
        path: The folder.

    Raises:
        PluginFolderError: If it is not a plugin.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path).absolute()
        # Before it is read, so that a change meanwhile counts as one.
        self._stamps = _stamps(self._path)
        self.folder = PluginFolder.read(self._path)

    def find_changes(self) -> Sequence[str]:
        """Return the paths of the files that were changed, added or removed since the last call."""
        # Forgotten at once, so that a change that cannot be used is reported only once.
        before, self._stamps = self._stamps, _stamps(self._path)
        paths = before.keys() | self._stamps.keys()
        changed = sorted(path for path in paths if before.get(path) != self._stamps.get(path))
        for path in changed:
            _drop_compiled(self._path / path)
        return changed

    def read(self) -> PluginFolder:
        """Read the folder as it is now.

        Raises:
            PluginFolderError: If it is no longer a plugin.
        """
        self.folder = PluginFolder.read(self._path)
        return self.folder


def stamp(path: Path | str) -> object:
    """Return a value that changes whenever a file does; None if there is no such file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - takes a text, which saves making an object
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _stamps(folder: Path) -> Stamps:
    # For an environment the list of what is installed, and not its files, since Python adds some.
    installed = folder.glob(f"{_ENVIRONMENT}/lib/python*/site-packages/*.dist-info")
    return {**dict(_walk(str(folder), "")), _ENVIRONMENT: sorted(path.name for path in installed)}


def _walk(folder: str, prefix: str) -> Iterator[tuple[str, object]]:
    """Yield path and stamp of each file of a plugin, quickly, because every call of the plugin waits for it."""
    # A folder that is gone by now has no files.
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if _LEFT_OUT.fullmatch(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path, f"{prefix}{entry.name}/")
            else:
                yield prefix + entry.name, stamp(entry.path)


def _drop_compiled(path: Path) -> None:
    """Remove Python's compiled file: of two versions from the same second with the same size, Python would take the older one."""
    for compiled in path.parent.glob(f"__pycache__/{glob.escape(path.stem)}.*.pyc"):
        compiled.unlink(missing_ok=True)
