"""Packaging of Dify plugins: reads their folders and package files, and writes packages, also for machines without an index."""

from ._errors import DifyPluginError, PackageError, PluginFolderError
from .declarations import PluginFolder
from .packaging import Archive, OfflinePackage, Package, Platform, build_offline, build_package


__all__ = [
    "Archive",
    "DifyPluginError",
    "OfflinePackage",
    "Package",
    "PackageError",
    "Platform",
    "PluginFolder",
    "PluginFolderError",
    "build_offline",
    "build_package",
]
