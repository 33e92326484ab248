"""Typed access to decoded JSON."""

from typing import Any, TypeGuard


__all__ = ["JsonObject", "is_list", "is_object", "list_at", "object_at", "objects_at"]

type JsonObject = dict[str, Any]
"""An object of JSON."""


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Tell whether a decoded JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether decoded JSON or YAML is a list."""
    return isinstance(value, list)


def object_at(value: JsonObject, *keys: str) -> JsonObject:
    """Return the object to which a path of keys leads; an empty one if there is none."""
    for key in keys:
        found = value.get(key)
        value = found if is_object(found) else {}
    return value


def list_at(value: JsonObject, key: str) -> list[Any]:
    """Return the list under `key`; an empty one if there is none."""
    found: Any = value.get(key)
    return list(found) if is_list(found) else []


def objects_at(value: JsonObject, key: str) -> list[JsonObject]:
    """Return the objects of the list under `key`; an empty list if there is none."""
    return [item for item in list_at(value, key) if is_object(item)]
