"""Conversations that the server has made shorter on its way: what a compaction item stands for goes out no more.

Source: https://developers.openai.com/api/docs/guides/compaction, read 2026-11-23, and recorded traffic, in which the item comes behind the answer; the
guide has it before.
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
    """Return whether an item stands for what came before it."""
    return type_of(item) == "compaction" and bool(item.get("encrypted_content"))


def compacts(items: Iterable[Item]) -> bool:
    """Return whether the output items of a response stand for the conversation before them. A window of the compact call, which users' messages belong to, stands for itself."""
    held = list(items)
    return any(map(is_compaction, held)) and not any(item.get("role") in _ASKED for item in held)


def without_compacted(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return a request's input without what the newest compaction item in it stands for.

    What stays before it: the leading messages of the operator, because what a compaction keeps of them fades with the next one; and the responses with calls that
    are answered behind it, because the server refuses an answer without its call. Not for a window of the compact call, which goes out as it is.

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
    """Return where the response begins whose call is the first that is still open at the newest compaction item."""
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
