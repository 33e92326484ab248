"""The errors of databases."""

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError


class StorageError(Exception):
    """A database that this server cannot be started with."""


def is_outage(error: Exception) -> bool:
    """Return whether an error means that the database cannot be used now: the same statement may work later.

    Only what it has against the values of one operation is none.
    """
    if isinstance(error, (DataError, IntegrityError)):
        return False
    # PostgreSQL's class 54: an index takes no text of 10 kB, for one.
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    return isinstance(error, (DBAPIError, PoolTimeoutError)) and not state.startswith("54")


def describe_fault(error: Exception) -> str:
    """Return a description of an error without the URL, which may hold a password, and without statements."""
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines()
    # PostgreSQL's own messages name host and user, never the password.
    return f"{type(cause).__name__}: {lines[0] if lines else 'no message'}"
