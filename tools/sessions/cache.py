"""What outlives a clone: a folder in the user's cache, of which every part can be made anew."""

import atexit
import hashlib
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path


FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpt5-for-dify"
_LOCK = Path(__file__).parents[2] / "uv.lock"
_KEPT_SECONDS = 14 * 24 * 3600.0


def use(place: Path) -> Path:
    """Return a place in the cache as one that is used, and remove those beside it that nobody has used for two weeks."""
    place.parent.mkdir(parents=True, exist_ok=True)
    for old in place.parent.iterdir():
        with suppress(FileNotFoundError):  # Another session may do the same.
            if time.time() - old.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
    if place.exists():
        place.touch()
    return place


def bring(place: Path, target: Path) -> None:
    """Copy a folder of the cache to where it is worked with, unless there is one already."""
    if use(place).exists() and not target.exists():
        try:
            shutil.copytree(place, target)
        except OSError:  # Another clone's session puts its own there.
            shutil.rmtree(target, ignore_errors=True)


def keep(source: Path, place: Path) -> None:
    """Put a copy of a folder into the cache, in the place of an older one."""
    made = use(place).with_name(f"{place.name}-{os.getpid()}")
    shutil.copytree(source, made)
    shutil.rmtree(place, ignore_errors=True)
    try:
        made.replace(place)
    except OSError:  # Another clone's session has put its own there meanwhile.
        shutil.rmtree(made)


def share_bytecode(environment: Path) -> None:
    """Bring what other sessions, or those of another clone, have compiled of the same files, and leave what this one compiles to the next.

    uv links the same files into each environment, and to compile them anew in each takes seconds.
    Python itself leaves bytecode aside whose source has another time or size.
    """
    lock = hashlib.sha256((_LOCK).read_bytes()).hexdigest()
    shared = use(FOLDER / "bytecode" / lock[:16])
    (own,) = environment.glob("lib/python*/site-packages")
    link_bytecode(shared, own, everywhere=False)
    atexit.register(link_bytecode, own, shared, everywhere=True)


def link_bytecode(source: Path, target: Path, *, everywhere: bool) -> None:
    """Link the bytecode of each `__pycache__` below `source` to its place below `target`; replace none.

    Unless `everywhere`, only where the package is.

    Each session looks, and nearly always there is nothing to link.
    """
    for folder, inner, names in os.walk(source):  # in a third of the time that `rglob` takes
        place = Path(f"{target}{folder.removeprefix(str(source))}")
        if not folder.endswith("__pycache__"):
            if not (everywhere or place.is_dir()):
                inner.clear()  # A folder of its name alone would be a package to Python.
            continue
        there = os.listdir(place) if place.is_dir() else []  # noqa: PTH208 - all but a few names are there
        for name in set(names).difference(there):
            if name.endswith(".pyc"):  # and not one that is being written
                place.mkdir(parents=True, exist_ok=True)
                # It is there by now, or the cache is on another disk, to which nothing can be linked.
                with suppress(OSError):
                    (place / name).hardlink_to(Path(folder, name))
