"""Plugins, found by their folders, by the folder around them, or as packages."""

import os
from collections.abc import Iterable
from pathlib import Path

from dify_plugin_host._plugin.source import FolderSource, PluginSource
from dify_plugin_host.installation import InstallSettings, PackageSource
from dify_plugin_packager import PluginFolderError
from dify_plugin_packager.commands import find_plugins_folder
from dify_plugin_packager.packaging import VersionOrder, read_identity
from dify_plugin_packager.plugin import PluginKind


_NAMES: dict[PluginKind, str] = {
    "models": "model plugin",
    "agent_strategies": "agent strategy plugin",
}
_BOTH = tuple(_NAMES)


def find_plugins(
    explicit: Path | None, *, start: Path, kinds: Iterable[PluginKind] = _BOTH
) -> tuple[PluginSource, ...]:
    """Return a plugin of each kind, by default a model plugin and an agent strategy plugin, and for a strategy all plugins with tools.

    Args:
        explicit: The folder that holds them; None looks for a `plugins` folder in `start` and its parents.
        start: Where to look from.
        kinds: The kinds.

    Raises:
        PluginFolderError: If there is no such folder, or not one plugin of each kind in it.
    """
    folder = explicit or find_plugins_folder(start, otherwise="--plugins takes another one")
    return _choose(folder, read_plugins(folder), kinds)


def install_plugins(
    folder: Path,
    *,
    settings: InstallSettings | None = None,
    kinds: Iterable[PluginKind] = _BOTH,
) -> tuple[PluginSource, ...]:
    """Install what lies in a folder of packages; return a plugin of each kind of it, and for a strategy all plugins with tools.

    Of several versions of a plugin the latest is taken; what is installed already stays.

    Raises:
        PluginFolderError: If there is no such folder, or not one plugin of each kind in it.
        PackageError: If a file in it is no package.
        InstallError: If a package cannot be installed.
    """
    return _choose(folder, install_packages(folder, settings=settings), kinds)


def read_plugins(folder: Path) -> list[PluginSource]:
    """Return the plugin folders in a folder.

    Raises:
        PluginFolderError: If there is no such folder, or what lies in it cannot be read.
    """
    if not folder.is_dir():
        raise PluginFolderError(folder, "no such folder; expected one that holds plugin folders")
    return [FolderSource(path.parent) for path in sorted(folder.glob("*/manifest.yaml"))]


def install_packages(
    folder: Path, *, settings: InstallSettings | None = None
) -> list[PluginSource]:
    """Install what lies in a folder of packages, of several versions of a plugin the latest.

    Raises:
        PluginFolderError: If there is no such folder.
        PackageError: If a file in it is no package.
        InstallError: If a package cannot be installed.
    """
    if not folder.is_dir():
        raise PluginFolderError(folder, "no such folder; expected one that holds packages")
    latest: dict[tuple[str, str], tuple[VersionOrder, Path]] = {}
    for path in sorted(folder.glob("*.difypkg")):
        author, name, version = read_identity(path)
        if (author, name) not in latest or latest[author, name][0] < version:
            latest[author, name] = version, path
    return [PackageSource(path, settings=settings) for _, path in latest.values()]


def install_settings(*, requirements: bool, is_bare: bool) -> InstallSettings:
    """Return how packages are to be installed here.

    Args:
        requirements: Whether from their requirements.txt, where they have one.
        is_bare: Whether with nothing of how this machine reaches its index.
    """
    route = "requirements.txt" if requirements else "uv.lock"
    return InstallSettings.from_environment(os.environ, route=route, is_bare=is_bare)


def _choose(
    folder: Path, found: list[PluginSource], kinds: Iterable[PluginKind]
) -> tuple[PluginSource, ...]:
    chosen = {kind: _single(folder, found, kind) for kind in kinds}
    plugins = list(chosen.values())
    if "agent_strategies" in chosen:
        plugins += [one for one in found if one.folder.has("tools") and one not in plugins]
    return tuple(plugins)


def _single(folder: Path, found: list[PluginSource], kind: PluginKind) -> PluginSource:
    name = _NAMES[kind]
    fitting = [plugin for plugin in found if plugin.folder.has(kind)]
    match fitting:
        case [plugin]:
            return plugin
        case []:
            problem = f"expected a {name} in it (manifest.yaml with plugins.{kind})"
            raise PluginFolderError(folder, problem)
        case _:
            names = ", ".join(plugin.folder.path.name for plugin in fitting)
            raise PluginFolderError(folder, f"expected one {name} in it, found: {names}")
