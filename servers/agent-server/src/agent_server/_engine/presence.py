"""Whether servers of this machine live: the kernel knows at once when a process has ended, where a lease takes a while."""

import fcntl
import os
from pathlib import Path


class Presence:
    """A locked file beside a SQLite database, which is unlocked the moment its server's process ends, however it ends.

    Where there can be no such file, or the file system has no locks, nobody is found to be gone.

    Args:
        database: The database's file.
        token: This server's token.
    """

    def __init__(self, database: Path, token: str) -> None:
        self._database = database
        self._file: Path | None = None
        file = self._find_file(token)
        try:
            self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return
        self._file = file
        # Where a file system only pretends to lock, everybody would seem to be gone.
        if not (_lock(self._descriptor) and self._is_locked(file)):
            self.close()

    def is_gone(self, token: str) -> bool:
        """Return whether a server is certain to be gone, and clear up after it."""
        if self._file is None:
            return False
        file = self._find_file(token)
        if self._is_locked(file):
            return False
        file.unlink(missing_ok=True)
        return True

    def close(self) -> None:
        """Be gone."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._file = None

    def _find_file(self, token: str) -> Path:
        return self._database.with_name(f"{self._database.name}-{token}.alive")

    def _is_locked(self, file: Path) -> bool:
        """Return whether somebody holds the lock of a file, or that cannot be found out."""
        try:
            descriptor = os.open(file, os.O_RDWR)
        except OSError:
            return True
        try:
            return not _lock(descriptor)
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file, and return whether that could be done."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # Somebody has it, or the file system knows no locks.
        return False
    return True
