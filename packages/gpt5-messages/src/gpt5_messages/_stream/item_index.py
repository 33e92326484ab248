"""The index that finds the item of a stream that an event belongs to."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any

from gpt5_messages._completion.events import StreamEvent
from gpt5_messages._completion.values import Item
from gpt5_messages._json import mapping, text_at, text_or_none, type_of
from gpt5_messages._kinds import CALL_ARGUMENTS, ITEM_TYPES

from .blocks import BlockLog
from .open_item import OpenItem


class ItemIndex:
    """The output items of one stream, found by `output_index`, by id, or else by the most likely match.

    Some servers rotate the ids, and some leave out the index, or put the same one on every item: once an item cannot be
    the one with its index, indexes no longer count.

    Args:
        log: The log that all blocks of the stream share.
    """

    def __init__(self, log: BlockLog) -> None:
        self._log = log
        self._items: dict[int, OpenItem] = {}
        self._index_by_id: dict[str, int] = {}
        self._index_by_call: dict[str, int] = {}
        self._last_of: dict[str, int] = {}  # the index of the last item of each type
        self._last = -1  # the highest index
        self._has_indexes = True  # whether the server's indexes distinguish items
        # Where deltas of this index and name went since the last event of another kind.
        self._routes: dict[tuple[int, str], OpenItem] = {}

    def in_order(self) -> Iterator[OpenItem]:
        """Yield the items in the order of the output."""
        return (self._items[index] for index in sorted(self._items))

    @property
    def are_whole(self) -> bool:
        """Whether all have ended and the last is one with which an answer can end."""
        done = [item.done for item in self.in_order()]
        if not done or any(
            item is None or item.get("status") not in (None, "completed") for item in done
        ):
            return False
        return type_of(done[-1] or {}) in ("message", *CALL_ARGUMENTS)

    def stop_all(self) -> list[StreamEvent]:
        """Close every block that is open."""
        return [event for item in self.in_order() for event in item.stop_all()]

    def find(self, event: Mapping[str, Any]) -> OpenItem:
        """Find or open the item that an event belongs to."""
        name, index = event["type"], event.get("output_index")
        if not isinstance(index, int) or not self._has_indexes:
            index = None
        elif (opened := self._routes.get((index, name))) is not None:
            return opened  # nearly always, and once for every delta
        item = mapping(event.get("item"))
        item_id = text_or_none(event.get("item_id") or item.get("id"))
        # The middle part of an event's name shows the type of an item that it does not carry.
        item_type = type_of(item) or ITEM_TYPES.get(name.split(".")[1], "")
        if index is None or self._is_taken(index, name, item, item_id, item_type):
            place = self._likely_index(name, item, item_id, item_type)
        else:
            place = index
        if item_id:
            self._index_by_id.setdefault(item_id, place)
        if item and (call_id := text_or_none(item.get("call_id"))):
            self._index_by_call.setdefault(call_id, place)
        self._last_of[item_type] = place
        opened = self._open(place)
        opened.item_id = opened.item_id or item_id
        if not name.endswith(".delta"):
            self._routes.clear()
        elif index is not None and self._has_indexes:
            self._routes[index, name] = opened
        return opened

    def pair(self, output: list[Item]) -> Iterator[tuple[Item, OpenItem | None]]:
        """Yield the items of the terminal response, each with the same item of the stream, or None if that is not known."""
        pairs: dict[int, int] = {}
        taken: set[int] = set()
        # The surest rule first for all items, so that no item is taken by a weaker rule for another.
        for rule in (self._with_id, self._with_call_id, self._at_position):
            for position, item in enumerate(output):
                index = rule(position, item)
                if index is not None and position not in pairs and index not in taken:
                    pairs[position] = index
                    taken.add(index)
        left: defaultdict[str, deque[int]] = defaultdict(deque)
        for index in sorted(self._items.keys() - taken):
            left[self._items[index].item_type].append(index)
        for position, item in enumerate(output):
            same_type = left[type_of(item)]
            if position in pairs:
                yield item, self._items[pairs[position]]
            elif same_type and self._items[same_type[0]].may_be(item):
                yield item, self._items[same_type.popleft()]
            else:
                yield item, None if position in self._items else self._open(position)

    def _with_id(self, _: int, item: Item) -> int | None:
        return self._index_by_id.get(text_at(item, "id"))

    def _with_call_id(self, _: int, item: Item) -> int | None:
        return self._index_by_call.get(text_at(item, "call_id"))

    def _at_position(self, position: int, item: Item) -> int | None:
        opened = self._items.get(position)
        return position if opened is not None and opened.may_be(item) else None

    def _is_taken(
        self, index: int, name: str, item: Item, item_id: str | None, item_type: str
    ) -> bool:
        """Return whether the item with this index cannot be the one that an event belongs to."""
        opened = self._items.get(index)
        if opened is None:
            return False
        if item:
            is_other = opened.is_other(item, is_new=name == "response.output_item.added")
        else:
            is_other = name.endswith(".delta") and opened.is_over and item_id != opened.item_id
            is_other = is_other and bool(item_id and opened.item_id)
        self._has_indexes = not is_other and opened.may_be_of(item_type)
        return not self._has_indexes

    def _likely_index(self, name: str, item: Item, item_id: str | None, item_type: str) -> int:
        """Return the likely index of the item of an event without one: that of the item with its id, else of the last one, unless that can't be."""
        by_id = self._index_by_id.get(item_id or "")
        if by_id is not None and (not item or self._items[by_id].may_be(item)):
            return by_id
        if self._last < 0:
            return 0
        if name == "response.output_item.added":
            return self._last + 1
        by_call = self._index_by_call.get(text_at(item, "call_id"), self._last)
        for index in (by_call, self._last, self._last_of.get(item_type, self._last)):
            opened = self._items[index]
            is_same = opened.done is None or opened.done == item
            if not self._has_indexes:  # then ids count
                is_same &= not item_id or opened.item_id in (None, item_id)
            if is_same and (opened.may_be(item) if item else opened.may_be_of(item_type)):
                return index
        return self._last + 1

    def _open(self, index: int) -> OpenItem:
        if index not in self._items:
            self._items[index] = OpenItem(output_index=index, log=self._log)
            self._last = max(self._last, index)
        return self._items[index]
