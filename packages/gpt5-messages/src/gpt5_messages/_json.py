"""Readers for decoded JSON of an unknown shape."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from stream_text import MOST_COUNTED

from ._text import whole_characters


_INDEX_DIGITS = 10


def mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping as it is, and an empty one for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def iter_mappings(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings of a list; nothing for anything else."""
    if isinstance(value, (list, tuple)):
        for entry in cast("Iterable[object]", value):
            if isinstance(entry, Mapping):
                yield cast("Mapping[str, Any]", entry)


def iter_parts(
    items: Iterable[Mapping[str, Any]], item_type: str, key: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the parts that all items of a type have in the list under `key`."""
    for item in items:
        if type_of(item) == item_type:
            yield from iter_mappings(item.get(key))


def text_or_none(value: object) -> str | None:
    """Return a text in whole characters, and None for anything else."""
    return whole_characters(value) if isinstance(value, str) else None


def text_at(value: Mapping[str, Any], key: str) -> str:
    """Return the text under `key` in whole characters, and an empty one for anything else."""
    return text_or_none(value.get(key)) or ""


def type_of(value: Mapping[str, Any]) -> str:
    """Return the `type` of an item, a part or an event; an empty text if it has none."""
    return text_or_none(value.get("type")) or ""


def index_or_none(value: object) -> int | None:
    """Return a number from 0 up that a server has written as one or as a text, and None for anything else."""
    if isinstance(value, str) and value.isdecimal() and len(value) < _INDEX_DIGITS:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count(counts: object, key: str) -> int:
    """Read a count; one that is missing, null, negative or nonsense is 0."""
    value = mapping(counts).get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if 0 < value <= MOST_COUNTED else 0
