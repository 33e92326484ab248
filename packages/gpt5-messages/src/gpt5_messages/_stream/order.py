"""Detection of repeated, late and missing events by their `sequence_number`, as long as the numbers agree with the events."""

from collections.abc import Mapping
from typing import Any

from gpt5_messages._json import mapping


# Numbers remembered as missing; a server that leaves out more is not worth the memory.
_MAX_MISSING = 4096


class EventOrder:
    """The sequence numbers of one stream, if its server numbers the events at all.

    Attributes:
        is_disordered: Whether an event has come after one with a higher number.
    """

    def __init__(self) -> None:
        self._lowest = self._highest = 0
        self._missing: set[int] = set()
        self._misses_more = False  # than is remembered
        self._last: Mapping[str, Any] = {}
        self._seen: dict[int, tuple[object, ...]] = {}  # what the events were that are no deltas
        self._is_numbered: bool | None = None  # not known before the second event
        self.is_disordered = False

    @property
    def is_numbered(self) -> bool:
        """Whether the numbers show if an event is missing."""
        return self._is_numbered is True

    @property
    def has_gap(self) -> bool:
        """Whether a number is missing between those that have come."""
        return bool(self._missing) or self._misses_more

    def is_repeat(self, event: Mapping[str, Any]) -> bool:
        """Return whether this event has come before, and remember it."""
        number = event.get("sequence_number")
        if self._is_numbered and number == self._highest + 1:  # nearly always
            self._highest += 1
            self._note(self._highest, event)
            return False
        if not isinstance(number, int) or self._is_numbered is False:
            return False
        if self._is_numbered is None:
            if not self._last:
                self._lowest = self._highest = number
                self._note(number, event)
                return False
            if event == self._last and "delta" not in event:
                return True  # a stream begins once, while two deltas may well be alike
            # Some gateways put the same number on every event: then numbers mean nothing.
            self._is_numbered = number != self._highest
        is_known = self._is_numbered and self._is_known(number)
        if is_known and self._is_same(number, event):
            return True
        # Some servers count anew for each item, or put one number on two events.
        self._is_numbered = self._is_numbered and not is_known
        self._note(number, event)
        return False

    def _note(self, number: int, event: Mapping[str, Any]) -> None:
        self._last = event
        if "delta" not in event:
            self._seen[number] = _nature(event)

    def _is_same(self, number: int, event: Mapping[str, Any]) -> bool:
        """Return whether this may be the event that had its number before, as far as that is remembered."""
        if number == self._last.get("sequence_number"):
            return event == self._last
        seen = self._seen.get(number)
        return "delta" in event if seen is None else _nature(event) == seen

    def _is_known(self, number: int) -> bool:
        if number > self._highest:
            self._miss(self._highest + 1, number)
            self._highest = number
            return False
        if number < self._lowest:
            self._miss(number + 1, self._lowest)
            self._lowest = number
        elif number in self._missing:
            self._missing.discard(number)
        else:
            return True
        self.is_disordered = True
        return False

    def _miss(self, start: int, end: int) -> None:
        if end - start <= _MAX_MISSING - len(self._missing):
            self._missing.update(range(start, end))
        else:
            self._misses_more = True


def _nature(event: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the little by which events of one number are told apart, whatever their size."""
    item_id = event.get("item_id") or mapping(event.get("item")).get("id")
    return event.get("type"), event.get("output_index"), item_id
