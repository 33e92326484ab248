"""Rules for a package as an archive: its entries, its signature, its size, and files that should not be in it.

Source: `pkg/plugin_packager` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

import stat
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch

from dify_plugin_packager.json_access import is_object
from dify_plugin_packager.packaging import (
    SIZE_LIMIT_BYTES,
    Archive,
    entry_path,
    iter_entry_problems,
)
from stream_text import parse_json

from ._finding import Finding, findings


# An installation of Dify may have a lower limit for uploads than its daemon.
_SIZE_TO_ASK_FOR_BYTES = 5 * 1024 * 1024
_LEFTOVERS = (
    *("__pycache__", "*.pyc", "tests", ".venv", "venv", ".git", ".idea", ".vscode", ".DS_Store"),
    *(".env", ".*_cache", "*.difypkg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
)
# Files that act without being asked, by the pattern of their names in lower case.
_UNASKED = {
    "sitecustomize.py": "Python runs it by itself; expected such code in the plugin's modules",
    "usercustomize.py": "Python runs it by itself; expected such code in the plugin's modules",
    "*.pth": "Python may run it by itself; expected such code in the plugin's modules",
    "uv.toml": "overrides 'tool.uv' in pyproject.toml, and may name another index; expected no such file",
    "pip.conf": "may name another index; expected no settings of an installer",
    "pip.ini": "may name another index; expected no settings of an installer",
}
_SHOWN = 3  # of the paths that match one pattern


def check_entries(archive: Archive) -> Iterator[Finding]:
    """Check that the daemon can extract every entry to its proper place."""
    yield from findings("refused", iter_entry_problems(archive.entries))
    paths = Counter(map(entry_path, archive.entries))
    for path in (path for path, count in paths.items() if count > 1):
        yield Finding("advice", f"{path!r} appears more than once; the daemon takes the first")
    for entry in archive.entries:
        if stat.S_ISLNK(entry.external_attr >> 16):
            text = f"{entry.filename!r} is a link, which the daemon turns into a file with the link's target as its text"
            yield Finding("advice", text)


def check_signature(archive: Archive) -> Iterator[Finding]:
    """Check that the archive's comment is empty or looks like a signature."""
    if not archive.comment:
        return
    try:
        signature = parse_json(archive.comment.decode())
    except ValueError:
        signature = None
    if not is_object(signature) or not {"signature", "time"} <= signature.keys():
        yield Finding("advice", "the archive's comment: expected nothing or a signature")


def check_size(archive: Archive) -> Iterator[Finding]:
    """Check that the package is small enough for the daemon, and for every version of Dify."""
    size = archive.size_bytes
    if size > SIZE_LIMIT_BYTES:
        yield Finding("refused", f"expected at most {SIZE_LIMIT_BYTES} bytes, got {size}")
    elif size > _SIZE_TO_ASK_FOR_BYTES:
        text = (
            f"expected at most {_SIZE_TO_ASK_FOR_BYTES} bytes, which every Dify accepts, got {size}"
        )
        yield Finding("advice", text)


def check_leftovers(archive: Archive) -> Iterator[Finding]:
    """Check that the package contains no caches, tests, secrets or other packages."""
    for _, shown in find_leftovers(archive.files):
        expected = "expected no caches, tests, secrets or packages"
        yield Finding("advice", f"{shown}: {expected}")


def check_unasked(archive: Archive) -> Iterator[Finding]:
    """Check that the package contains no file that Python or an installer uses without being asked to."""
    for path in archive.files:
        name = path.rpartition("/")[2].lower()
        for pattern, text in _UNASKED.items():
            if fnmatch(name, pattern):
                yield Finding("advice", f"{path}: {text}")


def find_leftovers(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the unwanted files in a package: each matching pattern, with its first paths as a phrase."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in files:
        for part in path.split("/"):
            if pattern := next((one for one in _LEFTOVERS if fnmatch(part, one)), None):
                found[pattern].append(path)
                break
    for pattern, paths in found.items():
        shown = ", ".join(map(repr, paths[:_SHOWN]))
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        yield pattern, f"{shown}{more}"
