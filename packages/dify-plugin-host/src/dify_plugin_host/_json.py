"""Decoded JSON, as far as the type checker needs to know it."""

from typing import Any, TypeGuard


type JsonObject = dict[str, Any]


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Tell whether a decoded JSON value is an object."""
    return isinstance(value, dict)
