"""The tags `<think>` and `</think>` in a text that has arrived only in part."""

import re
from typing import Final


OPENING: Final = "<think>"
CLOSING: Final = "</think>"

# Letters of ASCII only: otherwise the dotless i and the Kelvin sign would count as letters of a tag too.
_TAG: Final = re.compile(r"(</?think>)", re.IGNORECASE | re.ASCII)
_TAG_START: Final = re.compile(r"</?(?:t(?:h(?:i(?:nk?)?)?)?)?", re.IGNORECASE | re.ASCII)


def _find_tag_start(text: str, beginning: re.Pattern[str] = _TAG_START) -> int:
    """Return the position where the end of `text` may be the beginning of a tag; the length of `text` if it is none."""
    start = text.rfind("<")
    return start if start >= 0 and beginning.fullmatch(text, start) else len(text)


def break_tags(text: str) -> str:
    """Return a text with a space in each tag, so that readers see it and no program takes it for a tag.

    Example:
        >>> break_tags("The tag </think> ends it.")
        'The tag < /think> ends it.'
    """
    return _TAG.sub(lambda tag: f"< {tag[0][1:]}", text)


class TagSplitter:
    """The tags of a text, wherever its pieces are cut.

    Args:
        tag: What a tag is, as the only group.
        beginning: What a text ends with that may become a tag.
    """

    def __init__(
        self, tag: re.Pattern[str] = _TAG, beginning: re.Pattern[str] = _TAG_START
    ) -> None:
        self._tag = tag
        self._beginning = beginning
        self._held = ""  # what may become a tag; shorter than one

    def split(self, text: str) -> list[str]:
        """Return texts and tags by turns, beginning and ending with a text, without the end that may become a tag."""
        if self._held:
            text, self._held = self._held + text, ""
        if "<" not in text:
            return [text]
        found = self._tag.split(text)
        certain = _find_tag_start(found[-1], self._beginning)
        self._held, found[-1] = found[-1][certain:], found[-1][:certain]
        return found

    def release(self) -> str:
        """Return what is held back."""
        held, self._held = self._held, ""
        return held


class Seam:
    """The place of a removed tag, where a space keeps the two sides from forming a tag.

    If the text before the tag may be the start of another, a space comes between. The last piece of the text is enough
    to see that: the start of a tag is held back until it is whole, so that no other piece ends in one.
    """

    def __init__(self) -> None:
        self._last = ""
        self._is_cut = False

    def cut(self) -> None:
        """Note that a tag was removed at the end of the text so far."""
        self._is_cut = True

    def join(self, text: str) -> str:
        """Return the next piece of the text, never empty, with a space before it if it needs one."""
        if self._is_cut:
            self._is_cut = False
            if _find_tag_start(self._last) < len(self._last):
                text = f" {text}"
        self._last = text
        return text


class LeadingBlank:
    """The blank space at the beginning of a text, held back until the first word comes."""

    def __init__(self) -> None:
        self._held: list[str] = []
        self.is_over = False

    def feed(self, text: str) -> str:
        """Take the next piece; return it with everything held back once there is a word, and nothing before."""
        if self.is_over:
            return text
        self._held.append(text)
        if not text or text.isspace():
            return ""
        self.is_over = True
        return self.end()

    def end(self) -> str:
        """Return what is held back."""
        whole = "".join(self._held)
        self._held.clear()
        return whole
