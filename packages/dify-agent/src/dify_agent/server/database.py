"""The database of a server: DBOS's tables, and two small ones beside them."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateTable

from ._errors import StorageError
from .sealing import Seal


metadata = sa.MetaData()

requests = sa.Table(
    "dify_agent_request",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
)
"""The requests of runs that are not finished, sealed. They hold credentials, so DBOS's tables never get them."""

leases = sa.Table(
    "dify_agent_lease",
    metadata,
    sa.Column("executor_id", sa.Text, primary_key=True),
    sa.Column("beat", sa.Integer, nullable=False),
)
"""The servers that are alive; each lets its beat grow."""


seals = sa.Table("dify_agent_seal", metadata, sa.Column("probe", sa.Text, primary_key=True))
"""A known text, sealed as everything else is, to notice a wrong key before anything is done."""

_PROBE: Final = b"dify-agent"


def open_database(url: str, seal: Seal) -> sa.Engine:
    """Open the database, create what is missing of our tables, and check that its content was made with this seal.

    A SQLite file is created for its owner alone, and so is its folder; one that others can read is closed to them.

    Raises:
        StorageError: If the database cannot be used, or its content was stored under another key or without one.
    """
    parsed = sa.make_url(url)
    try:
        is_sqlite = parsed.get_backend_name() == "sqlite"
        engine = _open_sqlite(parsed) if is_sqlite else _open_postgresql(parsed)
        _create_tables(engine)
        _validate_seal(engine, seal)
    except (OSError, SQLAlchemyError) as error:
        raise StorageError(f"DIFY_AGENT_DATABASE_URL: cannot use the database: {error}") from error
    return engine


def _create_tables(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        for table in metadata.sorted_tables:
            # Not `create_all`, which looks first and creates then: another server may have come between.
            connection.execute(CreateTable(table, if_not_exists=True))


def _validate_seal(engine: sa.Engine, seal: Seal) -> None:
    with engine.begin() as connection:
        stored = connection.execute(sa.select(seals.c.probe)).scalars().all()
        if not stored:
            connection.execute(sa.insert(seals).values(probe=seal.close(_PROBE)))
    for probe in stored:
        seal.open(probe)


def _open_postgresql(url: sa.URL) -> sa.Engine:
    driver = url.set(drivername="postgresql+psycopg")
    return sa.create_engine(driver, pool_pre_ping=True, hide_parameters=True)


def _open_sqlite(url: sa.URL) -> sa.Engine:
    """Open a SQLite file as DBOS would, with a write-ahead log, so that readers do not hold up a writer."""
    _create_private_file(Path(url.database or ""))
    # As many connections as DBOS would open: the default number is soon taken by those who wait to write.
    engine = sa.create_engine(url, pool_size=20, max_overflow=0, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite_connection)
    return engine


def _create_private_file(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    path.chmod(0o600)


def _prepare_sqlite_connection(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = "IMMEDIATE"
    connection.execute("PRAGMA busy_timeout = 30000")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_mode = WAL")
    # SQLite before 3.42 knows no `unixepoch('subsec')`, which is the clock of DBOS.
    connection.create_function("unixepoch", 1, _unix_time)


def _unix_time(_modifier: str) -> float:
    return time.time()
