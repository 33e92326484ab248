"""The folder in which a server keeps its runs."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ._errors import ConfigurationError


_LOCK = "lock"
_DATABASE = "runs.sqlite"


def default_state_folder() -> Path:
    """Return where a user's programs keep such things.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/, `XDG_STATE_HOME`.
    """
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base, "agent-runner")


@contextmanager
def locked_state(folder: Path) -> Generator[None]:
    """Lock a state folder, which is made if need be and its owner's only, for one server at a time.

    Raises:
        ConfigurationError: If the folder cannot be written, or another server holds it.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = _open_private(folder / _LOCK)
    except OSError as error:
        raise ConfigurationError(
            str(folder), f"expected a folder to write to: {error.strerror}"
        ) from error
    with os.fdopen(lock, "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigurationError(
                str(folder), "expected a state folder that no other server uses"
            ) from None
        yield


class Connection(sqlite3.Connection):
    """A connection that knows `unixepoch('subsec')`, which DBOS relies on and SQLite has from 3.42 on; Debian 12 has 3.40."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if sqlite3.sqlite_version_info < (3, 42):  # pragma: no branch - whichever is installed
            self.create_function("unixepoch", 1, _unixepoch)


def sqlite_url(folder: Path) -> str:
    """Return the URL of the database in a state folder; its file is the owner's only, for it holds what users said."""
    path = (folder / _DATABASE).absolute()
    os.close(_open_private(path))
    with closing(sqlite3.connect(path)) as connection:
        # Kept in the file: whoever follows a run does not hold up who writes it.
        connection.execute("PRAGMA journal_mode=WAL")
    return f"sqlite:///{path}"


def _unixepoch(_: str) -> float:
    return time.time()


def _open_private(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
