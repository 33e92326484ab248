"""A package file as where a plugin comes from: once it is written anew, what is in it is installed anew."""

from collections.abc import Sequence
from pathlib import Path

from dify_plugin_host._plugin.source import stamp
from dify_plugin_packager.plugin import PluginFolder

from ._install import installed
from ._install_settings import InstallSettings


class PackageSource:
    """A package that somebody may write anew.

    Args:
        path: The package.
        settings: How it is installed; by default as this process's environment says.

    Raises:
        PluginHostError: If it is no package, cannot be installed, or is no plugin.
    """

    def __init__(self, path: Path, *, settings: InstallSettings | None = None) -> None:
        self._path = path
        self._settings = settings
        self._stamp = stamp(path)
        self.folder = self.read()

    def find_changes(self) -> Sequence[str]:
        """Return the file's name if it has changed since this was last asked."""
        before, self._stamp = self._stamp, stamp(self._path)
        return () if before == self._stamp else (self._path.name,)

    def read(self) -> PluginFolder:
        """Install the package as it is now.

        Raises:
            PluginHostError: If it is no package, cannot be installed, or is no plugin.
        """
        self.folder = PluginFolder.read(installed(self._path, settings=self._settings))
        return self.folder
