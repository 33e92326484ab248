"""The identity of a package file: author, name, version, unique identifier."""

from pathlib import Path

from dify_plugin_packager._errors import PackageError
from dify_plugin_packager.declarations import build_identifier, is_identifier
from dify_plugin_packager.json_access import JsonObject

from ._archive import Archive
from ._contents import ContentError, Contents


type VersionOrder = tuple[tuple[int, ...], bool, str]
"""A version in comparable form: its numbers, whether it has no suffix, the suffix."""


def identifier_of(archive: Archive) -> str:
    """Return the unique identifier of a package.

    Raises:
        ContentError: If its manifest cannot be read.
    """
    return build_identifier(*names_in(Contents(archive.files).manifest), archive.files)


def validate_identifier(path: Path, identifier: str) -> None:
    """Check an identifier from a manifest before its parts become a path.

    Args:
        path: The package or the plugin's folder, for the error.
        identifier: Its unique identifier.

    Raises:
        PackageError: If the daemon would not take it.
    """
    if not is_identifier(identifier):
        names = identifier.partition("@")[0]
        problem = (
            "manifest.yaml: expected author and name of lowercase letters, digits, '_' and '-', and a version such as 1.0.0,"
            f" got {names!r}"
        )
        raise PackageError(path, problem)


def read_identity(path: Path) -> tuple[str, str, VersionOrder]:
    """Return author, name and version of a package; a later version compares greater.

    Raises:
        PackageError: If the file is not a package, or its names do not make an identifier.
    """
    archive = Archive.read(path)
    try:
        validate_identifier(path, identifier_of(archive))
    except ContentError as error:
        raise PackageError(path, str(error)) from None
    author, name, version = names_in(Contents(archive.files).manifest)
    numbers, _, suffix = version.partition("-")
    # A version without a suffix is the later one: 1.0.0 comes after 1.0.0-beta.
    return author, name, (tuple(map(int, numbers.split("."))), not suffix, suffix)


def names_in(manifest: JsonObject) -> tuple[str, str, str]:
    """Return author, name and version in a manifest."""
    author, name, version = (str(manifest.get(key)) for key in ("author", "name", "version"))
    return author, name, version
