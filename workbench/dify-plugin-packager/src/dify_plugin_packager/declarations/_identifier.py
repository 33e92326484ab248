"""The identifier that names one exact package: `author/name:version@checksum`.

Source: `pkg/plugin_packager/decoder/checksum.go` and `pkg/entities/plugin_entities/identity.go` of langgenius/dify-plugin-daemon
at bdb5642a, read 2026-10.
"""

import hashlib
from collections.abc import Mapping

from ._go_types.rules import names_package


def checksum(files: Mapping[str, bytes]) -> str:
    """Return the checksum of a package's files: 64 hex digits that do not depend on how the archive was written."""
    total = hashlib.sha256()
    # By bytes, as Go sorts strings.
    for path in sorted(files, key=str.encode):
        total.update(hashlib.sha256(path.encode()).digest())
        total.update(hashlib.sha256(files[path]).digest())
    return total.hexdigest()


def build_identifier(author: str, name: str, version: str, files: Mapping[str, bytes]) -> str:
    """Return the identifier of a package with these files."""
    return f"{author}/{name}:{version}@{checksum(files)}"


def is_identifier(text: str) -> bool:
    """Tell whether the daemon takes `text` as the unique identifier of an upload, which has to name the author."""
    return "/" in text and names_package(text)
