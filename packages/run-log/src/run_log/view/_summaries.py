"""Summaries of the runs of a folder, read again only if a file has changed."""

import threading
from contextlib import suppress
from pathlib import Path

from run_log import RunSummary
from run_log._lines.file import iter_paths
from run_log._reader.runs import try_summary


class Summaries:
    """The summaries of the runs of a folder. Its methods may be called from any thread.

    Args:
        folder: The folder; it need not exist yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[tuple[int, int, int], RunSummary]] = {}

    def list(self) -> list[RunSummary]:
        """Return the runs, the newest first; only those that are new or have changed are read."""
        with self._lock:
            known, self._known = self._known, {}  # So those that were deleted are forgotten.
            with suppress(OSError):
                for path in sorted(iter_paths(self._folder), reverse=True):
                    self._look(path, known)
            return [summary for _, summary in self._known.values()]

    def _look(self, path: Path, known: dict[Path, tuple[tuple[int, int, int], RunSummary]]) -> None:
        try:
            status = path.stat()
        except OSError:  # deleted in the meantime
            return
        state = (status.st_ino, status.st_size, status.st_mtime_ns)
        before = known.get(path)
        if before is not None and before[0] == state:
            self._known[path] = before
            return
        self._known[path] = state, try_summary(path)
