"""Remembering a response's items by the calls in them, for platforms that drop what we send along."""

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ._errors import MessageError
from ._read import read_tool_call
from ._values import Item


@dataclass(frozen=True, slots=True)
class _Entry:
    text: str
    expires_at: float


class ItemStore:
    """The output items of completed responses, kept in memory and found again by `call_id`.

    Nothing is shared between scopes and nothing is written anywhere. The oldest entries go first when a bound is reached. Items are
    kept as text, so what a caller does to a returned list stays with the caller.

    Args:
        max_entries: How many responses are kept, from 1.
        max_bytes: How many characters of items are kept in all, from 1.
        max_age_seconds: How long a response is kept, in seconds above 0.
        clock: Returns seconds, never going back.

    Raises:
        MessageError: If a bound is not above zero.

    Example:
        >>> store = ItemStore()
        >>> store.remember("key-1", [{"type": "function_call", "call_id": "c1", "name": "f"}])
        >>> store.recall("key-1", "c1")
        [{'type': 'function_call', 'call_id': 'c1', 'name': 'f'}]
        >>> store.recall("another key", "c1") is None
        True
    """

    def __init__(
        self,
        *,
        max_entries: int = 1_000,
        max_bytes: int = 32 * 1024 * 1024,
        max_age_seconds: float = 3_600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        bounds = {
            "max_entries": max_entries,
            "max_bytes": max_bytes,
            "max_age_seconds": max_age_seconds,
        }
        for field, bound in bounds.items():
            if bound <= 0:
                raise MessageError(f"{field}: expected more than 0, got {bound!r}", field=field)
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._max_age_seconds = max_age_seconds
        self._clock = clock
        self._entries: OrderedDict[tuple[str, tuple[str, ...]], _Entry] = OrderedDict()
        self._keys: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        """Count the responses that are kept."""
        return len(self._entries)

    def remember(self, scope: str, items: Iterable[Item]) -> None:
        """Keep the items of one response under each call in them; without a call there is nothing to find them by.

        Args:
            scope: Whose items these are, such as a fingerprint of the credentials.
            items: All output items of the response, in order.
        """
        kept = list(items)
        call_ids = tuple(call.call_id for item in kept if (call := read_tool_call(item)))
        text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        if not call_ids or len(text) > self._max_bytes:
            return
        key = (scope, call_ids)
        self._forget(key)
        self._entries[key] = _Entry(text, self._clock() + self._max_age_seconds)
        self._bytes += len(text)
        self._keys.update({(scope, call_id): key for call_id in call_ids})
        self._make_room()

    def recall(self, scope: str, call_id: str) -> list[dict[str, Any]] | None:
        """Return the items of the response that made this call, or None where they are not known."""
        self._make_room()
        key = self._keys.get((scope, call_id))
        entry = self._entries.get(key) if key else None
        return None if entry is None else json.loads(entry.text)

    def _make_room(self) -> None:
        now = self._clock()
        while self._entries:
            key, entry = next(iter(self._entries.items()))
            is_full = len(self._entries) > self._max_entries or self._bytes > self._max_bytes
            if entry.expires_at > now and not is_full:
                return
            self._forget(key)

    def _forget(self, key: tuple[str, tuple[str, ...]]) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= len(entry.text)
            for call_id in key[1]:
                if self._keys.get((key[0], call_id)) == key:
                    del self._keys[key[0], call_id]
