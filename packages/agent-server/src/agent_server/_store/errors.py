"""What goes wrong with a database."""

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError


class StorageError(Exception):
    """A database that this server cannot be started with."""


UNREACHABLE = (OperationalError, InterfaceError, PoolTimeoutError)
"""Faults of the way to the database, its disk or its locks: the same statements may well work later."""


def describe_fault(error: Exception) -> str:
    """Return what happened, without the URL, which may hold a password, and without statements."""
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines()
    # PostgreSQL's own messages name host and user, never the password.
    return f"{type(cause).__name__}: {lines[0] if lines else 'no message'}"
