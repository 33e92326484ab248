"""Conversations that the server has compacted: the items that a compaction item replaces are no longer sent.

Source: https://developers.openai.com/api/docs/guides/compaction, read 2026-11-23, and recorded traffic, in which the
item comes after the answer; in the guide it comes before.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from gpt5_messages._completion.values import Item
from gpt5_messages._json import type_of
from gpt5_messages._kinds import CALL_OUTPUTS, OUTPUT_TYPES

from .replay import pair_id


_INSTRUCTIONS = ("system", "developer")
_ASKED = (*_INSTRUCTIONS, "user")


def is_compaction(item: Item) -> bool:
    """Return whether an item replaces the items before it."""
    return type_of(item) == "compaction" and bool(item.get("encrypted_content"))


def compacts(items: Iterable[Item]) -> bool:
    """Return whether the output items of a response replace the conversation before them.

    A window of the compact call, which has users' messages, does not.
    """
    held = list(items)
    return any(map(is_compaction, held)) and not any(item.get("role") in _ASKED for item in held)


def without_compacted(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return a request's input without the items that the newest compaction item in it replaces.

    Two kinds of items before it stay: the leading messages of the operator, because the trace of them in a compaction
    fades with the next one; and the responses with calls that are answered after it, because the server refuses an
    answer without its call. Not for a window of the compact call, which goes out as it is.

    Args:
        items: The items, oldest first.
    """
    held = [dict(item) for item in items]
    newest = max((index for index, item in enumerate(held) if is_compaction(item)), default=0)
    lead = 0
    while lead < newest and held[lead].get("role") in _INSTRUCTIONS:
        lead += 1
    return held[:lead] + held[max(lead, _first_kept(held, newest)) :]


def _first_kept(items: Sequence[Item], newest: int) -> int:
    """Return the index where the response with the first call that is still open at the newest compaction item begins."""
    before = items[:newest]
    answered = {(type_of(item), pair_id(item)) for item in before if type_of(item) in OUTPUT_TYPES}
    start = 0
    for index, item in enumerate(before):
        kind = type_of(item)
        if item.get("role") in _ASKED or kind in OUTPUT_TYPES:
            start = index + 1
        elif kind in CALL_OUTPUTS and (CALL_OUTPUTS[kind], pair_id(item)) not in answered:
            return start
    return newest
