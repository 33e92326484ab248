"""The tables, and how a database of an older version gets them."""

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from .errors import StorageError


metadata = sa.MetaData()

_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")

runs = sa.Table(
    "agent_runs",
    metadata,
    sa.Column("seq", _SERIAL, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False, unique=True),
    sa.Column("executor", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("server", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("started_at", sa.BigInteger),
    sa.Column("finished_at", sa.BigInteger),
    sa.Column("cancel_requested", sa.Boolean, nullable=False),
    sa.Column("cancel_reason", sa.LargeBinary),
    sa.Column("metadata", sa.LargeBinary, nullable=False),
    sa.Column("idempotency", sa.LargeBinary),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("request", sa.LargeBinary),
    sa.Column("result", sa.LargeBinary),
    sa.Column("last_event", sa.Integer, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("executor", "tenant", "idempotency"),
    sqlite_autoincrement=True,
)
"""One row a run. `server` is who executes it, or did last. Times are in microseconds since 1970.

A finished run has no request any more: it may hold credentials.
"""

_unfinished = sa.text("finished_at IS NULL")
_finished = sa.text("finished_at IS NOT NULL")
_indexes = (
    sa.Index("agent_runs_page", runs.c.executor, runs.c.tenant, runs.c.seq),
    sa.Index(
        "agent_runs_queue",
        runs.c.status,
        runs.c.executor,
        runs.c.seq,
        sqlite_where=_unfinished,
        postgresql_where=_unfinished,
    ),
    sa.Index(
        "agent_runs_active",
        runs.c.executor,
        runs.c.tenant,
        sqlite_where=_unfinished,
        postgresql_where=_unfinished,
    ),
    sa.Index(
        "agent_runs_finished",
        runs.c.finished_at,
        sqlite_where=_finished,
        postgresql_where=_finished,
    ),
)

labels = sa.Table(
    "agent_run_labels",
    metadata,
    sa.Column("run", _SERIAL, nullable=False),
    sa.Column("label", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("run", "label"),
)
"""Digests of the names and texts of metadata, by which runs are found."""

_labels_index = sa.Index("agent_run_labels_label", labels.c.label, labels.c.run)

events = sa.Table(
    "agent_run_events",
    metadata,
    sa.Column("run", _SERIAL, nullable=False),
    sa.Column("first", sa.Integer, nullable=False),
    sa.Column("last", sa.Integer, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("run", "first"),
)
"""Events in batches: those numbered `first` to `last`."""

steps = sa.Table(
    "agent_run_steps",
    metadata,
    sa.Column("run", _SERIAL, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("result", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("run", "key"),
)
"""What steps of unfinished runs came to."""

servers = sa.Table(
    "agent_servers",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("executor", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("key_id", sa.Text, nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False),
)
"""The servers that are alive; each lets its beat grow. `token` tells a server from a later one of the same name."""

seals = sa.Table(
    "agent_server_seals",
    metadata,
    sa.Column("key_id", sa.Text, primary_key=True),
    sa.Column("probe", sa.LargeBinary, nullable=False),
)
"""The keys under which something may be stored, each with a known text, to notice a missing one before anything is done."""

_versions = sa.Table(
    "agent_server_schema",
    metadata,
    sa.Column("version", sa.Integer, nullable=False),
)


def _create_tables(connection: sa.Connection) -> None:
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))


# Step N brings a database of version N to N + 1. Steps that were released are never changed, only followed by others.
_MIGRATIONS = (_create_tables,)


def migrate(connection: sa.Connection) -> None:
    """Bring a database to this version, within the connection's transaction.

    Raises:
        StorageError: If a later version of this package has written it.
    """
    if connection.dialect.name == "postgresql":  # pragma: no cover - nox -s postgresql
        # Servers that start at the same time wait for each other. The number is ours.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(727465131)")
    connection.execute(CreateTable(_versions, if_not_exists=True))
    version = connection.scalar(sa.select(_versions.c.version)) or 0
    if version > len(_MIGRATIONS):
        raise StorageError(
            f"database: expected one of version {len(_MIGRATIONS)} or older, and this one is of {version};"
            " a newer release has written it"
        )
    for step in _MIGRATIONS[version:]:
        step(connection)
    if version < len(_MIGRATIONS):
        connection.execute(sa.delete(_versions))
        connection.execute(sa.insert(_versions).values(version=len(_MIGRATIONS)))
