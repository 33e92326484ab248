"""What is shown of a run, and what the reader has seen of it."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from stream_text import ThinkFilter

from ._events import ShowText
from ._inputs import ToolResult
from ._sentences import NO_ANSWER, build_known, build_status, build_unfinished, shorten_result


_RESULTS_SHOWN = 20
_MAX_KEPT_CHARACTERS = (
    4_000  # Far more than is shown, so that nothing secret is cut in two before it is looked for.
)


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
    """The text that a run has shown, with a line break between what different rounds show, and what is still to be told of its tools.

    Args:
        show_thoughts: Whether `<think>` blocks in what tools say are shown.
        redact: Takes out of what tools are called and say what nobody may read.

    Attributes:
        has_words: Whether the open round has shown more than blank space.
        has_shown: Whether a round has by now, or a file.
    """

    SAVED: ClassVar = (
        "has_words",
        "has_shown",
        "_owes_break",
        "_ends_line",
        "_known",
        "_known_count",
        "_unfinished",
    )

    def __init__(self, *, show_thoughts: bool, redact: Callable[[str], str]) -> None:
        self.has_words = False
        self.has_shown = False
        self._show_thoughts = show_thoughts
        self._redact = redact
        self._owes_break = False
        self._ends_line = True
        self._known = deque[tuple[str, str]](maxlen=_RESULTS_SHOWN)
        self._known_count = 0
        self._unfinished: list[str] = []

    @property
    def has_outcome(self) -> bool:
        """Whether the reader has seen something, or a tool has answered."""
        return self.has_shown or self._known_count > 0

    def open_round(self) -> None:
        """Begin what another round shows."""
        self.has_words = False
        self._owes_break = not self._ends_line

    def show(self, text: str) -> tuple[ShowText, ...]:
        """Return the event that shows `text`; none for an empty one."""
        if not text:
            return ()
        if self._owes_break:
            text = f"\n{text}"
        self._owes_break = False
        self._ends_line = text.endswith("\n")
        self.has_words = self.has_words or not text.isspace()
        self.has_shown = self.has_shown or self.has_words
        return (ShowText(text=text),)

    def show_status(self, names: Iterable[str]) -> Iterator[ShowText]:
        """Say which tools are about to be called."""
        yield from self.show(build_status([self._redact(name) for name in names]))

    def show_results(self, results: Iterable[ToolResult]) -> Iterator[ShowText]:
        """Show what tools have answered, where that is all the answer there is."""
        for result in results:
            self.open_round()
            yield from self.show(self._balance(self._redact(result.text)))
        if not self.has_words:
            yield from self.show(NO_ANSWER)

    def note_result(self, name: str, result: ToolResult) -> None:
        """Remember a tool's result for the case that the run ends without an answer."""
        if result.is_unfinished:
            self._unfinished.append(name)
        elif result.error is None:
            self._known_count += 1
            self._known.append((name, result.text[:_MAX_KEPT_CHARACTERS]))

    def show_unfinished(self) -> Iterator[ShowText]:
        """Name the tools that were given up while they still ran."""
        yield from self._show_apart(self._tell_unfinished(is_late=True))

    def show_outcome(self, error: str, *, is_late: bool) -> Iterator[ShowText]:
        """Show in the place of an answer why there is none, and what the tools have answered so far; those that were still running have been late, or stopped."""
        known = [
            (self._redact(name), self._balance(shorten_result(self._redact(text))))
            for name, text in self._known
        ]
        told = build_known(known, left_out=self._known_count - len(known))
        unfinished = self._tell_unfinished(is_late=is_late)
        yield from self._show_apart(self._balance(error), unfinished, told)

    def _tell_unfinished(self, *, is_late: bool) -> str:
        names, self._unfinished = self._unfinished, []
        return build_unfinished([self._redact(name) for name in names], is_late=is_late)

    def _show_apart(self, *texts: str) -> Iterator[ShowText]:
        """Show texts of our own, each on a line of its own and none of them a part of an answer."""
        for text in texts:
            self.open_round()
            yield from self.show(text)
        self.open_round()

    def _balance(self, text: str) -> str:
        """Return a text as it can be shown: a tag left open would swallow everything after it."""
        shown = ThinkFilter(show=self._show_thoughts)
        return shown.feed(text) + shown.close()
