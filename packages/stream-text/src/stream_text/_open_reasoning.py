"""Reasoning that a server other than OpenAI's has sent as plain text, and that travels with an answer for that server alone."""

from typing import Final

from ._shapes import is_list, is_object


MADE_BY_KEY: Final = "made_by"
"""The key under which such an item names the connection and model that made it, as a digest."""

_ITEMS = "responses_output"


def is_marked_reasoning(item: object) -> bool:
    """Return whether an item is reasoning in plain text that says who made it.

    Source: docs/contracts/openai-gpt5-responses.md, A28.
    """
    if not is_object(item) or MADE_BY_KEY not in item:
        return False
    return item.get("type") == "reasoning" and isinstance(item[MADE_BY_KEY], str)


def without_open_reasoning(body: object) -> object:
    """Return the opaque body of an answer without such items; the same object if there are none."""
    if not is_object(body) or not is_list(items := body.get(_ITEMS)):
        return body
    kept = [item for item in items if not is_marked_reasoning(item)]
    return {**body, _ITEMS: kept} if len(kept) < len(items) else body
