"""Separating thoughts from the answer in a text that streams in: a thought stands between `<think>` and `</think>`."""

from typing import Final, Literal, NamedTuple

from ._marks import EveryMark, LineMarks, Mark
from ._tags import LeadingBlank, Seam, break_tags


type PieceKind = Literal["thought", "answer"]


class ThinkPiece(NamedTuple):
    """The next piece of a thought or of the answer; never empty.

    Attributes:
        kind: What it is a piece of.
        block: The number of the block that it continues, or begins if the number is new.
        text: The piece itself, without tags.
    """

    kind: PieceKind
    block: int
    text: str


class ThinkReader:
    r"""The thoughts and the answer of a text with `<think>` blocks, wherever its pieces are cut.

    Tags may be in upper or lower case. A block lasts to the tag that closes it, or to the end of the text. Tags that open and
    close within a block, and closing tags without a block, vanish; the text around such a tag
    never becomes a tag itself: where it could, a space comes between. That holds within a block. Do not join pieces of
    different blocks as they are, since a tag could arise there; `ThinkFilter` joins them safely.

    Args:
        trim: Leave out the layout of the text: one line break next to each tag of a block, blank space between a
            block and the answer, and an answer of nothing but blank space.
        by_line: Take only blocks that begin at the beginning of a line, outside code, as a `ThinkFilter` does; other tags stay in the text.

    Attributes:
        block: The number of the block that the next text belongs to, from 0. Every tag that begins or ends a block begins
            the next number.

    Example:
        >>> reader = ThinkReader(trim=True)
        >>> pieces = [*reader.feed("<think>\nAdd th"), *reader.feed("em.\n</thi")]
        >>> pieces += [*reader.feed("nk>\n\n4"), *reader.close()]
        >>> [(piece.kind, piece.text) for piece in pieces]
        [('thought', 'Add th'), ('thought', 'em.'), ('answer', '4')]
    """

    def __init__(self, *, trim: bool = False, by_line: bool = False) -> None:
        self._marks = LineMarks() if by_line else EveryMark()
        self._trim = trim
        self._depth = 0
        self._has_thought = False
        self.block = -1
        self._begin_block(by_tag=False)

    @property
    def in_thought(self) -> bool:
        """Whether the next text belongs to a thought."""
        return self._depth > 0

    def feed(self, text: str) -> list[ThinkPiece]:
        """Take the next piece of the text and return the pieces that are certain by now."""
        return self._take(self._marks.feed(text))

    def end_block(self) -> list[ThinkPiece]:
        """Return the part that is held back, because something other than text follows; further text begins a new block.

        A thought that is still open continues in that block.
        """
        pieces = self.close()
        self._begin_block(by_tag=False)
        return pieces

    def close(self) -> list[ThinkPiece]:
        """End the text: return the part that is held back. Nothing may be fed afterwards."""
        pieces = self._take(self._marks.end())
        if rest := self._layout.end() if self._layout else "":
            self._append(rest, pieces)
        return pieces

    def _take(self, found: list[str | Mark]) -> list[ThinkPiece]:
        pieces: list[ThinkPiece] = []
        for part in found:
            if isinstance(part, Mark):
                self._take_tag(is_closing=part is Mark.ENDS)
            else:
                self._take_text(part, pieces)
        return pieces

    def _take_text(self, text: str, pieces: list[ThinkPiece]) -> None:
        if self._layout:
            text = self._layout.feed(text)
        if text:
            self._append(text, pieces)

    def _append(self, text: str, pieces: list[ThinkPiece]) -> None:
        kind: PieceKind = "thought" if self._depth else "answer"
        pieces.append(ThinkPiece(kind, self.block, self._seam.join(text)))

    def _take_tag(self, *, is_closing: bool) -> None:
        self._seam.cut()
        if not is_closing:
            self._depth += 1
            if self._depth == 1:
                self._has_thought = True
                self._begin_block(by_tag=True)
        elif self._depth:
            self._depth -= 1
            if not self._depth:
                self._begin_block(by_tag=True)

    def _begin_block(self, *, by_tag: bool) -> None:
        self.block += 1
        self._seam = Seam()
        self._layout: _ThoughtLayout | _AnswerLayout | None = None
        if self._trim and self._depth:
            self._layout = _ThoughtLayout(after_tag=by_tag)
        elif self._trim:
            self._layout = _AnswerLayout(after_thought=self._has_thought)


class _ThoughtLayout:
    """The line breaks next to the tags of one thought, left out."""

    def __init__(self, *, after_tag: bool) -> None:
        self._after_tag = after_tag
        self._break = ""  # at the end of what came, and so perhaps next to the closing tag

    def feed(self, text: str) -> str:
        if not text:
            return ""
        if self._after_tag:
            text, self._after_tag = text.removeprefix("\n"), False
        text = self._break + text
        self._break = "\n" if text.endswith("\n") else ""
        return text.removesuffix("\n")

    def end(self) -> str:
        """Return the line break that was held back, if no closing tag has come."""
        return self._break


class _AnswerLayout:
    """The blank space around the thoughts before an answer, left out."""

    def __init__(self, *, after_thought: bool) -> None:
        self._after_thought = after_thought
        self._leading = LeadingBlank()

    def feed(self, text: str) -> str:
        is_first = not self._leading.is_over
        text = self._leading.feed(text)
        return text.lstrip() if is_first and self._after_thought else text

    def end(self) -> Literal[""]:
        """Return nothing: blank space alone is no answer."""
        return ""


_THINK: Final = "<think>\n{}\n</think>"


def render_thinking(thought: str) -> str:
    r"""Return a thought between its tags; tags inside it are broken, so that it reads back as one thought.

    Example:
        >>> render_thinking("Add them.")
        '<think>\nAdd them.\n</think>'
    """
    return _THINK.format(break_tags(thought))
