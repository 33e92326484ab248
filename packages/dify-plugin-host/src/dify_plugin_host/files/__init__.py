"""Files as Dify has them: what it says of them, and the short-lived links by which it hands them over."""

from ._links import FileLinks
from ._local_file import LocalFile, mime_type_of
from ._parameters import cast_files, file_parameter
from ._store import SharedFile


__all__ = [
    "FileLinks",
    "LocalFile",
    "SharedFile",
    "cast_files",
    "file_parameter",
    "mime_type_of",
]
