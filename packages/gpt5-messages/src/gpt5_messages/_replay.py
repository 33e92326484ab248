"""Which output items may go back as input.

The API refuses a reasoning item that it cannot decrypt, a reasoning item without the item that followed it, and a function
call without its output. Everything else goes back verbatim and in order.

Source: docs/evidence/responses-api.md, R4 to R10.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ._json import text_or_none, type_of
from ._values import Item


_OUTPUT_TYPES = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}


def replayable_items(
    items: Iterable[Item], *, answered: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """Return the items that may be sent back, as new dictionaries.

    Args:
        items: The output items of one response, or a whole conversation, in order.
        answered: The call ids whose outputs are in the request too; calls to others are left out. None lets every call pass.
    """
    kept: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []  # reasoning that needs the next item to be kept
    for item in items:
        if type_of(item) == "reasoning":
            if item.get("encrypted_content"):
                waiting.append({"summary": [], **item})
        elif _is_input(item):
            kept.append(dict(item))
            waiting = []
        elif _may_be_sent(item, answered):
            kept += [*waiting, dict(item)]
            waiting = []
        else:
            waiting = []
    return kept


def without_reasoning(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return a request's input without its reasoning items, for a server that refuses them.

    Ids of the remaining output items go too: with `store=false` they only point at the reasoning that is gone.
    """
    return [
        {key: value for key, value in item.items() if key != "id" or "role" not in item}
        if type_of(item) == "message"
        else {key: value for key, value in item.items() if key != "id"}
        for item in items
        if type_of(item) != "reasoning"
    ]


def drop_orphan_outputs(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return the input without outputs whose call is missing, as a history cut off at the front leaves them."""
    kept: list[dict[str, Any]] = []
    called: set[tuple[str, str]] = set()
    for item in items:
        item_type, call_id = type_of(item), text_or_none(item.get("call_id"))
        if item_type in _OUTPUT_TYPES and call_id is not None:
            called.add((_OUTPUT_TYPES[item_type], call_id))
        is_output = item_type in _OUTPUT_TYPES.values()
        if not is_output or (item_type, call_id) in called:
            kept.append(dict(item))
    return kept


def _is_input(item: Item) -> bool:
    """Return whether an item comes from the caller, so that it can't be what reasoning led to."""
    is_asked = item.get("role") in ("user", "system", "developer")
    return is_asked or type_of(item) in _OUTPUT_TYPES.values()


def _may_be_sent(item: Mapping[str, Any], answered: Collection[str] | None) -> bool:
    if type_of(item) not in _OUTPUT_TYPES:
        return True
    return answered is None or text_or_none(item.get("call_id")) in answered
