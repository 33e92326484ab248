"""The visible text of a stream: the answer, and reasoning summaries inside `<think>` blocks."""

from collections.abc import Iterable

from gpt5_messages._completion.events import BlockDelta, BlockStart, StreamEvent
from stream_text import TagBreaker, first_of_equal

from .stop import StopFilter


_OPEN = "<think>\n"
_CLOSE = "\n</think>"
_SKIPPED_CHARACTERS = 100


class VisibleText:
    r"""The text to show of a stream, with every `<think>` block closed.

    Summaries are shown as `<think>`, line break, text, line break, `</think>`, their parts a blank line apart. Raw reasoning
    and encrypted content are never shown; refusals are. Stop sequences end the answer, and never match inside a summary.

    A space breaks each tag inside a summary, and each of the answer that looks like the beginning or the end of such a
    block: `< think>`. `build_input` mends the latter.

    Args:
        stop: Stop sequences for the answer text.
        streamed: Whether it is shown to people as it streams in; for a program that reads the whole text, no tag of the answer is broken.
        skip: How many characters are left out because they were shown before, from 0; a `<think>` block that continues is opened again.
        answer_only: Whether only the answer is shown, without summaries and commentary: for a program that parses the
            whole text as JSON. One that comes several times over is shown once.
        thoughts: Whether summaries are shown. Hidden ones count as characters all the same, so that a later reader of the same stream may show them.

    Example:
        >>> from gpt5_messages import BlockDelta
        >>> visible = VisibleText()
        >>> visible.feed(BlockDelta(index=0, kind="summary_text", text="Add them."))
        '<think>\nAdd them.'
        >>> visible.feed(BlockDelta(index=1, kind="text", text="4"))
        '\n</think>4'
    """

    def __init__(
        self,
        stop: Iterable[str] = (),
        *,
        answer_only: bool = False,
        thoughts: bool = True,
        skip: int = 0,
        streamed: bool = True,
    ) -> None:
        self._stop = StopFilter(stop)
        self._words = TagBreaker() if streamed and not answer_only else None
        self._summary = TagBreaker(everywhere=True)
        self._skip: int | None = skip or None  # None once what follows is shown
        self._skipped = ""
        self._characters = 0
        self._answer_only = answer_only
        self._first_block: int | None = None
        self._said = self._later = (
            ""  # the first text of such an answer, and what may be the same again
        )
        self._thoughts = thoughts
        self._hidden_blocks: set[int] = set()
        self._thinking_block: int | None = None  # the summary part that is being shown
        self._ends_in_line_break = True  # The beginning of a text counts as a fresh line.

    @property
    def is_stopped(self) -> bool:
        """Whether a stop sequence has ended the answer, so that nothing can follow."""
        return self._stop.hit is not None

    @property
    def characters(self) -> int:
        """The number of characters of the text so far, skipped ones included, for a later reader of the same stream to skip.

        The tag with which `close` ends a block that could continue does not count.
        """
        return self._characters

    @property
    def skipped_end(self) -> str:
        """The end of the skipped text, up to 100 characters."""
        return self._skipped

    def feed(self, event: StreamEvent) -> str:
        """Return the visible text that this event adds; often nothing."""
        if self.is_stopped or (self._answer_only and self._is_hidden(event)):
            return ""
        match event:
            case BlockDelta(kind="summary_text"):
                return self._think(event)
            case BlockDelta(kind="text" | "refusal", text=text):
                words = self._stop.feed(text)
                return self._closing() + self._say(self._hold(event.index, words))
            case BlockStart(kind="tool_use"):
                return self._closing()
            case _:
                return ""

    def close(self) -> str:
        """Return the end of the text: a held-back beginning of a stop sequence, and the closing tag."""
        words = self._later + self._rest_of_words()
        if self._later and first_of_equal(self._said + words) != self._said + words:
            words = ""
        return self._shown(words) + self._closing()

    def break_off(self) -> str:
        """Return the end of the text if more of it will come later: the closing tag. Text that is held back is left to a later reader."""
        return self._end_think() if self._thoughts else ""

    def _is_hidden(self, event: StreamEvent) -> bool:
        """Return whether an event does not belong to the answer."""
        if isinstance(event, BlockStart) and event.phase == "commentary":
            self._hidden_blocks.add(event.index)
        return isinstance(event, BlockDelta) and (
            event.kind == "summary_text" or event.index in self._hidden_blocks
        )

    def _think(self, event: BlockDelta) -> str:
        said, rest, before, goes_on = "", "", "", self._thinking_block is not None
        if self._thinking_block is None:
            said = self._shown(self._rest_of_words())
            before = _OPEN if self._ends_in_line_break else self._break("\n") + _OPEN
        elif self._thinking_block != event.index:
            rest, before = self._rest_of_summary(), "\n\n"
        self._thinking_block = event.index
        thought = rest + self._shown(before, self._summary.feed(event.text), goes_on=goes_on)
        return said + thought if self._thoughts else said

    def _hold(self, block: int, words: str) -> str:
        """Return a piece of the answer; nothing of what follows the first text of one that is parsed, until all of it is there."""
        if not self._answer_only:
            return words
        self._first_block = block if self._first_block is None else self._first_block
        if self._later or block != self._first_block:
            self._later += words
            return ""
        self._said += words
        return words

    def _say(self, words: str) -> str:
        return self._shown("", self._break(words, ends=self.is_stopped))

    def _break(self, words: str, *, ends: bool = False) -> str:
        if self._words is None:
            return words
        return self._words.feed(words) + (self._words.close() if ends else "")

    def _rest_of_words(self) -> str:
        """Return what is held back of the answer."""
        return self._break(self._stop.flush(), ends=True)

    def _rest_of_summary(self) -> str:
        """Show what is held back of the summary."""
        return self._shown("", self._summary.close(), goes_on=True)

    def _closing(self) -> str:
        end = self._rest_of_summary() + self._shown(self._end_think())
        return end if self._thoughts else ""

    def _end_think(self) -> str:
        was_thinking, self._thinking_block = self._thinking_block is not None, None
        return _CLOSE if was_thinking else ""

    def _shown(self, before: str, text: str = "", *, goes_on: bool = False) -> str:
        """Return the part of a piece that is shown.

        Args:
            before: Tags, and line breaks between blocks.
            text: The text itself.
            goes_on: Whether it continues a thought that has begun before.
        """
        piece = before + text
        if not piece:
            return ""
        self._ends_in_line_break = piece.endswith("\n")
        self._characters += len(piece)
        return piece if self._skip is None else self._after_skipped(before, text, goes_on=goes_on)

    def _after_skipped(self, before: str, text: str, *, goes_on: bool) -> str:
        """Return the part of a piece that was not shown before, at the point where showing resumes."""
        piece, skip = before + text, self._skip or 0
        self._skipped = (self._skipped + piece[:skip])[-_SKIPPED_CHARACTERS:]
        self._skip = max(skip - len(piece), 0)
        if skip >= len(piece):
            return ""
        self._skip = None
        if skip == 0 and before == _CLOSE:
            return text  # it was closed when it broke off
        is_thought = self._thinking_block is not None and (goes_on or skip >= len(before))
        if not is_thought:
            return piece[skip:]
        return _OPEN + (piece[skip:] if skip else text)
