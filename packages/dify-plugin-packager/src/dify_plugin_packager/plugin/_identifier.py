"""What names one exact package: `author/name:version@checksum`.

Source: `pkg/plugin_packager/decoder/checksum.go` and `pkg/entities/plugin_entities/identity.go` of langgenius/dify-plugin-daemon
at bdb5642a, read 2026-10.
"""

import hashlib
import re
from collections.abc import Mapping


_IDENTIFIER = re.compile(
    r"[a-z0-9_-]{1,64}/[a-z0-9_-]{1,255}:[0-9]{1,4}(\.[0-9]{1,4}){1,3}(-\w{1,16})?@[a-f0-9]{32,64}",
    re.ASCII,
)


def checksum(files: Mapping[str, bytes]) -> str:
    """Return the checksum of a package's files: 64 hex digits that do not depend on how the archive was written."""
    total = hashlib.sha256()
    for path in sorted(files, key=str.encode):
        total.update(hashlib.sha256(path.encode()).digest())
        total.update(hashlib.sha256(files[path]).digest())
    return total.hexdigest()


def build_identifier(author: str, name: str, version: str, files: Mapping[str, bytes]) -> str:
    """Return the identifier of a package with these files."""
    return f"{author}/{name}:{version}@{checksum(files)}"


def is_identifier(text: str) -> bool:
    """Tell whether the daemon takes `text` as a unique identifier."""
    return _IDENTIFIER.fullmatch(text) is not None
