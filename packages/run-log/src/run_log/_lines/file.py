"""The file of a run for its writer: only its owner reads it, lines are whole, and an error is reported once."""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Final

from .settings import LogSettings


_NAME: Final = re.compile(r"run-\d{8}T\d{6}Z-[0-9a-f]{12}\.jsonl")
_SECONDS_OF_A_DAY: Final = 86_400

log = logging.getLogger("run_log")


class LineFile:
    """A new file that lines are added to.

    Args:
        path: Its path; its folder is made if there is none.

    Raises:
        OSError: If it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = FileIO(path, "xb", opener=_open_private)
        self.size = 0

    def write(self, line: bytes) -> None:
        """Add a line.

        Raises:
            OSError: If it cannot be added whole; then nothing of it remains.
        """
        rest = memoryview(line)
        try:
            # Not buffered, so one write may take only a part, as where a disk is almost full.
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            with suppress(OSError):
                self._file.truncate(self.size)
            raise
        self.size += len(line)

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._file.close()


class NoFile:
    """A stand-in for the file of a run that is not written."""

    size = 0

    def write(self, line: bytes) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _open_private(path: str, flags: int) -> int:
    # With its mode from the start: one that is set later leaves a moment in which others may open it.
    return os.open(path, flags | os.O_APPEND, 0o600)


def is_run_name(name: str) -> bool:
    """Return whether a file of this name is the file of a run."""
    return _NAME.fullmatch(name) is not None


def iter_paths(folder: Path) -> Iterator[Path]:
    """Yield the files of runs in a folder, and nothing else in it.

    Raises:
        OSError: If the folder cannot be read.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_run_name(entry.name) and entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


_left: dict[Path, int] = {}  # How many runs may begin in a folder before it is looked through.


def tidy(new: Path, settings: LogSettings, *, now: float) -> None:
    """Delete the runs that are too old, and then the oldest until the rest fits; the new run stays.

    A full folder is looked through when it has grown by a sixteenth.

    Several processes may do so at once. A file that cannot be read or deleted stays.
    """
    left = _left.get(new.parent, 0)
    if left > 0:
        _left[new.parent] = left - 1
        return
    found: list[tuple[float, int, Path]] = []
    with suppress(OSError):
        # The new run has hardly begun: what it takes is not yet known.
        for path in filter(new.__ne__, iter_paths(new.parent)):
            with suppress(FileNotFoundError):  # deleted by another process in the meantime
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
    # Looking through it takes longer than writing a short run, from some hundred runs on.
    _left[new.parent] = len(found) // 16
    total = sum(size for _, size, _ in found)
    oldest = now - settings.max_age_days * _SECONDS_OF_A_DAY
    for written, size, path in sorted(found):
        if written >= oldest and total <= settings.max_total_bytes:
            break
        with suppress(OSError):
            path.unlink()
        # Also where it could not be deleted, so that no newer run goes in its place.
        total -= size
