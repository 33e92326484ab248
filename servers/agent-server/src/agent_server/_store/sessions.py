"""Sessions with PostgreSQL: their time limits on both sides, and which must not be used again.

A server that vanishes or is suspended inside a transaction holds locks that all others have to wait for.
"""

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine.interfaces import ExceptionContext
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from .errors import is_outage


if TYPE_CHECKING:
    import psycopg

_PEER_SILENCE_SECONDS = 5

CLIENT_LIMITS: dict[str, Any] = {
    "connect_timeout": 3,
    "tcp_user_timeout": _PEER_SILENCE_SECONDS * 1000,
    "keepalives_idle": _PEER_SILENCE_SECONDS,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "application_name": "agent-server",
}
"""Settings of libpq that decide how soon this side notices that PostgreSQL is gone."""

# How soon PostgreSQL notices that a server is gone, and its limits for the time between two
# statements of a transaction, for a lock, and for a statement.
_SERVER_LIMITS = {
    "idle_in_transaction_session_timeout": "5s",
    "lock_timeout": "2s",
    "statement_timeout": "30s",
    "tcp_user_timeout": f"{_PEER_SILENCE_SECONDS}s",
    "tcp_keepalives_idle": _PEER_SILENCE_SECONDS,
    "tcp_keepalives_interval": 2,
    "tcp_keepalives_count": 2,
}
_LIMIT = "; ".join(f"SET {name} = '{value}'" for name, value in _SERVER_LIMITS.items()).encode()


def limit(connection: "psycopg.Connection[Any]") -> None:  # pragma: no cover - nox -s postgresql
    """Set PostgreSQL's time limits for a new session."""
    # Not by libpq's `options`, which connection poolers refuse.
    connection.execute(_LIMIT)
    connection.commit()


def lift_limits(connection: sa.Connection) -> None:
    """Lift the time limit of statements for a transaction that works on a whole database, which may be large."""
    if connection.dialect.name == "postgresql":  # pragma: no cover - nox -s postgresql
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")


class Sessions:
    """The sessions of a server with PostgreSQL.

    A session older than an outage is never used again: after a failover another server may be behind the address, and
    the session would still talk to the old one.
    """

    def __init__(self) -> None:
        self._connections = WeakSet["psycopg.Connection[Any]"]()
        self._outages = 0

    def follow(self, engine: sa.Engine) -> None:  # pragma: no cover - nox -s postgresql
        """Register the sessions of an engine."""
        event.listen(engine, "connect", self._begin)
        event.listen(engine, "checkout", self._check)
        event.listen(engine, "handle_error", self._hear)

    def cut(self) -> None:  # pragma: no cover - nox -s postgresql
        """Break all connections, to end threads that wait for a silent database."""
        import psycopg  # noqa: PLC0415 - slow to load, and SQLite does without

        for connection in list(self._connections):
            with (
                suppress(OSError, psycopg.Error),
                socket.socket(fileno=os.dup(connection.fileno())) as line,
            ):
                line.shutdown(socket.SHUT_RDWR)

    def _begin(
        self, connection: "psycopg.Connection[Any]", _record: object
    ) -> None:  # pragma: no cover - nox -s postgresql
        self._connections.add(connection)
        limit(connection)

    def _check(
        self, _connection: object, record: ConnectionPoolEntry, _proxy: object
    ) -> None:  # pragma: no cover - nox -s postgresql
        # A new connection has no count yet, and gets the current one.
        if record.info.setdefault("outages", self._outages) < self._outages:
            raise DisconnectionError

    def _hear(self, context: ExceptionContext) -> None:  # pragma: no cover - nox -s postgresql
        error = context.sqlalchemy_exception
        self._outages += error is not None and is_outage(error)
