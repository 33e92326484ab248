"""Thoughts told from answers in a stream of text: a thought stands between `<think>` and `</think>`."""

from collections.abc import Iterator
from typing import Literal


type PartKind = Literal["thought", "text"]

_TAGS: dict[PartKind, str] = {"text": "<think>", "thought": "</think>"}


class ThinkSplitter:
    """A splitter of text that comes in pieces; a tag may be cut anywhere."""

    def __init__(self) -> None:
        self._kind: PartKind = "text"
        self._held = ""

    def feed(self, text: str) -> Iterator[tuple[PartKind, str]]:
        """Iterate over the parts that `text` completes; what may be the start of a tag is held back."""
        rest = self._held + text
        while (tag := _TAGS[self._kind]) in rest:
            before, _, rest = rest.partition(tag)
            yield from self._part(before)
            self._kind = "thought" if self._kind == "text" else "text"
        keep = _tag_start(rest, tag)
        self._held = rest[len(rest) - keep :]
        yield from self._part(rest[: len(rest) - keep])

    def close(self) -> Iterator[tuple[PartKind, str]]:
        """Iterate over what was held back, and begin anew."""
        yield from self._part(self._held)
        self._kind, self._held = "text", ""

    def _part(self, text: str) -> Iterator[tuple[PartKind, str]]:
        if text:
            yield self._kind, text


def _tag_start(text: str, tag: str) -> int:
    """Return how many characters at the end of `text` are the start of `tag`."""
    longest = min(len(text), len(tag) - 1)
    return next((size for size in range(longest, 0, -1) if tag.startswith(text[-size:])), 0)
