"""The tables, and the migrations of older databases."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from .errors import StorageError
from .sessions import lift_limits


metadata = sa.MetaData()

# SQLite numbers rows by itself only with INTEGER.
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
    sa.Column("losses", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("keep", sa.BigInteger),
    sa.Column("part", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("part_attempt", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("part_event", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("wait_id", sa.Text),
    sa.Column("waiting_since", sa.BigInteger),
    sa.Column("question", sa.LargeBinary),
    sa.Column("answer", sa.LargeBinary),
    sa.Column("state", sa.LargeBinary),
    sa.Column("shown", sa.LargeBinary),
    sa.Column("engine", sa.Text, nullable=False, server_default="tables"),
    sa.Column("origin", sa.Text),
    sa.UniqueConstraint("executor", "tenant", "idempotency"),
    sqlite_autoincrement=True,
)
"""One row per run.

`server` is the one that executes it, or did so last, and `losses` counts the servers that died under it. Times are in
microseconds since 1970.

`keep` is for how many microseconds it is kept once it has ended, if less than others. `part` counts the answers to what
a run has waited for; `part_attempt` and `part_event` are its attempts and events by the last of them. A waiting run has
`wait_id`, `waiting_since` and `question`; `state` and `answer` are what it continues from. The `state` of a finished run
is for the next run of its conversation.

`engine` executes it: `tables` for the servers themselves. `origin` is what a run comes from, as JSON: `traceparent`,
and the first run of its `conversation`.

The request of a finished run is deleted, since it may hold credentials; `shown` is what clients may read of it.

A `request`, `answer`, `state` or `shown` over 128 KiB is empty here, and stands among the payloads under its name.
"""

SEEN = [one for one in runs.c if one.name not in {"request", "answer", "state", "shown"}]
"""The columns that clients see, without those that may hold something large."""


def _index_some(where: sa.TextClause, name: str, *columns: sa.Column[Any]) -> sa.Index:
    """Return an index of only some rows."""
    return sa.Index(name, *columns, sqlite_where=where, postgresql_where=where)


_unfinished = sa.text("finished_at IS NULL")
_finished = sa.text("finished_at IS NOT NULL")
_indexes = (
    sa.Index("agent_runs_page", runs.c.executor, runs.c.tenant, runs.c.seq),
    _index_some(_unfinished, "agent_runs_queue", runs.c.status, runs.c.executor, runs.c.seq),
    _index_some(_unfinished, "agent_runs_active", runs.c.executor, runs.c.tenant),
    _index_some(_finished, "agent_runs_finished", runs.c.finished_at),
)

labels = sa.Table(
    "agent_run_labels",
    metadata,
    sa.Column("run", _SERIAL, nullable=False),
    sa.Column("label", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("run", "label"),
)
"""Digests of names and texts of metadata, by which runs are found."""

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
"""Batches of events, each with the numbers `first` to `last`."""

steps = sa.Table(
    "agent_run_steps",
    metadata,
    sa.Column("run", _SERIAL, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("result", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("run", "key"),
)
"""The recorded results of steps of unfinished runs."""

marks = sa.Table(
    "agent_run_marks",
    metadata,
    sa.Column("run", sa.BigInteger, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("told", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("run", "key"),
)
"""Steps of runs of other engines that were begun in this part: the number of the newest try, and of the events that all tries have stored.

The run itself has the key `""`.
"""

payloads = sa.Table(
    "agent_run_payloads",
    metadata,
    sa.Column("run", sa.BigInteger, nullable=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("run", "id"),
)
"""What is too large for a run's row, by its column, or for the history of another engine, kept as long as the run."""

answers = sa.Table(
    "agent_run_answers",
    metadata,
    sa.Column("run", sa.BigInteger, nullable=False),
    sa.Column("wait_id", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("run", "wait_id"),
)
"""Digests of the answers that runs were given, by which the same answer is recognised when it comes again."""

servers = sa.Table(
    "agent_servers",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("executor", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("key_id", sa.Text, nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False),
    sa.Column("keys", sa.Text, nullable=False, server_default=""),
    sa.Column("agents", sa.Text, nullable=False, server_default="[]"),
    sa.Column("versions", sa.Text, nullable=False, server_default="[]"),
)
"""The servers that are alive, each with a growing `beat`. `token` distinguishes a server from a later one of the same name.

`key_id` is the id of the key that it encrypts with, `keys` are the ids of all its keys, separated by commas. `agents`
is a JSON list of names, and `versions` one of the versions of runs that it can continue with.
"""

encryption_keys = sa.Table(
    "agent_server_seals",
    metadata,
    sa.Column("key_id", sa.Text, primary_key=True),
    sa.Column("probe", sa.LargeBinary, nullable=False),
    sa.Column("used_at", sa.BigInteger, nullable=False, server_default=sa.text("0")),
)
"""The keys that stored content may be encrypted with, each with a known text, so that a missing key is noticed at the start.

`used_at` is when a process of another engine last said that it encrypts with it: `servers` knows only those of the
tables.
"""

webhooks = sa.Table(
    "agent_webhooks",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("executor", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("wait_id", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("next_at", sa.BigInteger, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
)
"""Messages that the webhook has not got yet, each with the state that a run came into.

`next_at` is when to send it next; a server that sends it moves that on first.
"""

_webhook_indexes = (
    sa.Index("agent_webhooks_due", webhooks.c.executor, webhooks.c.next_at),
    sa.Index("agent_webhooks_age", webhooks.c.created_at),
)

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


_FROM_1_TO_2 = (
    "ALTER TABLE agent_runs ADD COLUMN losses INTEGER DEFAULT 0 NOT NULL",
    "ALTER TABLE agent_servers ADD COLUMN keys TEXT DEFAULT '' NOT NULL",
    "ALTER TABLE agent_servers ADD COLUMN agents TEXT DEFAULT '[]' NOT NULL",
    "UPDATE agent_servers SET keys = key_id",
)

# Fingerprints of version 2 were plain digests of the requests, not HMACs under the storage key.
_FROM_2_TO_3 = ("UPDATE agent_runs SET fingerprint = ''",)

_FROM_3_TO_4 = (
    "ALTER TABLE agent_runs ADD COLUMN keep BIGINT",
    "ALTER TABLE agent_runs ADD COLUMN part INTEGER DEFAULT 0 NOT NULL",
    "ALTER TABLE agent_runs ADD COLUMN part_attempt INTEGER DEFAULT 0 NOT NULL",
    "ALTER TABLE agent_runs ADD COLUMN part_event INTEGER DEFAULT 0 NOT NULL",
    "ALTER TABLE agent_runs ADD COLUMN wait_id TEXT",
    "ALTER TABLE agent_runs ADD COLUMN waiting_since BIGINT",
    "ALTER TABLE agent_runs ADD COLUMN question {bytes}",
    "ALTER TABLE agent_runs ADD COLUMN answer {bytes}",
    "ALTER TABLE agent_runs ADD COLUMN state {bytes}",
    "ALTER TABLE agent_runs ADD COLUMN shown {bytes}",
    "ALTER TABLE agent_servers ADD COLUMN versions TEXT DEFAULT '[]' NOT NULL",
    "CREATE TABLE agent_run_answers (run BIGINT NOT NULL, wait_id TEXT NOT NULL, fingerprint TEXT NOT NULL, PRIMARY KEY (run, wait_id))",
    "CREATE TABLE agent_webhooks (id TEXT NOT NULL, executor TEXT NOT NULL, run_id TEXT NOT NULL, tenant TEXT NOT NULL, agent TEXT NOT NULL, status TEXT NOT NULL, wait_id TEXT, created_at BIGINT NOT NULL, next_at BIGINT NOT NULL, tries INTEGER NOT NULL, PRIMARY KEY (id))",
    "CREATE INDEX agent_webhooks_due ON agent_webhooks (executor, next_at)",
    "CREATE INDEX agent_webhooks_age ON agent_webhooks (created_at)",
)

_FROM_4_TO_5 = (
    "ALTER TABLE agent_runs ADD COLUMN engine TEXT DEFAULT 'tables' NOT NULL",
    "ALTER TABLE agent_server_seals ADD COLUMN used_at BIGINT DEFAULT 0 NOT NULL",
    "CREATE TABLE agent_run_marks (run BIGINT NOT NULL, key TEXT NOT NULL, tries INTEGER NOT NULL, told INTEGER NOT NULL, PRIMARY KEY (run, key))",
    "CREATE TABLE agent_run_payloads (run BIGINT NOT NULL, id TEXT NOT NULL, body {bytes} NOT NULL, PRIMARY KEY (run, id))",
)

_FROM_5_TO_6 = ("ALTER TABLE agent_runs ADD COLUMN origin TEXT",)

# Version 6 would not find what is stored apart from its run, and looks for nothing else in the rows that there are.
_FROM_6_TO_7 = ()

# The first migrates a database from version 1 to 2, and so on. Released migrations are never changed;
# new ones are added after them.
_MIGRATIONS = (_FROM_1_TO_2, _FROM_2_TO_3, _FROM_3_TO_4, _FROM_4_TO_5, _FROM_5_TO_6, _FROM_6_TO_7)
_VERSION = 1 + len(_MIGRATIONS)


def migrate(connection: sa.Connection) -> None:
    """Migrate a database to this version in the connection's transaction; an empty one gets all tables.

    Raises:
        StorageError: If a later version of this package has written it.
    """
    if connection.dialect.name == "postgresql":  # pragma: no cover - nox -s postgresql
        # Servers that start at the same time wait for each other; the number of the lock is our choice.
        # A migration also waits for a backup to end, and may take long itself, so no limits apply.
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
        lift_limits(connection)
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(727465131)")
    connection.execute(CreateTable(_versions, if_not_exists=True))
    version = connection.scalar(sa.select(_versions.c.version))
    if version is None:
        _create_tables(connection)
    elif version > _VERSION:
        raise StorageError(
            f"database: its schema version {version} is newer than this release supports ({_VERSION})"
        )
    else:
        kind = sa.LargeBinary().compile(dialect=connection.dialect)
        for statement in (one for step in _MIGRATIONS[version - 1 :] for one in step):
            connection.exec_driver_sql(statement.format(bytes=kind))
    if version != _VERSION:
        connection.execute(sa.delete(_versions))
        connection.execute(sa.insert(_versions).values(version=_VERSION))
