"""Errors of the database."""

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError


class StorageError(Exception):
    """A database that this server cannot start with."""


def is_outage(error: Exception) -> bool:
    """Return whether an error means that the database cannot be used now: the same statement may work later.

    Errors about the values of one operation do not mean that.
    """
    if isinstance(error, (DataError, IntegrityError)):
        return False
    # PostgreSQL's class 54 is such an error, for instance a text of 10 kB, too long for an index.
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    return isinstance(error, (DBAPIError, PoolTimeoutError)) and not state.startswith("54")


def describe_fault(error: Exception) -> str:
    """Return a description of an error without statements and without the URL, which may hold a password."""
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines()
    # PostgreSQL's own messages name the host and the user, but never the password.
    return f"{type(cause).__name__}: {lines[0] if lines else 'no message'}"
