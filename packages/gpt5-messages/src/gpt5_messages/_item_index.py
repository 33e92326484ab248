"""Which of a stream's items an event belongs to."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any

from ._blocks import BlockLog
from ._events import StreamEvent
from ._json import mapping, text_or_none, type_of
from ._open_item import OpenItem
from ._values import Item


class ItemIndex:
    """The output items of one stream, found by `output_index`, by id, or else by what is likely.

    Some servers rotate the ids, and some leave out the index.

    Args:
        log: What the items have in common.
    """

    def __init__(self, log: BlockLog) -> None:
        self._log = log
        self._items: dict[int, OpenItem] = {}
        self._index_by_id: dict[str, int] = {}
        self._index_by_call: dict[str, int] = {}
        self._last = -1  # the highest index

    def in_order(self) -> Iterator[OpenItem]:
        """Yield the items in the order of the output."""
        return (self._items[index] for index in sorted(self._items))

    def stop_all(self) -> list[StreamEvent]:
        """Close every block that is open."""
        return [event for item in self.in_order() for event in item.stop_all()]

    def find(self, event: Mapping[str, Any]) -> OpenItem:
        """Find or open the item that an event belongs to."""
        index = event.get("output_index")
        is_index = isinstance(index, int)
        if is_index and index in self._items and "item" not in event:
            return self._items[index]  # nearly always, and once for every delta
        item = mapping(event.get("item"))
        item_id = text_or_none(event.get("item_id") or item.get("id"))
        if not is_index:
            index = self._likely_index(event, item, item_id)
        if item_id:
            self._index_by_id.setdefault(item_id, index)
        if item and (call_id := text_or_none(item.get("call_id"))):
            self._index_by_call.setdefault(call_id, index)
        return self._open(index)

    def pair(self, output: list[Item]) -> Iterator[tuple[Item, OpenItem | None]]:
        """Yield the items of the terminal response with the streamed ones that they are; None for one that can't be told."""
        pairs: dict[int, int] = {}
        taken: set[int] = set()
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
        return self._index_by_id.get(text_or_none(item.get("id")) or "")

    def _with_call_id(self, _: int, item: Item) -> int | None:
        return self._index_by_call.get(text_or_none(item.get("call_id")) or "")

    def _at_position(self, position: int, item: Item) -> int | None:
        opened = self._items.get(position)
        return position if opened is not None and opened.may_be(item) else None

    def _likely_index(self, event: Mapping[str, Any], item: Item, item_id: str | None) -> int:
        """Tell the item of an event without an index: the one with its id, else the last one, unless that can't be."""
        by_id = self._index_by_id.get(item_id or "")
        if by_id is not None and (not item or self._items[by_id].may_be(item)):
            return by_id
        if self._last < 0:
            return 0
        if type_of(event) == "response.output_item.added":
            return self._last + 1
        by_call = self._index_by_call.get(text_or_none(item.get("call_id")) or "", self._last)
        for index in (by_call, self._last):
            opened = self._items[index]
            is_same = opened.done is None or opened.done == item
            if is_same and (not item or opened.may_be(item)):
                return index
        return self._last + 1

    def _open(self, index: int) -> OpenItem:
        if index not in self._items:
            self._items[index] = OpenItem(output_index=index, log=self._log)
            self._last = max(self._last, index)
        return self._items[index]
