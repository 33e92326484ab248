"""The properties of each type of output item: its id, its status, its events.

Source: recorded streams of OpenAI and Azure; the types of openai 3.54.0.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpt5_simulator._json import Json, object_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemKind:
    """The properties of one type of output item.

    Attributes:
        prefix: The prefix of its ids.
        status: Its status when it is added and when it is done; None if it has none.
        defaults: Fields that every such item has, with their usual values.
        opened: Fields with their values when it is added.
        is_bare: Whether it is added with only its id, type and status.
        steps: Its events between `added` and `done`: `summary`, `content`, `text`, `commands`, `outputs` and `pictures` are several events each.
        text: The name of the events of its text, and the path of that text in the item.
        included: Fields that are only sent to a request that includes them, by their path.
        is_billed: Whether it counts as a call of a built-in tool for `max_tool_calls`.
        is_answered: Whether the client answers it, by its call id.
    """

    prefix: str
    status: Sequence[str | None] = ("in_progress", "completed")
    defaults: Json = field(default_factory=dict[str, object])
    opened: Json = field(default_factory=dict[str, object])
    is_bare: bool = False
    steps: Sequence[str] = ()
    text: tuple[str, Sequence[str]] | None = None
    included: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    is_billed: bool = False
    is_answered: bool = False


_KINDS = {
    name: ItemKind(**properties)
    for name, properties in json.loads(
        Path(__file__).with_name("item_kinds.json").read_text("utf-8")
    ).items()
}
_UNKNOWN = ItemKind(prefix="item")


def kind_of(item: Mapping[str, object]) -> ItemKind:
    """Return the properties of an item's type; an unknown type has none."""
    return _KINDS.get(str(item.get("type")), _UNKNOWN)


def text_of(item: Json) -> str | None:
    """Return the text that an item's events spell out; None if it has none."""
    named = kind_of(item).text
    if named is None:
        return None
    *folders, key = named[1]
    for folder in folders:
        item = object_at(item, folder)
    found: object = item.get(key)
    return found if isinstance(found, str) else None


def with_text(item: Json, text: str) -> Json:
    """Return an item with another text in place of the one that its events spell out; an item without such a text as it is."""
    named = kind_of(item).text
    return item if named is None or text_of(item) is None else _replaced(item, named[1], text)


def _replaced(value: Json, path: Sequence[str], text: str) -> Json:
    key, *rest = path
    inner = _replaced(object_at(value, key), rest, text) if rest else text
    return value | {key: inner}


def without_unasked(item: Json, include: frozenset[str]) -> Json:
    """Return an item without the fields that the request does not include; a field that every such item has becomes null."""
    kind = kind_of(item)
    for name, path in kind.included.items():
        if name not in include:
            item = _without(item, path, is_kept=path[0] in kind.defaults and len(path) == 1)
    return item


def _without(value: Json, path: Sequence[str], *, is_kept: bool) -> Json:
    key, *rest = path
    if key not in value:
        return value
    if rest:
        return value | {key: _without(object_at(value, key), rest, is_kept=is_kept)}
    return {name: inner for name, inner in value.items() if name != key} | (
        {key: None} if is_kept else {}
    )
