"""What is shown of a run, and what the reader has seen of it."""

from collections.abc import Iterator

from ._events import ShowText


def should_emit_text(
    *,
    has_tool_calls: bool,
    iteration: int,
    maximum_iterations: int,
    emit_intermediate_thoughts: bool,
) -> bool:
    """Return whether text of a round is shown, given whether the round has asked for tools by now.

    Text without tool calls always is. Text that comes with tool calls is shown with `emit_intermediate_thoughts`, otherwise only in the last
    round (`iteration` counts from 1). So is commentary, which is as good as text with tool calls.
    """
    if not has_tool_calls or emit_intermediate_thoughts:
        return True
    return iteration >= maximum_iterations


class Display:
    """The text that a run has shown, with a line break between what different rounds show.

    Attributes:
        has_words: Whether the open round has shown more than blank space.
    """

    def __init__(self) -> None:
        self.has_words = False
        self._owes_break = False
        self._ends_line = True

    def open_round(self) -> None:
        """Begin what another round shows."""
        self.has_words = False
        self._owes_break = not self._ends_line

    def show(self, text: str) -> Iterator[ShowText]:
        """Yield the event that shows `text`; none for an empty one."""
        if not text:
            return
        if self._owes_break:
            text = f"\n{text}"
        self._owes_break = False
        self._ends_line = text.endswith("\n")
        self.has_words = self.has_words or bool(text.strip())
        yield ShowText(text=text)
