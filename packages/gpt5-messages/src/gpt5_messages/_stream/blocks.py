"""The blocks of a stream: how they start, grow and stop."""

from gpt5_messages._completion.events import (
    BlockDelta,
    BlockKind,
    BlockStart,
    BlockStop,
    StreamEvent,
)
from gpt5_messages._text import SurrogateJoiner, whole_characters
from stream_text import CallIds


class BlockLog:
    """A log that all blocks of one stream share.

    Attributes:
        count: The number of blocks.
        answer: The pieces of the answer, refusals included, in the order in which they were shown.
        call_ids: The ids of the calls.
    """

    def __init__(self) -> None:
        self.count = 0
        self.answer: list[str] = []
        self.call_ids = CallIds()


class Block:
    """One block: opened by the first event that belongs to it, closed once.

    Attributes:
        start: The event that it begins with.
        is_open: Whether it can still grow.
        whole: Its whole text, if the server has sent it in one event.
        announced: The text that its part was announced with; nearly always none.
    """

    def __init__(self, kind: BlockKind, log: BlockLog, **facts: str | None) -> None:
        self.start = BlockStart(index=log.count, kind=kind, **facts)
        self.is_open = True
        self.whole = ""
        self.announced = ""
        self._answer = log.answer if kind in ("text", "refusal") else None
        self._pieces: list[str] = []
        self._size = 0
        self._joiner = SurrogateJoiner()
        log.count += 1

    @property
    def streamed(self) -> str:
        """The text of all its deltas."""
        # Joined when somebody asks, so that many small pieces cost no more than a few large ones.
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def text(self) -> str:
        """Its text, as far as known."""
        return self.whole or self.streamed

    def grow(self, text: str) -> list[StreamEvent]:
        """Add a piece."""
        return self._delta(self._joiner.feed(text)) if self.is_open else []

    def may_be_whole(self, full: str) -> bool:
        """Return whether `full` may be its whole text, at a cost that does not grow with the earlier texts."""
        return self.whole == full or (self.is_open and not self.whole and self._begins(full))

    def fill(self, full: str) -> list[StreamEvent]:
        """Add the part of the whole text that has not come yet; a text that disagrees with the deltas changes nothing."""
        self.whole = full = whole_characters(full)
        if len(full) > self._size and self._begins(full):
            return self.extend(full[self._size :])
        return []

    def extend(self, text: str) -> list[StreamEvent]:
        """Add the rest of its whole text, and drop half a character that was held back."""
        self._joiner = SurrogateJoiner()
        return self.grow(text)

    def stop(self) -> list[StreamEvent]:
        """Close it, unless it is closed already."""
        if not self.is_open:
            return []
        rest = self._delta(self._joiner.flush())
        self.is_open = False
        return [*rest, BlockStop(index=self.start.index, kind=self.start.kind)]

    def _begins(self, full: str) -> bool:
        return len(full) >= self._size and full.startswith(self.streamed)

    def _delta(self, text: str) -> list[StreamEvent]:
        if not text:
            return []
        self._pieces.append(text)
        self._size += len(text)
        if self._answer is not None:
            self._answer.append(text)
        return [BlockDelta(index=self.start.index, kind=self.start.kind, text=text)]
