"""Stop sequences, enforced on the answer text because the Responses API has none."""

from collections.abc import Iterable


class StopFilter:
    """A filter that passes text up to the first stop sequence, and holds back only a possible beginning of one.

    Args:
        stop: The stop sequences; empty ones are ignored.

    Attributes:
        hit: The stop sequence that ended the text, or None so far.

    Example:
        >>> stop = StopFilter(["Observation:"])
        >>> stop.feed("42 Obser"), stop.feed("vation: no"), stop.hit
        ('42 ', '', 'Observation:')
    """

    def __init__(self, stop: Iterable[str] = ()) -> None:
        self._stop = tuple(dict.fromkeys(word for word in stop if word))
        self._held = ""
        self.hit: str | None = None

    def feed(self, text: str) -> str:
        """Take the next piece of text and return as much as may be shown by now."""
        if self.hit is not None or not self._stop:
            return "" if self.hit is not None else text
        text = self._held + text
        # The sequence that is complete first wins: then it cannot matter how the text was cut.
        starts = [(text.find(word), word) for word in self._stop]
        found = min(((at + len(word), at, word) for at, word in starts if at >= 0), default=None)
        if found is not None:
            _, at, self.hit = found
            self._held = ""
            return text[:at]
        keep = max(_overlap(text, word) for word in self._stop)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """End the text: return the part that was held back."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, word: str) -> int:
    """Return how many of the last characters of `text` are a beginning of `word`, but not all of it."""
    longest = min(len(text), len(word) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(word[:size])), 0)
