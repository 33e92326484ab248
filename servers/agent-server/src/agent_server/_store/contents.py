"""What a run holds that may be as large as a body: its request, what is shown of it, an answer and a state.

SQLite writes a run's row anew with each batch of events, and copies it for that. So what is large has a row of its
own, and the run's column is empty.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from stream_text import LARGE_TEXT

from .encryption import Encryption
from .schema import payloads, runs


_APART = b""  # Whatever is stored begins with the id of its key.
# Statements that every run needs are built once: building one takes longer than executing it.
_FIND = sa.select(payloads.c.body).where(
    payloads.c.run == sa.bindparam("of"), payloads.c.id == sa.bindparam("named")
)
# SQLite takes this form of insert, too.
_PUT = insert(payloads).on_conflict_do_nothing()


def in_row(stored: bytes | None) -> bytes | None:
    """Return what the column of a run's row has of something in its stored form."""
    return _APART if stored is not None and len(stored) > LARGE_TEXT else stored


def keep_apart(connection: sa.Connection, seq: int, **columns: bytes | None) -> None:
    """Store what the columns of a run do not have, each in its stored form."""
    for name, stored in columns.items():
        if stored and in_row(stored) is _APART:
            connection.execute(_PUT, {"run": seq, "id": name, "body": stored})
            # SQLite keeps what a statement was given until it is given something else; the row is there already.
            connection.execute(_PUT, {"run": seq, "id": name, "body": _APART})


def load(connection: sa.Connection, row: sa.Row[Any], name: str, encryption: Encryption) -> bytes:
    """Return something of the run in a row that has `seq` and this column.

    Raises:
        StorageError: If it cannot be decrypted.
    """
    stored = getattr(row, name)
    if stored == _APART:
        stored = connection.scalar(_FIND, {"of": row.seq, "named": name})
    return encryption.decrypt(stored or _APART)


def length(column: sa.Column[bytes]) -> sa.ColumnElement[int]:
    """Return how long something of a run is; 0 for nothing. SQLite reads nothing of it for that."""
    apart = sa.select(sa.func.length(payloads.c.body)).where(
        payloads.c.run == runs.c.seq, payloads.c.id == column.name
    )
    stored = sa.func.length(column)
    return sa.func.coalesce(sa.case((stored == 0, apart.scalar_subquery()), else_=stored), 0)
