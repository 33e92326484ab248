"""Checks of a package as an archive: its entries, its size, its name.

Source: `pkg/plugin_packager` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

import stat
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch

from dify_plugin_host._json import is_object
from dify_plugin_host.packaging import Archive, identifier_of, is_inside
from dify_plugin_host.plugin import is_identifier
from stream_text import parse_json


_SIZE_LIMIT_BYTES = 5 * 1024 * 1024
_LEFT_BEHIND = (".*", "__pycache__", "*.pyc", "tests", "*.difypkg")


def check_entries(archive: Archive) -> Iterator[str]:
    """Check that the daemon can extract every entry, and to where it belongs."""
    names = [entry.filename for entry in archive.entries]
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{name!r} appears {count} times; expected each entry once"
    for entry in archive.entries:
        if entry.is_dir():
            yield f"{entry.filename!r} is a directory entry, which the daemon cannot read"
        elif not is_inside(entry.filename):
            yield f"{entry.filename!r}: expected a relative path with forward slashes and no '..'"
        elif stat.S_ISLNK(entry.external_attr >> 16):
            yield f"{entry.filename!r} is a link, which the daemon does not support"


def check_signature(archive: Archive) -> Iterator[str]:
    """Check that the archive's comment is empty or what a signature looks like."""
    if not archive.comment:
        return
    try:
        signature = parse_json(archive.comment.decode())
    except ValueError:
        signature = None
    if not is_object(signature) or not {"signature", "time"} <= signature.keys():
        yield "the archive's comment: expected nothing or a signature"


def check_size(archive: Archive) -> Iterator[str]:
    """Check that the package is small enough for every Dify there is."""
    if archive.size_bytes > _SIZE_LIMIT_BYTES:
        yield f"expected at most {_SIZE_LIMIT_BYTES} bytes, got {archive.size_bytes}"


def check_leftovers(archive: Archive) -> Iterator[str]:
    """Check that no cache, test, secret or other package went in."""
    for path in archive.files:
        for part in path.split("/"):
            if any(fnmatch(part, pattern) for pattern in _LEFT_BEHIND):
                yield f"{path!r}: expected no hidden files, caches, tests or packages"
                break


def check_identifier(archive: Archive) -> Iterator[str]:
    """Check that the daemon takes the package's unique identifier."""
    identifier = identifier_of(archive)
    if not is_identifier(identifier):
        yield f"expected author/name:version@checksum, got {identifier!r}"
