"""Errors of the database."""

from typing import Final

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError


NO_DATABASE: Final = "database: expected one that can be used now; the log says what it answers"
"""What a server says that is started while its database is away."""


class StorageError(Exception):
    """A database that this server cannot start with."""


def is_outage(error: Exception) -> bool:
    """Return whether an error means that the database cannot be used now: the same statement may work later.

    Errors about the values of one operation do not mean that.
    """
    if isinstance(error, (DataError, IntegrityError)):
        return False
    # PostgreSQL's class 54 is such an error, for instance a text of 10 kB, too long for an index.
    return isinstance(error, (DBAPIError, PoolTimeoutError)) and not _state(error).startswith("54")


def is_deadlock(error: Exception) -> bool:
    """Return whether PostgreSQL has ended a transaction because it and another waited for each other."""
    return _state(error) == "40P01"


def _state(error: Exception) -> str:
    return getattr(getattr(error, "orig", None), "sqlstate", None) or ""


def describe_fault(error: Exception) -> str:
    """Return a description of an error without statements and without the URL, which may hold a password."""
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines()
    # PostgreSQL's own messages name the host and the user, but never the password.
    return f"{type(cause).__name__}: {lines[0] if lines else 'no message'}"
