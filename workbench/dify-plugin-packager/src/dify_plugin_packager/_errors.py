"""Errors about a plugin's folder or package.

DifyPluginError
├── PluginFolderError       the folder is not a plugin that can be started
└── PackageError            a plugin cannot become a package, or a file is not a package
"""

from pathlib import Path


class DifyPluginError(Exception):
    """The root of all errors that this package, and the host above it, raises on purpose."""


class PluginFolderError(DifyPluginError):
    """A folder that is not a plugin which can be started.

    Attributes:
        folder: The folder in question.
    """

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(f"{folder}: {problem}")
        self.folder = folder


class PackageError(DifyPluginError):
    """A plugin that cannot become a package, or a file that is not one.

    Attributes:
        path: The file or folder in question.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
