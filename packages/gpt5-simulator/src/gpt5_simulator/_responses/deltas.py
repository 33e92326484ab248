"""A text as the events that spell it out."""

import re
from collections.abc import Iterator

from gpt5_simulator._json import Json


_PIECE = re.compile(r"\s*\S{1,8}|\s+")


def iter_text_events(name: str, text: str, where: Json, *, key: str) -> Iterator[Json]:
    """Yield the deltas of a text and the event that ends it.

    Args:
        name: What the events are called, such as `output_text`.
        text: The whole text.
        where: The fields that say where it belongs.
        key: The field of the last event that holds the text.
    """
    for piece in _PIECE.findall(text):
        yield {"type": f"response.{name}.delta", **where, "delta": piece}
    yield {"type": f"response.{name}.done", **where, key: text}
