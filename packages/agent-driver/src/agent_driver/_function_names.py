"""Names of the functions that a drive offers beside its tools."""

from collections.abc import Container
from itertools import chain, count


def free_name(name: str, taken: Container[object]) -> str:
    """Return a name that is not taken: `name` itself, or with the first number from 2 on that makes it one."""
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(candidate for candidate in names if candidate not in taken)
