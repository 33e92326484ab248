"""The reference as it was written on this machine before, of the same sources.

To write it takes a quarter of a minute. What it says, and what is wrong with it, follows from the pages and the packages' sources, and from
the lock, which names what writes it: where none of them has changed, neither has that. Only one without faults is kept.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

from repository.tracked import list_files

from .cache import FOLDER, use
from .members import ROOT


# Elsewhere no Python is read: tests, checks and tools have no place in the reference.
_WITH_PYTHON = {"docs", "examples", "src"}


def find_place() -> Path:
    """Return where the cache has the reference of these sources, or will have it."""
    whole = hashlib.sha256(sys.version.encode())
    for path in list_files(root=ROOT):
        if path.suffix != ".py" or _WITH_PYTHON.intersection(path.parts):
            whole.update(hashlib.sha256((ROOT / path).read_bytes()).digest() + str(path).encode())
    return use(FOLDER / "reference" / f"{whole.hexdigest()}.tar.gz")


def bring(place: Path, folder: Path) -> bool:
    """Put the reference at a place of the cache into a folder, instead of what is there; return whether there is one."""
    if not place.exists():
        return False
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(place, folder, filter="data")
    return True


def keep(folder: Path, place: Path) -> None:
    """Put a reference into the cache."""
    made = shutil.make_archive(f"{place}-{os.getpid()}", "gztar", folder)
    Path(made).replace(place)
