"""Joining what JSON escapes tear apart: the two halves of a character beyond the basic plane."""

from typing import Any, cast


class SurrogateJoiner:
    r"""A joiner of surrogate halves that arrive in different pieces; lonely ones become U+FFFD.

    `"\ud83d"` and `"\ude00"` may come as two deltas; alone, neither can be written as UTF-8.
    """

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Take the next piece and return all of it that is whole by now."""
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


def whole_characters(value: Any) -> Any:
    """Return a JSON value with every half of a character replaced, which no UTF-8 can carry; equal to it if there is none."""
    match value:
        case str():
            return value if value.isascii() else _repaired(value)
        case list():
            return [whole_characters(part) for part in cast("list[object]", value)]
        case dict():
            members = cast("dict[str, object]", value).items()
            return {whole_characters(name): whole_characters(part) for name, part in members}
        case _:
            return value


def _repaired(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
