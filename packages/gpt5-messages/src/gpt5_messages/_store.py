"""A memory of responses' items by their conversations, for platforms that drop the data that we send along."""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stream_text import MessageError, is_marked_reasoning

from ._completion.reading import read_tool_call
from ._completion.values import Item
from ._input.replay import fit_items, replayable_items
from ._input.turns import History, Turn, call_key, short_digest
from ._json import type_of
from ._stream.decoder import StreamDecoder
from ._stream.visible import VisibleText


_ENTRIES_OF_IMAGES = 8  # entries with images, as many of which fit in at least
_MAX_SEEN_IDS = 8_192  # far more than the responses that are kept
_MAX_BARRED_IDS = 256  # for each scope
_MAX_BARRED_SCOPES = 1_000


@dataclass(frozen=True, slots=True)
class _Entry:
    data: bytes
    expires_at: float
    turn: Turn


class ItemStore:
    """The output items of completed responses, kept in memory and found again by the conversation that they belong to.

    Some servers repeat call ids. So items come back only to a message with the same calls and the same visible text after the
    same visible messages; and an id that came with two different lists of items is never trusted again. Where a platform gives all calls of
    a history new ids, which no response had, everything else has to be the same, and only one response may ever have fitted it.

    Nothing is shared between scopes and nothing is written anywhere. The oldest entries go first when a limit is reached. Items are
    kept as text, so that a caller's changes to a returned list affect nobody else.

    Args:
        max_entries: How many responses are kept, from 1.
        max_bytes: How many bytes of items are kept in all, as UTF-8, from 1.
        max_age_seconds: How long a response is kept, in seconds above 0.
        clock: Returns seconds, which never go back.

    Raises:
        MessageError: If a limit is not above zero.

    Example:
        >>> from functools import partial
        >>> from gpt5_messages import build_input
        >>> store, question = ItemStore(), {"role": "user", "content": "Hi"}
        >>> call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
        >>> store.remember("key-1", [question], [{"type": "new"}, call])
        >>> answer = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f"}}]}
        >>> result = {"role": "tool", "tool_call_id": "c1", "content": "4"}
        >>> recall = partial(store.recall, "key-1")
        >>> [item.get("type") for item in build_input([question, answer, result], recall=recall)]
        ['message', 'new', 'function_call', 'function_call_output']
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
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, bytes], _Entry] = OrderedDict()
        # The digests of the responses that differ only by ids, and None if there has been more than one.
        self._alike: dict[tuple[str, bytes], set[bytes | None]] = {}
        self._bytes = 0
        self._ids = _CallIds()

    def __len__(self) -> int:
        """Count the responses that are kept."""
        return len(self._entries)

    def remember(
        self,
        scope: str,
        messages: Iterable[object] | History,
        items: Iterable[Item],
        *,
        answer_only: bool = False,
    ) -> None:
        """Keep the items of one response, unless those that can go back are worth no more than its text.

        A response without calls is found by its text after the conversation before it. If the same text came twice with
        different items, none are kept.

        Generated images that take more than an eighth of `max_bytes` are kept as a sentence, and open reasoning beyond that is not kept.

        Args:
            scope: The owner of these items, such as a fingerprint of the credentials.
            messages: The conversation that the response answered, as `build_input` takes it or has taken it into a `History`.
            items: All output items of the response, in order.
            answer_only: Whether only the answer of the response was shown, as with `answer_only` of `VisibleText`.
        """
        kept = fit_items(items, max_bytes=self._max_bytes // _ENTRIES_OF_IMAGES)
        calls = [call_key(call) for item in kept if (call := read_tool_call(item))]
        is_plain = all(type_of(item) == "message" for item in replayable_items(kept))
        if is_plain and not any(map(is_marked_reasoning, kept)):
            return
        history = messages if isinstance(messages, History) else History(messages)
        turn = history.turn(calls, _shown_text(kept, answer_only=answer_only))
        text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        data = text.encode(errors="surrogatepass")
        key = (scope, turn.digest)
        kin = (scope, turn.likeness)
        with self._lock:
            alike: set[bytes | None] = self._alike.get(kin, set())
            alike = {turn.digest} if alike <= {turn.digest} else {*alike, turn.digest, None}
            if (replaced := self._entries.get(key)) is not None:
                # The ids of the entry may have been forgotten since; with them a repeat would be, too.
                self._ids.note(scope, turn.call_ids, replaced.data)
            self._ids.note(scope, turn.call_ids, data)
            self._forget(key)
            if not calls and replaced is not None and replaced.data != data:
                data = b""  # nobody can tell which of the two is meant
            if len(data) <= self._max_bytes:
                self._entries[key] = _Entry(data, self._clock() + self._max_age_seconds, turn)
                self._bytes += len(data)
                self._alike[kin] = alike
            self._make_room()

    def recall(self, scope: str, turn: Turn) -> list[dict[str, Any]] | None:
        """Return the items of the response that this turn shows, or None if they are not known for certain."""
        with self._lock:
            self._make_room()
            entry = self._entries.get((scope, turn.digest)) or self._find_alike(scope, turn)
            if entry is None or not entry.data or self._ids.is_barred(scope, entry.turn.call_ids):
                return None
        # Outside the lock: an entry never changes, and reading a large one takes a while.
        return json.loads(entry.data.decode(errors="surrogatepass"))

    def _find_alike(self, scope: str, turn: Turn) -> _Entry | None:
        """Return the only response that differs from a turn by nothing but ids, if no response had those of the turn."""
        alike = self._alike.get((scope, turn.likeness), set())
        if len(alike) != 1 or self._ids.has_seen(scope, (*turn.call_ids, *turn.earlier_ids)):
            return None
        (digest,) = alike
        return None if digest is None else self._entries[scope, digest]

    def _make_room(self) -> None:
        now = self._clock()
        while self._entries:
            key, entry = next(iter(self._entries.items()))
            is_full = len(self._entries) > self._max_entries or self._bytes > self._max_bytes
            if entry.expires_at > now and not is_full:
                return
            self._forget(key)

    def _forget(self, key: tuple[str, bytes]) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._bytes -= len(entry.data)
        scope, digest = key
        kin = (scope, entry.turn.likeness)
        self._alike[kin] = self._alike[kin] - {digest}
        if self._alike[kin] <= {None}:
            del self._alike[kin]


class _CallIds:
    """The call ids that were seen, and those that came with two different lists of items.

    A barred id stays barred for good. Once the list of one scope is full, or there are too many such lists, nothing is certain any more.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, bytes] = OrderedDict()  # digest of an id -> digest of items
        self._barred: dict[str, set[bytes]] = {}
        self._has_room = True

    def note(self, scope: str, call_ids: Iterable[str], items: bytes) -> None:
        digest = short_digest(items)
        for call_id in call_ids:
            key = _id_digest(scope, call_id)
            if self._seen.setdefault(key, digest) != digest:
                self._bar(scope, key)
            self._seen.move_to_end(key)
        while len(self._seen) > _MAX_SEEN_IDS:
            self._seen.popitem(last=False)

    def has_seen(self, scope: str, call_ids: Iterable[str]) -> bool:
        return any(_id_digest(scope, call_id) in self._seen for call_id in call_ids)

    def is_barred(self, scope: str, call_ids: Iterable[str]) -> bool:
        barred = self._barred.get(scope)
        if barred is None:
            # This scope may be one for which there was no list any more.
            return not self._has_room
        is_full = len(barred) >= _MAX_BARRED_IDS
        return is_full or any(_id_digest(scope, call_id) in barred for call_id in call_ids)

    def _bar(self, scope: str, key: bytes) -> None:
        if scope not in self._barred and len(self._barred) >= _MAX_BARRED_SCOPES:
            self._has_room = False
            return
        barred = self._barred.setdefault(scope, set())
        if len(barred) < _MAX_BARRED_IDS:
            barred.add(key)


def _shown_text(items: Sequence[Item], *, answer_only: bool) -> str:
    """Return the visible text of these items."""
    visible = VisibleText(answer_only=answer_only)
    events = StreamDecoder().feed({"type": "response.completed", "response": {"output": items}})
    return "".join(visible.feed(event) for event in events) + visible.close()


def _id_digest(scope: str, call_id: str) -> bytes:
    return short_digest(json.dumps([scope, call_id]).encode())
