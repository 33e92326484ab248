"""Opening the database: SQLite with a write-ahead log, or PostgreSQL."""

import logging
import os
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from agent_server.executor import Executor
from agent_server.settings import ServerSettings

from .clock import add_clock
from .encryption import Encryption, check_keys
from .errors import StorageError, describe_fault
from .pulse import FILE_PATIENCE_SECONDS, PATIENCE_SECONDS
from .schema import migrate
from .sessions import CLIENT_LIMITS, Sessions


_logger = logging.getLogger("agent_server")

_READERS = 4
# Transactions of others are short. If a writer has to wait for longer, the database counts as away.
_BUSY_MILLISECONDS = 2000
_AGAIN_SECONDS = 0.02
_INCREMENTAL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """An open database.

    Attributes:
        writer: One connection that begins each transaction by taking the right to write.
        reader: A few connections for reading.
        encryption: Encrypts stored content.
        url: Its URL, which may hold a password.
        sessions: The sessions of both with PostgreSQL.
    """

    writer: sa.Engine
    reader: sa.Engine
    encryption: Encryption
    url: sa.URL
    sessions: Sessions = field(default_factory=Sessions)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of this machine."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def patience_seconds(self) -> float:
        """How long it may do nothing before it counts as away."""
        return FILE_PATIENCE_SECONDS if self.is_sqlite else PATIENCE_SECONDS

    def close(self) -> None:
        """Close all connections."""
        self.writer.dispose()
        self.reader.dispose()


def open_database(settings: ServerSettings, executor: Executor) -> Database:
    """Open the database of a server, and create or migrate its tables.

    A SQLite file and its folder are created with access for their owner only; if other users can read an existing file, that is changed.

    Raises:
        StorageError: If it cannot be used, a newer version has written it, or a key is missing.
    """
    url = sa.make_url(_find_url(settings, executor))
    keys = settings.storage_keys
    encryption = Encryption("" if keys is None else keys.get_secret_value())
    is_sqlite = url.get_backend_name() == "sqlite"
    try:
        database = (_open_sqlite if is_sqlite else _open_postgresql)(url, encryption)
        try:
            if is_sqlite:  # pragma: no branch - nox -s postgresql
                _let_shrink(database.writer)
            with database.writer.begin() as connection:
                migrate(connection)
                check_keys(connection, encryption)
        except Exception:
            database.close()
            raise
    except (OSError, sqlite3.Error, SQLAlchemyError) as error:
        which = f"{url.database}: " if is_sqlite else ""
        raise StorageError(
            f"database: expected one that can be opened: {which}{describe_fault(error)}"
        ) from error
    return database


def state_folder(settings: ServerSettings, executor: Executor) -> Path:
    """Return the folder for the server's own files: the one in the settings, or one where a user's programs keep their state.

    Source: https://specifications.freedesktop.org/basedir-spec/latest/, `XDG_STATE_HOME`.
    """
    if settings.state is not None:
        return settings.state
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base, executor.name)


def _find_url(settings: ServerSettings, executor: Executor) -> str:
    if settings.database is not None:
        return settings.database.get_secret_value()
    return f"sqlite:///{state_folder(settings, executor).absolute() / 'runs.sqlite'}"


def _open_sqlite(url: sa.URL, encryption: Encryption) -> Database:
    _create_private_file(Path(url.database or ""))
    url = url.set(drivername="sqlite")
    writer, reader = _create_engine(url, 1), _create_engine(url, _READERS)
    for engine, begin in ((writer, "BEGIN IMMEDIATE"), (reader, "BEGIN")):
        event.listen(engine, "connect", _prepare_sqlite_connection)
        event.listen(engine, "begin", _begin_with(begin))
    return Database(writer=writer, reader=reader, encryption=encryption, url=url)


def _create_engine(url: sa.URL, size: int, **more: Any) -> sa.Engine:
    # Parameters may hold requests, so they are hidden in errors and logs.
    return sa.create_engine(url, pool_size=size, max_overflow=0, hide_parameters=True, **more)


def _create_private_file(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    path.chmod(0o600)


def _prepare_sqlite_connection(connection: sqlite3.Connection, _record: object) -> None:
    # Python would begin a transaction only before the first change, after the reads that it is based on.
    connection.isolation_level = None
    add_clock(connection)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
    if connection.execute("PRAGMA page_count").fetchone() == (0,):
        # Has an effect only before the first table exists, and would write later.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA secure_delete = ON")  # Requests may hold credentials.
    _keep_write_ahead_log(connection)
    # Runs that were accepted must survive a power cut.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA journal_size_limit = 16777216")


def _let_shrink(engine: sa.Engine) -> None:
    """Rewrite a file that cannot shrink, once: one that was created without `auto_vacuum`, for instance from a dump."""
    with closing(engine.raw_connection()) as raw, closing(raw.cursor()) as cursor:
        if cursor.execute("PRAGMA auto_vacuum").fetchone() == (_INCREMENTAL,):
            return
        try:
            cursor.execute("PRAGMA auto_vacuum = INCREMENTAL")
            cursor.execute("VACUUM")
        except sqlite3.OperationalError as error:
            _logger.warning("the database's file does not shrink: %s", error)


def _keep_write_ahead_log(connection: sqlite3.Connection) -> None:
    deadline = time.monotonic() + _BUSY_MILLISECONDS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            # Unlike elsewhere, SQLite does not wait here while another server does the same to a new file.
            if time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_SECONDS)
        else:
            return


def _begin_with(statement: str):  # noqa: ANN202
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(statement)

    return begin


def _open_postgresql(
    url: sa.URL, encryption: Encryption
) -> Database:  # pragma: no cover - nox -s postgresql
    url = url.set(drivername="postgresql+psycopg")
    writer = _create_engine(url, 1, connect_args=CLIENT_LIMITS)
    reader = _create_engine(url, _READERS, connect_args=CLIENT_LIMITS, pool_pre_ping=True)
    database = Database(writer=writer, reader=reader, encryption=encryption, url=url)
    for engine in (writer, reader):
        database.sessions.follow(engine)
    return database
