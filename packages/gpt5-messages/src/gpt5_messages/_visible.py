"""What a person sees of a stream: the answer, and reasoning summaries inside `<think>` blocks."""

from collections.abc import Iterable

from ._events import BlockDelta, BlockStart, StreamEvent
from ._stop import StopFilter


_OPEN = "<think>\n"
_CLOSE = "\n</think>"


class VisibleText:
    r"""The text to show of a stream, with every `<think>` block closed.

    Summaries are shown as `<think>`, line break, text, line break, `</think>`, their parts a blank line apart. Raw reasoning
    and encrypted content are never shown; refusals are. Stop sequences end the answer, and never match inside a summary.

    Args:
        stop: Stop sequences for the answer text.
        answer_only: Whether only the answer is shown, without summaries and commentary: for a program that reads all of the text as JSON.

    Example:
        >>> from gpt5_messages import BlockDelta
        >>> visible = VisibleText()
        >>> visible.feed(BlockDelta(index=0, kind="summary_text", text="Add them."))
        '<think>\nAdd them.'
        >>> visible.feed(BlockDelta(index=1, kind="text", text="4"))
        '\n</think>4'
    """

    def __init__(self, stop: Iterable[str] = (), *, answer_only: bool = False) -> None:
        self._stop = StopFilter(stop)
        self._answer_only = answer_only
        self._hidden_blocks: set[int] = set()
        self._thinking_block: int | None = None  # the summary part that is being shown
        self._ends_in_line_break = True

    @property
    def is_stopped(self) -> bool:
        """Whether a stop sequence has ended the answer, so that nothing more can follow."""
        return self._stop.hit is not None

    def feed(self, event: StreamEvent) -> str:
        """Return what this event adds to the visible text; often nothing."""
        if self.is_stopped or (self._answer_only and self._is_hidden(event)):
            return ""
        match event:
            case BlockDelta(kind="summary_text"):
                return self._think(event)
            case BlockDelta(kind="text" | "refusal", text=text):
                return self._shown(self._end_think() + self._stop.feed(text))
            case BlockStart(kind="tool_use"):
                return self._shown(self._end_think())
            case _:
                return ""

    def close(self) -> str:
        """Return what ends the text: a held-back beginning of a stop sequence, and the closing tag."""
        return self._shown(self._stop.flush() + self._end_think())

    def _is_hidden(self, event: StreamEvent) -> bool:
        """Return whether an event belongs to something else than the answer."""
        if isinstance(event, BlockStart) and event.phase == "commentary":
            self._hidden_blocks.add(event.index)
        return isinstance(event, BlockDelta) and (
            event.kind == "summary_text" or event.index in self._hidden_blocks
        )

    def _think(self, event: BlockDelta) -> str:
        if self._thinking_block is None:
            before = self._stop.flush()
            is_fresh_line = before.endswith("\n") if before else self._ends_in_line_break
            before += _OPEN if is_fresh_line else "\n" + _OPEN
        else:
            before = "" if self._thinking_block == event.index else "\n\n"
        self._thinking_block = event.index
        return self._shown(before + event.text)

    def _end_think(self) -> str:
        was_thinking, self._thinking_block = self._thinking_block is not None, None
        return _CLOSE if was_thinking else ""

    def _shown(self, text: str) -> str:
        if text:
            self._ends_in_line_break = text.endswith("\n")
        return text
