"""Where an image or a file may stand: in what a user says and what a tool answers, and nowhere else.

Source: docs/contracts/openai-gpt5-responses.md, A53.
"""

from collections.abc import Iterable
from typing import Any

from gpt5_messages._completion.values import Item
from gpt5_messages._json import iter_mappings, text_or_none, type_of


_MEDIA = ("input_image", "input_file")
_STAYS = {"type": "output_text", "text": "(what follows below)"}
_NOTES = {
    "assistant": "This came with the assistant's message above:",
    "developer": "This belongs to the developer's message above:",
    "system": "This belongs to the system message above:",
}


def with_media_moved(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return items with the images and files of other messages moved into user messages right behind those.

    What belongs together stays so: behind an assistant's message that is behind its calls and their outputs.
    """
    placed: list[dict[str, Any]] = []
    moved: list[dict[str, Any]] = []
    open_calls: set[str] = set()
    for item in items:
        kind, call_id = type_of(item), text_or_none(item.get("call_id"))
        if kind.endswith("_call"):
            open_calls |= {call_id} if call_id else set()
        elif kind.endswith("_call_output"):
            open_calls -= {call_id}
        elif moved and not open_calls:
            placed += moved
            moved = []
        note = _NOTES.get(str(item.get("role")))
        rest, media = _told_apart(item)
        if note is None or not media:
            placed.append(dict(item))
            continue
        if not rest and placed and type_of(placed[-1]) == "reasoning":
            rest = [_STAYS]  # what reasoning led to
        if rest:
            placed.append({**item, "content": rest})
        moved.append({"role": "user", "content": [{"type": "input_text", "text": note}, *media]})
    return placed + moved


def _told_apart(item: Item) -> tuple[list[Item], list[Item]]:
    """Return the parts of a message that may stand in it, and those that have to move."""
    parts = list(iter_mappings(item.get("content")))
    if item.get("role") == "assistant" and not type_of(item):
        return [], parts  # made here of what is no text
    rest = [part for part in parts if type_of(part) not in _MEDIA]
    return rest, [part for part in parts if type_of(part) in _MEDIA]
