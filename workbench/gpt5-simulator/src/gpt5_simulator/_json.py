"""Decoded JSON: its type, type guards, ways to read and write it."""

import json
from collections.abc import Mapping
from typing import Any, TypeGuard


type Json = dict[str, Any]


def is_object(value: object) -> TypeGuard[Json]:
    """Return whether a decoded JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Return whether a decoded JSON value is an array."""
    return isinstance(value, list)


def objects_in(value: object) -> list[Json]:
    """Return the objects of a decoded JSON array; anything else counts as an empty one."""
    return [entry for entry in value if is_object(entry)] if is_array(value) else []


def object_at(value: Mapping[str, Any], key: str) -> Json:
    """Return the object under `key`; anything else counts as an empty one."""
    found: object = value.get(key)
    return found if is_object(found) else {}


def decoded(text: bytes) -> object:
    """Return the value of a JSON text; None if it is not JSON, or nests too deep."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def object_in(text: bytes) -> Json:
    """Return the object in a JSON text; anything else counts as an empty one."""
    found = decoded(text)
    return found if is_object(found) else {}


def dump(value: object) -> str:
    """Write a value as the compact JSON that goes over the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encode(value: Json) -> bytes:
    """Write a JSON object as bytes; a lone surrogate, which UTF-8 cannot encode, stays a JSON escape."""
    return dump(value).encode(errors="backslashreplace")
