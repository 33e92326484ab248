"""The file of a package: a zip archive, written the same way every time and read with suspicion."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dify_plugin_host._errors import PackageError


SIZE_LIMIT_BYTES = 52_428_800
"""How much a package may hold uncompressed.

Source: `MAX_PLUGIN_PACKAGE_SIZE` of langgenius/dify-plugin-daemon at bdb5642a.
"""

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
_NO_SYSTEM = 0  # An archive of no system in particular says nothing of file modes.


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A package as it was read.

    Attributes:
        path: Where it lies.
        size_bytes: The size of the file.
        entries: What the archive lists, directories included, in its order.
        files: The content of each file, by its path in the archive.
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
            PackageError: If it is no zip archive, is damaged, or would grow beyond the platform's limit.
        """
        try:
            content = path.read_bytes()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                entries = tuple(archive.infolist())
                if sum(entry.file_size for entry in entries) > SIZE_LIMIT_BYTES:
                    problem = f"expected at most {SIZE_LIMIT_BYTES} bytes uncompressed"
                    raise PackageError(path, problem)
                files = {entry.filename: archive.read(entry) for entry in _files(entries)}
                comment = archive.comment
        except FileNotFoundError:
            raise PackageError(path, "no such file; expected a .difypkg file") from None
        except IsADirectoryError:
            problem = f"expected a .difypkg file, found a folder; `dify-host package {path}` makes one of a plugin's folder"
            raise PackageError(path, problem) from None
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise PackageError(path, f"expected a readable zip archive: {error}") from None
        return cls(
            path=path, size_bytes=len(content), entries=entries, files=files, comment=comment
        )

    def extract(self, folder: Path) -> None:
        """Write the files below `folder`.

        Raises:
            PackageError: If a path would lead out of it.
        """
        for name in self.files:
            if not is_inside(name):
                raise PackageError(self.path, f"the entry {name!r} leads out of the package")
        for name, content in self.files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive whose bytes depend on nothing but the files.

    Nothing is compressed, since what a compressor makes of the same bytes differs between its versions.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files, key=str.encode):
            entry = zipfile.ZipInfo(name, _FIRST_DATE)
            entry.create_system = _NO_SYSTEM
            archive.writestr(entry, files[name])


def is_inside(name: str) -> bool:
    """Tell whether a path in an archive is plain: relative, with forward slashes and nothing that climbs."""
    parts = name.split("/")
    return "\\" not in name and ":" not in name and not {"", ".", ".."} & set(parts)


def _files(entries: tuple[zipfile.ZipInfo, ...]) -> list[zipfile.ZipInfo]:
    return [entry for entry in entries if not entry.is_dir()]
