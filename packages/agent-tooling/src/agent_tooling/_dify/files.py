"""Reading local files safely: only the file that a tool named, and only in one folder.

Works where directories can be opened relative to a descriptor (Linux, macOS).
"""

import errno
import mimetypes
import os
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from agent_tooling._errors import (
    LocalFileError,
    LocalFileNotFoundError,
    LocalFileOutsideRootError,
    LocalFileTooLargeError,
    LocalFileUnreadableError,
)
from stream_text import find_media_type


FILE_FEATURES: Mapping[str, str] = MappingProxyType(
    {"image": "vision", "document": "document", "audio": "audio", "video": "video"}
)
"""Dify's name for a model's ability to read each kind of file.

Source: `ModelFeature` and `PromptMessageContentType` of dify-plugin 0.10.2.
"""

MAX_LOCAL_FILE_BYTES: Final = 5 * 1024 * 1024

# O_NOFOLLOW: the path was resolved, so a link in it now was put there since. O_NONBLOCK: a FIFO must not hang the run.
_OPEN_FILE: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_OPEN_FOLDER: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
_NOTHING_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_UNKNOWN_TYPE: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A file that was read.

    Attributes:
        data: Its content.
        mime_type: Its type, by its content if that is conclusive, otherwise by its extension.
        filename: Its last path component.
    """

    data: bytes = field(repr=False)
    mime_type: str
    filename: str


def read_local_file(
    path: str, *, root: str = "/files", max_bytes: int = MAX_LOCAL_FILE_BYTES
) -> LocalFile:
    """Read a regular file under `root`.

    The path is resolved and must be under the resolved root. The file is then opened component by component without
    following links and measured by its descriptor, so that nothing swapped in after the check is read.

    Args:
        path: Absolute path, which must begin with `root`.
        root: The only folder that may be read.
        max_bytes: Largest file in bytes, inclusive.

    Raises:
        LocalFileOutsideRootError: If the path does not begin with the root, or leads out of it.
        LocalFileNotFoundError: If there is nothing at the path.
        LocalFileUnreadableError: If what is there cannot be read, or is not a regular file.
        LocalFileTooLargeError: If the file is over `max_bytes`.
    """
    parts = _resolve_parts(path, root)
    try:
        with _open_beneath(root, parts) as descriptor:
            data = _read_bounded(descriptor, path, max_bytes)
    except OSError as error:
        raise _to_error(path, error) from error
    return LocalFile(data=data, mime_type=mime_type_of(data, parts[-1]), filename=parts[-1])


def _to_error(path: str, error: OSError) -> LocalFileError:
    if error.errno in _NOTHING_THERE and not os.path.lexists(path):
        return LocalFileNotFoundError(path, "local file does not exist")
    return LocalFileUnreadableError(path, "local file cannot be read")


def _resolve_parts(path: str, root: str) -> tuple[str, ...]:
    """Return the components of the resolved path, relative to the resolved root."""
    try:
        real_root, real_path = os.path.realpath(root), os.path.realpath(path)
    except (OSError, ValueError) as error:  # A NUL byte in the path, or a loop of links.
        raise LocalFileNotFoundError(path, "local file path cannot be resolved") from error
    is_beneath = os.path.commonpath([real_root, real_path]) == real_root != real_path
    if not path.startswith(f"{root.rstrip('/')}/") or not is_beneath:
        raise LocalFileOutsideRootError(path, f"local file is not under {root!r}")
    return Path(real_path).relative_to(real_root).parts


@contextmanager
def _open_beneath(root: str, parts: tuple[str, ...]) -> Generator[int]:
    """Open the file that `parts` lead to from the root, without following links."""
    *folders, name = parts
    steps = [*((folder, _OPEN_FOLDER) for folder in folders), (name, _OPEN_FILE)]
    descriptor = os.open(os.path.realpath(root), _OPEN_FOLDER)
    try:
        for part, flags in steps:
            child = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = child
        yield descriptor
    finally:
        os.close(descriptor)


def _read_bounded(descriptor: int, path: str, max_bytes: int) -> bytes:
    """Read an open regular file, at most one byte over the limit, since it may grow while it is read."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise LocalFileUnreadableError(path, "local file is not a regular file")
    if status.st_size > max_bytes:
        raise LocalFileTooLargeError(path, max_bytes)
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise LocalFileTooLargeError(path, max_bytes)
    return data


def mime_type_of(data: bytes, filename: str = "") -> str:
    """Return the media type of a file by its first bytes, or else by its name; `application/octet-stream` if neither is conclusive."""
    if found := find_media_type(data):
        return found
    # An instance of its own holds only Python's table; the module's functions add the machine's files.
    guessed, encoding = mimetypes.MimeTypes().guess_type(filename, strict=False)
    return guessed if guessed and encoding is None else _UNKNOWN_TYPE
