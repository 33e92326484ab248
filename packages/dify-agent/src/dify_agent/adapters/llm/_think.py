"""Telling thoughts from the answer while a text streams in."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal


OPEN_TAG: Final = "<think>"
CLOSE_TAG: Final = "</think>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The next piece of a thought or of the answer; never empty.

    Attributes:
        kind: What it is a piece of.
        block: Number of the block that it continues, or begins if the number is new.
        text: The piece itself, without tags.
    """

    kind: Literal["text", "thinking"]
    block: int
    text: str


def render_thinking(content: str) -> str:
    r"""Write a thought into a text, as a plugin would.

    Example:
        >>> render_thinking("Add them.")
        '<think>\nAdd them.\n</think>'
    """
    return f"{OPEN_TAG}\n{content}\n{CLOSE_TAG}"


class ThinkSplitter:
    r"""Split a text with `<think>` blocks into pieces, wherever its deltas are cut.

    A block lasts to its closing tag, or to the end of the text. One line break next to each tag belongs to the tag. White
    space between a block and the answer belongs to neither, and white space alone is no answer: taken for one, it would
    end a run before the tool calls that follow it.

    Example:
        >>> splitter = ThinkSplitter()
        >>> pieces = [
        ...     *splitter.feed("<think>\nAdd th"),
        ...     *splitter.feed("em.\n</thi"),
        ...     *splitter.feed("nk>\n\n4"),
        ... ]
        >>> [(piece.kind, piece.text) for piece in pieces]
        [('thinking', 'Add th'), ('thinking', 'em.'), ('text', '4')]
    """

    def __init__(self) -> None:
        self._held = ""  # what may turn out to be a tag, or white space that belongs to nothing
        self._block = 0
        self._thinking = False
        self._begun = False  # whether this block has shown anything
        self._after_thinking = False

    def feed(self, delta: str) -> Iterator[Piece]:
        """Yield what is certain once `delta` has come."""
        self._held += delta
        while (cut := self._held.find(self._tag)) >= 0:
            content, self._held = self._held[:cut], self._held[cut + len(self._tag) :]
            if self._thinking:
                content = content.removesuffix("\n")
            yield from self._pieces(content)
            self._enter(thinking=not self._thinking)
        certain = self._count_certain()
        content, self._held = self._held[:certain], self._held[certain:]
        yield from self._pieces(content)

    def end_block(self) -> Iterator[Piece]:
        """Yield what is held back, because something else than text follows; more text begins a new block."""
        held, self._held = self._held, ""
        if self._thinking or held.strip():
            yield from self._pieces(held)
        self._block += 1
        self._begun = self._thinking  # an open thought goes on without a tag of its own

    @property
    def _tag(self) -> str:
        return CLOSE_TAG if self._thinking else OPEN_TAG

    def _enter(self, *, thinking: bool) -> None:
        self._after_thinking = self._thinking
        self._thinking = thinking
        self._block += 1
        self._begun = False

    def _count_certain(self) -> int:
        """Return how many characters at the beginning can't belong to a tag or to nothing."""
        certain = self._held.rfind("<")
        if certain < 0 or not self._tag.startswith(self._held[certain:]):
            certain = len(self._held)
        if self._thinking:
            return certain - 1 if self._held.endswith("\n", 0, certain) else certain
        return certain if self._begun or self._held[:certain].strip() else 0

    def _pieces(self, content: str) -> Iterator[Piece]:
        if not content:
            return
        if self._thinking and not self._begun:
            content = content.removeprefix("\n")
            self._begun = True
        elif not self._begun:
            content = content.lstrip() if self._after_thinking or not content.strip() else content
            self._begun = bool(content)
        if content:
            kind = "thinking" if self._thinking else "text"
            yield Piece(kind=kind, block=self._block, text=content)
