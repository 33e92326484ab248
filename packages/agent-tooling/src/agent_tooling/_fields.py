"""The fields of a platform's values, which may hold members of enums."""

from enum import Enum


def plain_value(value: object) -> object:
    """Return an enum member's value, and anything else as it is."""
    return value.value if isinstance(value, Enum) else value
