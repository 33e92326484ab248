"""Reader of bundled wheels, which unpacks only their metadata."""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from dify_plugin_packager.packaging import ContentError, Contents


_MAX_METADATA_BYTES = 1024 * 1024
_EXTRA = re.compile(r"\bextra\s*==")
_BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A bundled wheel.

    Attributes:
        path: Its path in the package.
        name: Its published name, normalised.
        version: Its version.
        is_universal: Whether it is for every machine.
        requirements: Its requirements without those of extras.
        modules: The import names that it provides.
    """

    path: str
    name: str
    version: str
    is_universal: bool
    requirements: tuple[Requirement, ...]
    modules: frozenset[str]

    @classmethod
    def parse(cls, path: str, content: bytes) -> "Wheel":
        """Parse a wheel.

        Raises:
            ContentError: If it is not a wheel.
        """
        try:
            name, version, _, tags = parse_wheel_filename(path.rpartition("/")[2])
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                names = archive.namelist()
                headers = _read_headers(archive, path)
            requirements = tuple(map(Requirement, headers.get_all("Requires-Dist", [])))
            same = canonicalize_name(headers["Name"] or "") == name
            same = same and Version(headers["Version"] or "") == version
        except (*_BROKEN_ZIP, ValueError) as error:
            raise ContentError(f"{path}: expected a wheel: {error}") from None
        if not same:
            expected = "expected the name and version of its metadata in its file name"
            raise ContentError(f"{path}: {expected}")
        return cls(
            path=path,
            name=name,
            version=str(version),
            is_universal={str(tag) for tag in tags} == {"py3-none-any"},
            requirements=tuple(one for one in requirements if not _EXTRA.search(str(one.marker))),
            modules=frozenset(_modules(names)),
        )


def _read_headers(archive: zipfile.ZipFile, path: str) -> Message:
    """Return the headers of a wheel's METADATA, unless it is too large to unpack."""
    (entry,) = (one for one in archive.infolist() if one.filename.endswith(".dist-info/METADATA"))
    if entry.file_size > _MAX_METADATA_BYTES:
        expected = f"expected METADATA of at most {_MAX_METADATA_BYTES} bytes"
        raise ContentError(f"{path}: {expected}, got {entry.file_size}")
    return HeaderParser().parsestr(archive.read(entry).decode())


def _modules(names: list[str]) -> Iterator[str]:
    for name in names:
        top = name.partition("/")[0]
        if not top.endswith((".dist-info", ".data")):
            yield top.removesuffix(".py")


def read_wheels(contents: Contents) -> dict[str, Wheel | ContentError]:
    """Return the bundled wheels by their paths; in place of one that cannot be read, the error."""
    wheels: dict[str, Wheel | ContentError] = {}
    for path in contents.wheels:
        try:
            wheels[path] = Wheel.parse(path, contents.files[path])
        except ContentError as error:
            wheels[path] = error
    return wheels
