"""The index that finds the item of a stream that an event belongs to."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from gpt5_messages._completion.events import StreamEvent
from gpt5_messages._completion.values import Item
from gpt5_messages._json import mapping, text_at, text_or_none, type_of
from gpt5_messages._kinds import CALL_ARGUMENTS, ITEM_TYPES
from stream_text import read_count

from .blocks import BlockLog
from .open_item import OpenItem, content_of, deed_of


# By what an item of the terminal response is known in the stream: the surest rule first for all items, so that none is taken by a weaker rule for
# another. Some servers give items, and calls, other ids in the end.
_RULES: tuple[tuple[Callable[[int, Item], object], Callable[[OpenItem], Iterable[object]]], ...] = (
    (lambda _, item: text_at(item, "id"), lambda opened: opened.ids),
    (lambda _, item: text_at(item, "call_id"), lambda opened: (opened.call_id,)),
    (lambda _, item: deed_of(item), lambda opened: (opened.deed,)),
    (lambda position, _: position, lambda opened: (opened.output_index,)),
    (lambda _, item: type_of(item), lambda opened: (opened.item_type,)),
)


class ItemIndex:
    """The output items of one stream, found by `output_index`, by id, or else by the most likely match.

    Some servers rotate the ids, and some leave out the index, or put the same one on every item: once an item cannot be
    the one with its index, indexes no longer count. Some name a call where its item should be named.

    Args:
        log: The log that all blocks of the stream share.
    """

    def __init__(self, log: BlockLog) -> None:
        self._log = log
        self._items: dict[int, OpenItem] = {}
        self._index_by_id: dict[str, int] = {}
        self._index_by_call: dict[str, int] = {}
        self._owners: dict[str, OpenItem] = {}
        self._last_of: dict[str, int] = {}  # the index of the last item of each type
        self._last = -1  # the highest index
        self._has_indexes = True  # whether the server's indexes distinguish items
        # Where deltas of this index and name went since the last event of another kind, and their item's id.
        self._routes: dict[tuple[int, str], tuple[OpenItem, object]] = {}

    def in_order(self) -> Iterator[OpenItem]:
        """Yield the items in the order of the output, each call once."""
        return (item for _, item in sorted(self._items.items()) if not item.is_repeat)

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
        if type(index) is not int:
            index = read_count(index)
        if index is not None and self._has_indexes:
            route = self._routes.get((index, name))
            if route is not None and route[1] == event.get("item_id"):
                return route[0]  # nearly always, and once for every delta
        opened = self._locate(name, index if self._has_indexes else None, event)
        if not name.endswith(".delta"):
            self._routes.clear()
        elif index is not None and self._has_indexes:
            self._routes[index, name] = opened, event.get("item_id")
        return opened

    def _locate(self, name: str, index: int | None, event: Mapping[str, Any]) -> OpenItem:
        item = mapping(event.get("item"))
        item_id = text_or_none(event.get("item_id") or item.get("id"))
        # The middle part of an event's name shows the type of an item that it does not carry, or else its part does.
        part = type_of(mapping(event.get("part")))
        item_type = type_of(item) or ITEM_TYPES.get(name.split(".")[1]) or ITEM_TYPES.get(part, "")
        named = None if item or item_type not in CALL_ARGUMENTS else self._named_call(item_id)
        if named is not None:
            place = named
        elif index is None or self._is_taken(index, name, item, item_id, item_type):
            place = self._likely_index(name, item, item_id, item_type)
        else:
            place = index
        is_new, opened = place not in self._items, self._open(place)
        if item_id:
            if is_new or item_id not in self._index_by_id:
                self._index_by_id[item_id] = place
            opened.ids.setdefault(item_id)
        if item and (call_id := text_or_none(item.get("call_id"))):
            self._index_by_call.setdefault(call_id, place)
        self._last_of[item_type] = place
        return opened

    def pair(self, output: list[Item], *, is_shown: bool) -> Iterator[tuple[Item, OpenItem | None]]:
        """Yield the items of the terminal response, each with the same item of the stream, opened here if it is new.

        Args:
            output: The items.
            is_shown: Whether all their text has been shown, so that one message more is no new one; with it comes None,
                and with thoughts that are too late.
        """
        pairs = self._find_pairs(output)
        for position, item in enumerate(output):
            is_free = position not in self._items
            if position in pairs:
                yield item, pairs[position]
            elif type_of(item) == "message" and content_of(item) in (
                content_of(output[place]) for place in pairs
            ):
                continue  # It was streamed once.
            elif {"message": is_shown, "reasoning": not is_free}.get(type_of(item)):
                yield item, None
            else:
                yield item, self._open(position if is_free else self._last + 1)

    def _find_pairs(self, output: list[Item]) -> dict[int, OpenItem]:
        pairs: dict[int, OpenItem] = {}
        free = dict(sorted(self._items.items()))
        for key_of, keys_of in _RULES:
            if len(pairs) == len(output) or not free:
                break
            found: defaultdict[object, deque[OpenItem]] = defaultdict(deque)
            for opened in free.values():
                for key in keys_of(opened):
                    found[key].append(opened)
            for position, item in enumerate(output):
                key = key_of(position, item)
                queue = found[key] if position not in pairs and key not in (None, "") else ()
                if queue and (isinstance(key, tuple) or queue[0].may_be(item)):
                    pairs[position] = opened = queue.popleft()
                    free.pop(opened.output_index, None)
        return pairs

    def _named_call(self, item_id: str | None) -> int | None:
        """Return the index of the call whose `call_id` an event has in the place of its item's id; None if it has not."""
        return None if item_id in self._index_by_id else self._index_by_call.get(item_id or "")

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
            has_other_id = bool(item_id and opened.item_id) and item_id != opened.item_id
            is_other = name.endswith(".delta") and opened.is_over and has_other_id
            if not opened.may_be_of(item_type):
                is_other = has_other_id or not opened.takes(item_type)
        self._has_indexes = not is_other
        return is_other

    def _likely_index(self, name: str, item: Item, item_id: str | None, item_type: str) -> int:
        """Return the likely index of the item of an event without one: that of the item with its id, else of the last one, unless that can't be."""
        by_id = self._index_by_id.get(item_id or "")
        if by_id is not None and self._may_have(by_id, item, item_type):
            # A call that begins after it has ended is another one.
            is_again = name == "response.output_item.added" and item_type in CALL_ARGUMENTS
            return self._last + 1 if is_again and self._items[by_id].is_over else by_id
        if self._last < 0:
            return 0
        if name == "response.output_item.added":
            # Some servers announce a thought after they have streamed it, under the id of the answer.
            early = self._items[self._last_of.get(item_type, self._last)]
            is_early = early.item_type == item_type and not early.is_announced
            return early.output_index if is_early else self._last + 1
        by_call = self._index_by_call.get(text_at(item, "call_id"), self._last)
        for index in (by_call, self._last, self._last_of.get(item_type, self._last)):
            opened = self._items[index]
            is_same = opened.done is None or item in (opened.told, opened.done)
            if not self._has_indexes:  # then ids count
                is_same &= not item_id or opened.item_id in (None, item_id)
            if is_same and self._may_have(index, item, item_type):
                return index
        return self._last + 1

    def _may_have(self, index: int, item: Item, item_type: str) -> bool:
        """Return whether an event with this item, or else about one of this type, may belong to the item at an index."""
        opened = self._items[index]
        return opened.may_be(item) if item else opened.takes(item_type)

    def _open(self, index: int) -> OpenItem:
        if index not in self._items:
            self._items[index] = OpenItem(output_index=index, log=self._log, owners=self._owners)
            self._last = max(self._last, index)
        return self._items[index]
