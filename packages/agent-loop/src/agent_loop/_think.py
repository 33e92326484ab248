"""Thoughts between `<think>` and `</think>` in a text that arrives in pieces."""

import re
from typing import Final


_TAG: Final = re.compile(r"</?think>", re.IGNORECASE)
_OPENING: Final = "<think>"
_CLOSING: Final = "</think>"


def _split_tail(text: str) -> tuple[str, str]:
    """Cut off the end of `text` that may turn out to be the start of a tag."""
    start = text.rfind("<")
    if start == -1:
        return text, ""
    tail = text[start:].lower()
    is_part = any(tag.startswith(tail) and tag != tail for tag in (_OPENING, _CLOSING))
    return (text[:start], text[start:]) if is_part else (text, "")


class ThinkFilter:
    """Show or hide the thoughts of a streamed text while everything else goes straight through.

    Tags may be split anywhere, nested, unclosed or stray, in any case of letters. How the text is cut into pieces makes no difference to
    the whole. Hidden: blocks are removed with their nested ones, an unclosed block to the end, stray closing tags, and the blank space around
    a block at the start. Shown: what comes out holds no nested, empty, unclosed or stray tag, whatever went in.

    Example:
        >>> filter = ThinkFilter(show=False)
        >>> (
        ...     filter.feed("<thi"),
        ...     filter.feed("nk>plan</think>Hel"),
        ...     filter.feed("lo"),
        ...     filter.close(),
        ... )
        ('', 'Hel', 'lo', '')
    """

    def __init__(self, *, show: bool) -> None:
        self._show = show
        self._held = ""  # what may become a tag
        self._depth = 0
        self._opening = ""  # a shown block's tag and the blank space after it, until a word shows that it is not empty
        self._blank: str = ""  # a hidden filter's blank space before the first word
        self._has_words = False
        self._has_hidden = False
        self._is_cut = False  # a tag has vanished behind what was shown last
        self._last = ""  # the end of what was shown, as long as a tag

    def feed(self, text: str) -> str:
        """Take the next piece and return what can be shown of the text by now."""
        text = self._held + text
        shown: list[str] = []
        position = 0
        for match in _TAG.finditer(text):
            shown.append(self._take_text(text[position : match.start()]))
            shown.append(self._take_tag(is_closing=match[0][1] == "/"))
            position = match.end()
        rest, self._held = _split_tail(text[position:])
        shown.append(self._take_text(rest))
        return "".join(shown)

    def close(self) -> str:
        """End the text: return what was held back, with a closing tag if one is owed. Nothing may be fed afterwards."""
        shown = self._take_text(self._held)
        if self._depth and self._show and not self._opening:
            shown += _CLOSING if self._last.endswith("\n") else f"\n{_CLOSING}"
        return shown

    def _take_text(self, text: str) -> str:
        if not text:
            return ""
        return self._join(self._take_shown(text) if self._show else self._take_hidden(text))

    def _join(self, text: str) -> str:
        """Keep what a vanished tag stood between from becoming a tag itself."""
        if not text:
            return ""
        if self._is_cut and _split_tail(self._last)[1]:
            text = f" {text}"
        self._is_cut = False
        self._last = (self._last + text)[-len(_CLOSING) :]
        return text

    def _take_hidden(self, text: str) -> str:
        if self._depth:
            return ""
        if self._has_words:
            return text
        text = self._blank + text
        if not text.strip():
            self._blank = text
            return ""
        self._has_words = True
        return text.lstrip() if self._has_hidden else text

    def _take_shown(self, text: str) -> str:
        if self._opening:
            text = self._opening + text
            if not text[len(_OPENING) :].strip():
                self._opening = text
                return ""
            self._opening = ""
        return text

    def _take_tag(self, *, is_closing: bool) -> str:
        self._is_cut = True
        if not is_closing:
            self._depth += 1
            self._opening = _OPENING if self._depth == 1 else self._opening
            return ""
        if not self._depth:
            return ""
        self._depth -= 1
        if self._depth:
            return ""
        self._has_hidden = True
        is_empty, self._opening = bool(self._opening), ""
        return self._join(_CLOSING) if self._show and not is_empty else ""


def strip_thoughts(text: str) -> str:
    """Return `text` without its thoughts, as a hiding `ThinkFilter` would leave it."""
    hidden = ThinkFilter(show=False)
    return hidden.feed(text) + hidden.close()
