"""What the reader has seen of a run."""

from collections.abc import Iterator

from ._events import ShowText


class Display:
    """Turn pieces of text into `ShowText`, with a line break between what different rounds show.

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
        """Show `text`; nothing comes of an empty one."""
        if not text:
            return
        if self._owes_break:
            text = f"\n{text}"
        self._owes_break = False
        self._ends_line = text.endswith("\n")
        self.has_words = self.has_words or bool(text.strip())
        yield ShowText(text=text)
