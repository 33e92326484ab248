"""The file of a package: a zip archive, written reproducibly and read with suspicion."""

import io
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dify_plugin_packager._errors import PackageError


SIZE_LIMIT_BYTES = 52_428_800
"""The most bytes of a package's content.

Source: `MAX_PLUGIN_PACKAGE_SIZE` of langgenius/dify-plugin-daemon at bdb5642a.
"""

_UNREADABLE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError)
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
_MAX_NAME_BYTES = 255  # of a file system
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # what Go reads
_UTF_8 = 0x800
_NO_SYSTEM = 0  # An archive of no particular system holds no file modes.


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A package that was read.

    Attributes:
        path: Its path.
        size_bytes: The size of the file.
        entries: The entries of the archive in its order, including directories.
        files: The content of each file, by its path as the daemon normalises it: without `./` and the like.
        comment: The archive's comment, which holds the signature of a signed package.
    """

    path: Path
    size_bytes: int
    entries: tuple[zipfile.ZipInfo, ...]
    files: Mapping[str, bytes]
    comment: bytes = b""

    @classmethod
    def read(cls, path: Path) -> "Archive":
        """Read a package into memory.

        Raises:
            PackageError: If it is not a zip archive, is damaged, or would exceed the platform's limit.
        """
        try:
            content = path.read_bytes()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                entries = tuple(archive.infolist())
                # The archive's own figures, before anything is unpacked.
                if sum(entry.file_size for entry in entries) > SIZE_LIMIT_BYTES:
                    problem = f"expected at most {SIZE_LIMIT_BYTES} bytes uncompressed"
                    raise PackageError(path, problem)
                files = {entry_path(entry): archive.read(entry) for entry in _files(entries)}
                comment = archive.comment
        except FileNotFoundError:
            raise PackageError(path, "no such file; expected a .difypkg file") from None
        except IsADirectoryError:
            problem = f"expected a .difypkg file, found a folder; `dify-host package {path}` makes one of a plugin's folder"
            raise PackageError(path, problem) from None
        # zipfile raises RuntimeError for an encrypted entry or an unknown method.
        except (*_UNREADABLE, OSError, RuntimeError) as error:
            raise PackageError(path, f"expected a readable zip archive: {error}") from None
        return cls(
            path=path, size_bytes=len(content), entries=entries, files=files, comment=comment
        )

    def extract(self, folder: Path) -> None:
        """Write the files below `folder`.

        Raises:
            PackageError: If the daemon could not extract them.
        """
        for problem in iter_entry_problems(self.entries):
            raise PackageError(self.path, problem)
        for name, content in self.files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def write_package(output: Path, file_name: str, content: bytes) -> Path:
    """Write a package to `output`, or under `file_name` in it unless `output` ends with `.difypkg`; return the path."""
    path = output if output.suffix == ".difypkg" else output / file_name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def build_archive(files: Mapping[str, bytes]) -> bytes:
    """Return an archive whose bytes depend only on the files and the version of zlib, deflated as Dify's own packager does it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files, key=str.encode):
            entry = zipfile.ZipInfo(name, _FIRST_DATE)
            entry.create_system = _NO_SYSTEM
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return out.getvalue()


def entry_path(entry: zipfile.ZipInfo) -> str:
    """Return an entry's path as the daemon normalises it, which reads names as UTF-8 whatever the archive says."""
    name = entry.orig_filename
    if not entry.flag_bits & _UTF_8:
        # Undoes zipfile's guess, so that the bytes of the name can be read as UTF-8.
        name = name.encode("cp437").decode(errors="surrogateescape")
    return posixpath.normpath(name)


def iter_entry_problems(entries: Sequence[zipfile.ZipInfo]) -> Iterator[str]:
    """Yield the reasons for which the daemon cannot read or extract an archive.

    Source: https://pkg.go.dev/archive/zip, https://pkg.go.dev/io/fs#ValidPath and `pkg/plugin_packager/decoder/zip.go` of
    langgenius/dify-plugin-daemon at bdb5642a.
    """
    paths: set[str] = set()
    for entry in entries:
        name, path = entry.orig_filename, entry_path(entry)
        if name.endswith("/"):
            yield f"{name!r} is a directory entry, which the daemon cannot read"
        elif not _is_inside(path):
            yield f"{name!r}: expected a relative path with forward slashes and no '..'"
        elif any(len(part.encode()) > _MAX_NAME_BYTES for part in path.split("/")):
            yield f"{name!r:.80}: expected names of at most {_MAX_NAME_BYTES} bytes"
        elif entry.compress_type not in _METHODS:
            yield f"{name!r}: expected it stored or deflated, got the method {entry.compress_type}"
        paths.add(path)
    for folder in sorted({folder for path in paths for folder in _folders(path)} & paths):
        yield f"{folder!r} is a file and a folder; expected one of them"


def _folders(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def _is_inside(path: str) -> bool:
    """Tell whether a path stays inside its folder: relative, with forward slashes, UTF-8 and without `..`."""
    is_text = not any("\ud800" <= letter <= "\udfff" for letter in path)
    return is_text and not {"\\", "\0"} & set(path) and not {"", ".", ".."} & set(path.split("/"))


def _files(entries: tuple[zipfile.ZipInfo, ...]) -> list[zipfile.ZipInfo]:
    """Return the entries that can be files; of several with the same path the first, like Go's reader."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        path = entry_path(entry)
        if not entry.is_dir() and _is_inside(path):
            found.setdefault(path, entry)
    return list(found.values())
