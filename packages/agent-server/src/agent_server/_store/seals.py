"""The keys under which something may be stored, each with a known text, by which a missing one is noticed before anything is done."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from .errors import StorageError
from .schema import seals
from .sealing import PLAIN, Seal


_PROBE = b"agent-server"


def check_keys(connection: sa.Connection, seal: Seal) -> None:
    """Return if all that is stored can be opened.

    Raises:
        StorageError: If a key is missing.
    """
    stored = connection.execute(sa.select(seals.c.key_id, seals.c.probe)).all()
    if seal.key_id == PLAIN and any(row.key_id != PLAIN for row in stored):
        raise StorageError("storage_keys: expected the key that the database was written with")
    for row in stored:
        seal.open(row.probe)


def enter_key(connection: sa.Connection, seal: Seal) -> None:
    """Enter the key that seals, if it is new."""
    row = {"key_id": seal.key_id, "probe": seal.close(_PROBE)}
    # Both dialects take this form.
    connection.execute(insert(seals).values(row).on_conflict_do_nothing())
