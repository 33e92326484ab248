"""The thoughts of a streamed text, shown or hidden."""

from ._marks import LineMarks
from ._tags import CLOSING, OPENING, LeadingBlank, Seam
from ._think import MarkedReader, ThinkPiece


class ThinkFilter:
    """A filter that shows or hides the thoughts of a streamed text, and passes everything else.

    How the text is cut into pieces makes no difference to the whole. A thought is a block that begins at the beginning of a line, outside code. One that is
    never closed is a thought if the text begins with it, and otherwise text. If thoughts are hidden, they are removed, with the blank space around
    one at the start. If they are shown, none of them is nested, empty or unclosed. Tags elsewhere are text and pass as they are.

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
        self._reader = MarkedReader(self._marks, trim=False)
        self._filter = _ShowingFilter() if show else _HidingFilter()

    def feed(self, text: str) -> str:
        """Take the next piece and return as much of the text as can be shown by now."""
        return self._filter.take(self._reader.feed(text), block=self._reader.block)

    def close(self, *, goes_on: bool = False) -> str:
        """End the text: return the part that was held back, with a closing tag if a thought is open. Nothing may be fed afterwards.

        Args:
            goes_on: Whether more will be shown behind this text, which a tag that is left open would swallow.
        """
        shown = self._filter.take(self._reader.close(), block=self._reader.block)
        return shown + self._filter.close(closes=goes_on or not self._marks.is_inside_text)


class _HidingFilter:
    def __init__(self) -> None:
        self._seam = Seam()
        self._leading = LeadingBlank()
        self._block = 0

    def take(self, pieces: list[ThinkPiece], *, block: int) -> str:  # noqa: ARG002 - only the other one needs it
        shown = [self._take(piece) for piece in pieces if piece.kind == "answer"]
        return shown[0] if len(shown) == 1 else "".join(shown)

    def _take(self, piece: ThinkPiece) -> str:
        text = piece.text
        if piece.block != self._block:
            self._block = piece.block
            self._seam.cut()
        if not self._leading.is_over:
            text = self._leading.feed(text)
            text = text.lstrip() if piece.block else text
        return self._seam.join(text) if text else ""

    def close(self, *, closes: bool) -> str:  # noqa: ARG002 - only the other one needs it
        return ""


class _ShowingFilter:
    def __init__(self) -> None:
        self._seam = Seam()
        self._leading = LeadingBlank()  # of a thought, which is shown once it has a word
        self._block = 0
        self._is_open = False

    def take(self, pieces: list[ThinkPiece], *, block: int) -> str:
        shown: list[str] = []
        for piece in pieces:
            shown.append(self._enter(piece.block))
            shown.append(self._take(piece))
        shown.append(self._enter(block))
        return "".join(shown)

    def _enter(self, block: int) -> str:
        """Move on to another block, and return the tag that closes the thought before it."""
        if block == self._block:
            return ""
        was_open, self._is_open = self._is_open, False
        self._block = block
        self._leading = LeadingBlank()
        self._seam.cut()
        return self._seam.join(CLOSING) if was_open else ""

    def _take(self, piece: ThinkPiece) -> str:
        text = piece.text
        if piece.kind == "thought" and not self._is_open:
            text = self._leading.feed(text)
            self._is_open = bool(text)
            text = OPENING + text if text else ""
        return self._seam.join(text) if text else ""

    def close(self, *, closes: bool) -> str:
        if not closes:
            return "" if self._is_open else OPENING + self._leading.end()
        if not self._is_open:
            return ""
        return CLOSING if self._seam.ends_with("\n") else f"\n{CLOSING}"


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
    reader = MarkedReader(LineMarks(rendered=rendered), trim=False)
    hiding = _HidingFilter()
    return hiding.take([*reader.feed(text), *reader.close()], block=0)
