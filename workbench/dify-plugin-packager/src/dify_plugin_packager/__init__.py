"""Packaging of Dify plugins: reads their folders and package files, and writes packages, also for machines without an index."""

from ._errors import DifyPluginError, PackageError, PluginFolderError
from .offline import OfflinePackage, Platform, build_offline
from .packaging import Archive, Package, build_package
from .plugin import PluginFolder


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
