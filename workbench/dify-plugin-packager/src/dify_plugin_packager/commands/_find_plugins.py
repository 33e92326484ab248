"""Search for plugin folders, by their names or by the folder around them."""

from collections.abc import Sequence
from pathlib import Path

from dify_plugin_packager._errors import PluginFolderError


_NAME_THEM = "name the plugins by their folders instead"


def find_folders(names: Sequence[str], *, start: Path) -> list[Path]:
    """Return plugin folders.

    Args:
        names: Folders, or names of folders in the `plugins` folder of `start` or of a parent; empty means `start` if it
            is a plugin, else all in that folder.
        start: The folder to search from.

    Raises:
        PluginFolderError: If there is no such folder, or no plugin at all.
    """
    if names:
        return [_named(name, start=start) for name in names]
    if (start / "manifest.yaml").is_file():
        return [start]
    folder = find_plugins_folder(start, otherwise=_NAME_THEM)
    found = [path.parent for path in sorted(folder.glob("*/manifest.yaml"))]
    if not found:
        raise PluginFolderError(folder, "contains no plugin (no folder with a manifest.yaml)")
    return found


def find_plugins_folder(start: Path, *, otherwise: str) -> Path:
    """Return the folder `plugins` that lies in `start` or the nearest of its parents.

    Raises:
        PluginFolderError: If there is none; the text ends with `otherwise`, a hint at an alternative.
    """
    for folder in (start, *start.parents):
        if (folder / "plugins").is_dir():
            return folder / "plugins"
    problem = f"expected a folder 'plugins' here or in a parent folder; {otherwise}"
    raise PluginFolderError(start, problem)


def _named(name: str, *, start: Path) -> Path:
    folder = start / name
    return folder if folder.is_dir() else find_plugins_folder(start, otherwise=_NAME_THEM) / name
