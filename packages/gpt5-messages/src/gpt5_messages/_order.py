"""Telling repeated and late events apart by their `sequence_number`."""

from collections.abc import Mapping
from typing import Any

from ._json import type_of


_MAX_GAPS = (
    4096  # numbers remembered as missing; a server that leaves out more is not worth the memory
)


class EventOrder:
    """The sequence numbers of one stream, where its server numbers the events at all.

    Attributes:
        is_disordered: Whether an event has come later than one with a higher number.
    """

    def __init__(self) -> None:
        self._highest: int | None = None
        self._missing: set[int] = set()
        self._first: Mapping[str, Any] = {}
        self._is_numbered: bool | None = None  # not known before the second event
        self.is_disordered = False

    def is_repeat(self, event: Mapping[str, Any]) -> bool:
        """Return whether this event has been here before, and remember it."""
        number = event.get("sequence_number")
        if not isinstance(number, int) or self._is_numbered is False:
            return False
        if self._highest is None:
            self._highest, self._first = number, event
            return False
        if self._is_numbered is None:
            if event == self._first and not type_of(event).endswith(".delta"):
                return True  # a stream begins once, while two deltas may well be alike
            # Some gateways put the same number on every event: then numbers mean nothing.
            self._is_numbered, self._first = number != self._highest, {}
            if not self._is_numbered:
                return False
        return self._is_known(number, self._highest)

    def _is_known(self, number: int, highest: int) -> bool:
        if number > highest:
            if number - highest <= _MAX_GAPS:
                self._missing.update(range(highest + 1, number))
            self._highest = number
            return False
        if number in self._missing:
            self._missing.discard(number)
            self.is_disordered = True
            return False
        return True
