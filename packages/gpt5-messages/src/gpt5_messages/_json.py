"""Readers for decoded JSON of an unknown shape."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stream_text import MOST_COUNTED, is_list, is_object, read_count

from ._text import whole_characters


def mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping as it is, and an empty one for anything else."""
    return value if is_object(value) else {}


def iter_mappings(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings of a list; nothing for anything else."""
    if is_list(value):
        yield from filter(is_object, value)


def iter_parts(
    items: Iterable[Mapping[str, Any]], item_type: str, key: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the parts that all items of a type have in the list under `key`."""
    for item in items:
        if type_of(item) == item_type:
            yield from iter_mappings(item.get(key))


def text_or_none(value: object) -> str | None:
    """Return a text in whole characters, and None for anything else."""
    if not isinstance(value, str):
        return None
    return value if value.isascii() else whole_characters(value)


def text_at(value: Mapping[str, Any], key: str) -> str:
    """Return the text under `key` in whole characters, and an empty one for anything else."""
    return text_or_none(value.get(key)) or ""


def type_of(value: Mapping[str, Any]) -> str:
    """Return the `type` of an item, a part or an event; an empty text if it has none."""
    kind = value.get("type")
    # Asked of each item and event, again and again.
    return kind if type(kind) is str and kind.isascii() else text_or_none(kind) or ""


def count(counts: object, *keys: str) -> int:
    """Return the first count above 0 under one of the keys, however it is written; 0 if there is none."""
    found = (read_count(mapping(counts).get(key)) or 0 for key in keys)
    return next((number for number in found if 0 < number <= MOST_COUNTED), 0)
