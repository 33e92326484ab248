"""Words of a model that look like the mark of a thought, changed so that nobody takes them for one, and changed back."""

import re
from typing import Final

from ._places import Place


_SPACES: Final = 9  # in a tag that was broken, at most
_TAG: Final = re.compile(rf"<( {{0,{_SPACES}}})(/?think>)", re.IGNORECASE | re.ASCII)
_START: Final = re.compile(
    rf"< {{0,{_SPACES}}}/?(?:t(?:h(?:i(?:nk?)?)?)?)?", re.IGNORECASE | re.ASCII
)


class TagBreaker:
    r"""A text that streams in, with a space in each tag that looks like the mark of a thought.

    That is a tag at the beginning of a line, outside code, and the closing tag behind such a one. A tag that has spaces already gets one more,
    so that `mend_tags` can give back the text. How the text is cut makes no difference to the whole.

    Args:
        everywhere: Whether every tag gets a space, as in a thought.

    Example:
        >>> breaker = TagBreaker()
        >>> breaker.feed("Use `<think>`:\n<think>") + breaker.close()
        'Use `<think>`:\n< think>'
    """

    def __init__(self, *, everywhere: bool = False) -> None:
        self._walk = _Walk(everywhere=everywhere, adds=True)

    def feed(self, text: str) -> str:
        """Take the next piece and return as much of the text as is certain by now."""
        return self._walk.feed(text)

    def close(self) -> str:
        """Return the part that was held back, which is no tag. More may follow."""
        return self._walk.close()


def mend_tags(text: str) -> str:
    r"""Return the text that a `TagBreaker` has made `text` from.

    Example:
        >>> mend_tags("Use:\n< think>")
        'Use:\n<think>'
    """
    walk = _Walk(everywhere=False, adds=False)
    return walk.feed(text) + walk.close() if "<" in text else text


class _Walk:
    """A walk over a text, on which its marks get one space more or less."""

    def __init__(self, *, everywhere: bool, adds: bool) -> None:
        self._everywhere, self._adds = everywhere, adds
        self._place = Place()
        self._has_said = False
        self._is_open = False  # whether the last mark was an opening one
        self._held = ""

    def feed(self, text: str) -> str:
        if self._held:
            text, self._held = self._held + text, ""
        if "<" not in text:
            return self._take(text)
        walked: list[str] = []
        position = 0
        for tag in _TAG.finditer(text):
            walked += (self._take(text[position : tag.start()]), self._take_tag(tag))
            position = tag.end()
        start = max(text.rfind("<"), position)
        certain = start if _START.fullmatch(text, start) else len(text)
        self._held = text[certain:]
        return "".join([*walked, self._take(text[position:certain])])

    def close(self) -> str:
        held, self._held = self._held, ""
        return self._take(held)

    def _take(self, text: str) -> str:
        self._place.feed(text)
        self._has_said = self._has_said or not (text.isspace() or not text)
        return text

    def _take_tag(self, tag: re.Match[str]) -> str:
        spaces, rest = tag.groups()
        if self._is_mark(is_closing=rest[0] == "/"):
            spaces = f"{spaces} " if self._adds else spaces[1:]
        return self._take(f"<{spaces}{rest}")

    def _is_mark(self, *, is_closing: bool) -> bool:
        if self._everywhere:
            return True
        begins_line = not self._has_said or self._place.begins_line
        is_mark = (begins_line or (is_closing and self._is_open)) and not self._place.is_code()
        self._is_open = not is_closing if is_mark else self._is_open
        return is_mark
