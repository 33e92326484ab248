"""What outlives a clone: a folder in the user's cache, of which every part can be made anew."""

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path


FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpt5-for-dify"
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
        shutil.copytree(place, target)


def keep(source: Path, place: Path) -> None:
    """Put a copy of a folder into the cache, in the place of an older one."""
    made = use(place).with_name(f"{place.name}-{os.getpid()}")
    shutil.copytree(source, made)
    shutil.rmtree(place, ignore_errors=True)
    made.replace(place)
