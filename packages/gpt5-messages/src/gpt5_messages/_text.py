"""Repair of values that JSON allows and other formats can't carry: halves of characters, NaN and infinity, endless nesting."""

import math
from typing import Any

from stream_text import MAX_DEPTH


class SurrogateJoiner:
    r"""A joiner of surrogate halves that arrive in different pieces; single ones become U+FFFD.

    `"\ud83d"` and `"\ude00"` may come as two deltas; alone, neither can be written as UTF-8.
    """

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Take the next piece and return as much of it as is whole by now."""
        if text.isascii() and not self._half:
            return text
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return _repaired(text)

    def flush(self) -> str:
        """Return the replacement for a half that was never completed."""
        half, self._half = self._half, ""
        return _repaired(half)


def whole_characters(value: Any, *, max_depth: int = MAX_DEPTH) -> Any:
    """Return a JSON value that can be carried anywhere; equal to `value` if that can.

    Halves of characters, which UTF-8 cannot carry, become U+FFFD. Infinity, NaN and values that nest deeper than `max_depth` become None.
    """
    match value:
        case str():
            return value if value.isascii() else _repaired(value)
        case float():
            return value if math.isfinite(value) else None
        case list() | dict() if max_depth <= 0:
            return None
        case [*parts]:
            return [whole_characters(part, max_depth=max_depth - 1) for part in parts]
        case {**members}:
            return {
                whole_characters(name): whole_characters(part, max_depth=max_depth - 1)
                for name, part in members.items()
            }
        case _:
            return value


def is_too_deep(value: Any, max_depth: int = MAX_DEPTH) -> bool:
    """Return whether lists and objects nest deeper than `max_depth` levels."""
    match value:
        case [*inner]:
            pass
        case {**members}:
            inner = members.values()
        case _:
            return False
    return max_depth <= 0 or any(is_too_deep(part, max_depth - 1) for part in inner)


def _repaired(text: str) -> str:
    # UTF-16 joins two halves that stand beside each other, and `replace` takes the single ones.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
