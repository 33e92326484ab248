"""The fields of a value that may be a mapping (a dump) or an object (an SDK model)."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, cast


def read_field(raw: object, name: str) -> Any:
    """Return the field `name` of a mapping or an object, None when it has no such field."""
    if isinstance(raw, Mapping):
        return cast("Mapping[str, Any]", raw).get(name)
    return getattr(raw, name, None)


def plain_value(value: object) -> object:
    """Return an enum member's value, and anything else as it is."""
    return value.value if isinstance(value, Enum) else value
