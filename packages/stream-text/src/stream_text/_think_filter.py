"""The thoughts of a streamed text, shown or hidden."""

from collections.abc import Iterable

from ._marks import LineMarks, Mark
from ._tags import CLOSING, OPENING, LeadingBlank


class ThinkFilter:
    """A filter that shows or hides the thoughts of a streamed text, and passes everything else.

    How the text is cut into pieces makes no difference to the whole. A thought is a block that begins at the beginning
    of a line, outside code. One that is never closed is a thought if the text begins with it, and otherwise text. If
    thoughts are hidden, they are removed, with the blank space around one at the start. If they are shown, none of them
    is nested, empty or unclosed. Tags elsewhere are text and pass as they are.

    Args:
        show: Whether thoughts are shown.

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
        self._marks = LineMarks(eager=show)
        self._display = _Display(shows_thoughts=show)

    def feed(self, text: str) -> str:
        """Take the next piece and return as much of the text as can be shown by now."""
        return self._display.take(self._marks.feed(text))

    def close(self, *, goes_on: bool = False) -> str:
        """End the text: return the part that was held back, with a closing tag if a thought is open. Nothing may be fed afterwards.

        Args:
            goes_on: Whether more will be shown behind this text, which a tag that is left open would swallow.
        """
        shown = self._display.take(self._marks.end())
        return shown + self._display.close(closes=goes_on or not self._marks.is_inside_text)


class _Display:
    """What is shown of the texts and marks of a stream.

    A mark has nothing but blank space before it in its line, so that the texts around one that is left out never form a tag.
    """

    def __init__(self, *, shows_thoughts: bool) -> None:
        self._shows_thoughts = shows_thoughts
        self._leading = LeadingBlank()  # of a thought if they are shown, else of the answer
        self._in_thought = False
        self._has_thought = False
        self._last = ""

    def take(self, found: Iterable[str | Mark]) -> str:
        return "".join(map(self._take, found))

    def _take(self, part: str | Mark) -> str:
        if isinstance(part, Mark):
            return self._take_mark(part)
        self._last = part or self._last
        if self._in_thought and not self._shows_thoughts:
            return ""
        if self._leading.is_over or (self._shows_thoughts and not self._in_thought):
            return part
        text = self._leading.feed(part)
        if text and self._shows_thoughts:
            return OPENING + text
        return text.lstrip() if self._has_thought else text

    def _take_mark(self, mark: Mark) -> str:
        self._has_thought, self._in_thought = True, mark is Mark.BEGINS
        if not self._shows_thoughts:
            return ""
        if self._in_thought:
            self._leading = LeadingBlank()
            return ""
        return CLOSING if self._leading.is_over else ""

    def close(self, *, closes: bool) -> str:
        if not (self._shows_thoughts and self._in_thought):
            return ""
        if not closes:
            return "" if self._leading.is_over else OPENING + self._leading.end()
        if not self._leading.is_over:
            return ""
        return CLOSING if self._last.endswith("\n") else f"\n{CLOSING}"


def strip_think(text: str, *, rendered: bool = False) -> str:
    """Return `text` without its thoughts, as a hiding `ThinkFilter` leaves it.

    A text without `<` comes back as it is, even one of blank space alone, of which the filter shows nothing.

    Thoughts show reasoning to people; a model must not read them back as its own answer.

    Args:
        text: The text.
        rendered: Whether to take out only thoughts as `render_thinking` writes them, with a line break behind the first tag.

    Example:
        >>> strip_think("<think>Add them.</think>4")
        '4'
    """
    if "<" not in text:
        return text
    marks = LineMarks(rendered=rendered)
    return _Display(shows_thoughts=False).take([*marks.feed(text), *marks.end()])
