"""Words of a model that look like the mark of a thought, changed so that nobody takes them for one, and changed back."""

import re
from typing import Final, override

from ._places import Place
from ._tags import TagSplitter


_SPACES: Final = 9  # in a tag that was broken, at most
_TAG: Final = re.compile(rf"(< {{0,{_SPACES}}}/?think>)", re.IGNORECASE | re.ASCII)
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
        self._everywhere = everywhere
        self._tags = TagSplitter(_TAG, _START)
        self._place = Place()
        self._is_open = False  # whether the last mark was an opening one

    def feed(self, text: str) -> str:
        """Take the next piece and return as much of the text as is certain by now."""
        parts = self._tags.split(text)
        return "".join(
            self._take_tag(part) if number % 2 else self._take(part)
            for number, part in enumerate(parts)
        )

    def close(self) -> str:
        """Return the part that was held back, which is no tag. More may follow."""
        return self._take(self._tags.release())

    def _take(self, text: str) -> str:
        self._place.feed(text)
        return text

    def _take_tag(self, tag: str) -> str:
        return self._take(self._change(tag) if self._is_mark(is_closing="/" in tag) else tag)

    def _is_mark(self, *, is_closing: bool) -> bool:
        if self._everywhere:
            return True
        ends_mark = is_closing and self._is_open and not self._place.is_code()
        is_mark = ends_mark or self._place.can_begin_thought()
        self._is_open = not is_closing if is_mark else self._is_open
        return is_mark

    def _change(self, mark: str) -> str:
        return f"< {mark[1:]}"


class _TagMender(TagBreaker):
    @override
    def _change(self, mark: str) -> str:
        return mark.replace("< ", "<", 1)


def mend_tags(text: str) -> str:
    r"""Return the text that a `TagBreaker` has made `text` from.

    Example:
        >>> mend_tags("Use:\n< think>")
        'Use:\n<think>'
    """
    mender = _TagMender()
    return mender.feed(text) + mender.close() if "<" in text else text
