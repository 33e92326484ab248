"""Search for plugins, by their folders, by the folder around them, or as packages."""

import os
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from dify_plugin_host._plugin.source import FolderSource, PluginSource
from dify_plugin_host.installation import InstallSettings, PackageSource
from dify_plugin_packager import PluginFolderError
from dify_plugin_packager.declarations import PluginKind
from dify_plugin_packager.packaging import VersionOrder, read_identity


_NAMES: dict[PluginKind, str] = {
    "models": "model plugin",
    "agent_strategies": "agent strategy plugin",
}


def read_plugins(folder: Path) -> list[PluginSource]:
    """Return the plugin folders in a folder.

    Raises:
        PluginFolderError: If there is no such folder, or a plugin in it cannot be read.
    """
    if not folder.is_dir():
        raise PluginFolderError(folder, "no such folder; expected one that holds plugin folders")
    return [FolderSource(path.parent) for path in sorted(folder.glob("*/manifest.yaml"))]


def install_packages(
    folder: Path, *, settings: InstallSettings | None = None
) -> list[PluginSource]:
    """Install the packages in a folder; of several versions of a plugin, the latest.

    Raises:
        PluginFolderError: If there is no such folder.
        PackageError: If a file in it is not a package.
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


def open_source(path: Path, settings: InstallSettings) -> PluginSource:
    """Return a plugin by its folder or its package, which is installed.

    Raises:
        PluginFolderError: If the folder is not a plugin.
        PackageError: If the file is not a package.
        InstallError: If it cannot be installed.
    """
    if path.suffix != ".difypkg":
        return FolderSource(path)
    with Console(stderr=True).status(f"installing {path.name}"):
        return PackageSource(path, settings=settings)


def install_settings(*, requirements: bool, is_bare: bool) -> InstallSettings:
    """Return the settings for installing packages on this machine.

    Args:
        requirements: Whether to install from their requirements.txt, if they have one.
        is_bare: Whether to leave out this machine's settings for reaching its index.
    """
    route = "requirements.txt" if requirements else "uv.lock"
    return InstallSettings.from_environment(os.environ, route=route, is_bare=is_bare)


def choose_plugins(
    folder: Path, found: list[PluginSource], kinds: Iterable[PluginKind]
) -> tuple[PluginSource, ...]:
    """Return the plugin of each kind among those of a folder, and, with a strategy, all plugins with tools.

    Raises:
        PluginFolderError: If there is not one plugin of each kind.
    """
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
