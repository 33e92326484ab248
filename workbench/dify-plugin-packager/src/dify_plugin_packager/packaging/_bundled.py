"""The wheels that a package carries: how an installer finds them, and how it is ensured that no index can replace them.

Each gets a local version, which the public index accepts from nobody, and is pinned by its hash, so that no other index can offer another
file under that version. `wheels/index.html` tells pip the hashes; without it pip takes an index's file of the same version, and fails at
its hash.

Source: https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers; tried with pip 23.2 and 26.3 and
uv 0.4 to 0.13, 2026-11.
"""

import base64
import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from packaging.utils import canonicalize_name, parse_wheel_filename

from ._archive import build_archive


FOLDER = "wheels"

WHERE_DAEMONS_RUN = "sys_platform != 'win32'"
"""The systems that packages are locked for: resolving anew, uv would ask a folder of downloaded wheels for what only Windows needs."""

_LABEL = "bundle"
_VERSION_HEADER = re.compile(rb"^Version: .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledWheel:
    """A wheel in a package.

    Attributes:
        name: Its published name, normalised.
        version: Its version, with a local label.
        file_name: Its name in the package's folder of wheels.
        content: Its bytes.
    """

    name: str
    version: str
    file_name: str
    content: bytes

    @classmethod
    def relabel(cls, file_name: str, content: bytes) -> "BundledWheel":
        """Return a wheel with the same code and a local version."""
        distribution, written, tags = file_name.split("-", maxsplit=2)
        stem = f"{distribution}-{written}"
        _, version, _, _ = parse_wheel_filename(file_name)
        labelled = f"{version.public}+{'.'.join(filter(None, [version.local, _LABEL]))}"
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        new_stem = f"{distribution}-{labelled}"
        moved = {_moved(name, stem, new_stem): data for name, data in files.items()}
        metadata, record = f"{new_stem}.dist-info/METADATA", f"{new_stem}.dist-info/RECORD"
        header = f"Version: {labelled}".encode()
        # Only the header: the description below it may have such a line as well.
        moved[metadata] = _VERSION_HEADER.sub(header, moved[metadata], count=1)
        moved[record] = _record(moved, record)
        return cls(
            name=canonicalize_name(distribution),
            version=labelled,
            file_name=f"{new_stem}-{tags}",
            content=build_archive(moved),
        )

    @property
    def path(self) -> str:
        """Its path in the package."""
        return f"{FOLDER}/{self.file_name}"

    @property
    def sha256(self) -> str:
        """Its hash, in hex."""
        return hashlib.sha256(self.content).hexdigest()


def build_index_page(wheels: Iterable[BundledWheel]) -> bytes:
    """Return the page that tells an installer the wheels' hashes."""
    links = [
        f'<a href="{quote(wheel.file_name)}#sha256={wheel.sha256}">{wheel.file_name}</a>'
        for wheel in wheels
    ]
    return "\n".join(["<!DOCTYPE html>", "<title>Bundled wheels</title>", *links, ""]).encode()


def build_requirements(exported: str, wheels: Iterable[BundledWheel]) -> str:
    """Return a requirements.txt that installs from any folder.

    Args:
        exported: The output of `uv export` in that format, with hashes.
        wheels: The wheels, which the output names by their paths.
    """
    by_path = {f"./{wheel.path}": wheel for wheel in wheels}
    lines: list[str] = []
    for line in exported.replace("\\\n", "").splitlines():
        requirement, *hashes = (part.strip() for part in line.split("--hash="))
        requirement = requirement.removesuffix(f" ; {WHERE_DAEMONS_RUN}")
        wheel = by_path.get(requirement)
        if wheel:
            requirement, hashes = f"{wheel.name}=={wheel.version}", [f"sha256:{wheel.sha256}"]
        lines.append(" ".join([requirement, *(f"--hash={value}" for value in hashes)]))
    if not all("--hash=" in line for line in lines):  # pip wants a hash for each line or for none
        lines = [line.partition(" --hash=")[0] for line in lines]
    options = [f"--find-links ./{FOLDER}"] if by_path else []
    return "\n".join([*options, *sorted(lines, key=_name), ""])


def _name(line: str) -> str:
    return line.partition("=")[0]


def _moved(name: str, stem: str, new_stem: str) -> str:
    folder, slash, rest = name.partition("/")
    kind = folder.removeprefix(stem)
    return f"{new_stem}{kind}{slash}{rest}" if kind in {".dist-info", ".data"} else name


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    """Return the list of a wheel's files.

    Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for name in sorted(files.keys() - {own}):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=")
        writer.writerow([name, f"sha256={digest.decode()}", len(files[name])])
    writer.writerow([own, "", ""])
    return out.getvalue().encode()
