"""An index of a run's file for the page: numbers and offsets, read once and then only extended."""

import math
import threading
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from run_log import Record, RunFile, find_difference, from_plain
from run_log._reader.problems import reading
from stream_text import is_list, is_object

from ._media import find_media_type
from ._rounds import RoundRow, begin_round, find_effort, to_seconds


_TOTALS: Final = (
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "total_tokens",
    "cache_write_tokens",
    "total_price",
)
_CACHED_FROM: Final = 1_024  # tokens: shorter prompts are never cached
_HEAD_CHARACTERS: Final = 2_000
_MAX_HEAD_BYTES: Final = 8_000_000
_MAX_DIFFERENCE_BYTES: Final = 2_500_000
_BEFORE_CHARACTERS: Final = 120
_AFTER_CHARACTERS: Final = 400


class RunIndex:
    """An index of a run's file. Its methods may be called from any thread.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._forget()

    def _forget(self) -> None:
        """Begin again with an empty index."""
        self.start: Record = {}
        self.end: Record | None = None
        self.rounds: list[RoundRow] = []
        self.before: list[int] = []  # records that belong to no round
        self._file = RunFile(self.path)
        self._size = -1
        self._inode = -1
        self._messages: list[
            tuple[int, int]
        ] = []  # offset of the record of each, and index in its `added`
        self._sizes: dict[str, int] = {}

    def update(self) -> None:
        """Read the new records; or all of them again, if the file was replaced or cut.

        Raises:
            RunLogError: If the file cannot be read.
        """
        with self.lock:
            with reading(self.path):
                status = self.path.stat()
            if (status.st_ino, status.st_size) == (self._inode, self._size):
                return
            if status.st_size < self._size or self._inode not in {-1, status.st_ino}:
                self._forget()  # It was cut, or another file stands in its place.
            for placed in self._file.follow():
                self._take(placed)
            # Taken before the records were read: what has come meanwhile makes the next look find a new size.
            self._inode, self._size = status.st_ino, status.st_size

    @property
    def waits(self) -> bool:
        """Whether the run has stopped to ask a person."""
        return self.end is not None and self.end["reason"] == "approval"

    @property
    def seconds(self) -> float:
        """How long the run has taken until its last record."""
        if self.end is not None:
            return to_seconds(self.end)
        return self.rounds[-1].last if self.rounds else 0.0

    @property
    def size(self) -> int:
        """The bytes of the file when it was last read."""
        return max(self._size, 0)

    def _take(self, placed: Any) -> None:
        record, kind = placed.record, placed.record["type"]
        if kind == "long_text":
            self._sizes[record["digest"]] = record["size"]
            return
        if kind == "start":
            self.start = record
        elif kind == "end":
            self.end = record
            if self.rounds:
                self.rounds[-1].leave("waiting" if self.waits else "left")
        if kind == "request":
            self._begin(placed)
        elif self.rounds:
            self.rounds[-1].take(placed)
        else:
            self.before.append(placed.offset)

    def _begin(self, placed: Any) -> None:
        before = self.rounds[-1] if self.rounds else None
        if before is not None:
            before.leave("left")
        row = begin_round(len(self.rounds), placed, before)
        if not row.effort and before is None:
            row.effort = find_effort(self.start.get("about", {}))
        if not row.model and before is None:
            model = self.start.get("about", {}).get("model")
            row.model = model if isinstance(model, str) else ""
        kept = min(row.kept, len(self._messages))
        row.dropped = len(self._messages) - kept
        if row.dropped:
            row.replaced = self._messages[kept]
        added = [(placed.offset, number) for number in range(row.added)]
        self._messages = self._messages[:kept] + added
        self.rounds.append(row)

    def describe(self) -> dict[str, Any]:
        """Return the data of this file for the head of the page, as JSON."""
        with self.lock:
            budgets = [row.budgets for row in self.rounds if row.budgets is not None]
            rewritten = [row.index for row in self.rounds if row.dropped]
            return {
                "run": self.path.stem,
                "start": self.show(self.start),
                "end": self.show(self.end),
                "seconds": self.seconds,
                "budgets": budgets[-1] if budgets else None,
                "rewritten": rewritten,
                "missed": self._find_missed(),
                "calls": sum(len(row.calls) for row in self.rounds),
                "problems": [str(problem) for problem in self._file.problems],
                "before": [self.show(self._file.read_at(offset)) for offset in self.before[:50]],
            }

    def _find_missed(self) -> list[int]:
        """Return the rounds whose request began with the one before, although the server found less than half of that in its cache."""
        pairs = pairwise(self.rounds)
        # Some routes never say how much was cached; then a round without any means nothing.
        if not any(_number(row.usage, "cached_tokens") for row in self.rounds):
            return []
        return [
            row.index
            for before, row in pairs
            if row.usage
            and not row.dropped
            and before.model == row.model
            and _number(before.usage, "input_tokens") >= _CACHED_FROM
            and _number(row.usage, "cached_tokens") < _number(before.usage, "input_tokens") / 2
        ]

    def describe_round(self, index: int) -> dict[str, Any]:
        """Return a whole round as JSON. Long texts are given by their digest, their size and their beginning.

        Raises:
            IndexError: If there is none.
            RunLogError: If the file cannot be read any more.
        """
        with self.lock:
            row = self.rounds[index]
            records = self.read_records(row)
            settings = {
                name: self._file.read_at(place)["set"][name] for name, place in row.settings.items()
            }
            return {
                "row": row.describe(),
                "records": [self.show(record) for record in records],
                "settings": self.show(settings),
                "difference": self._find_difference(row, records[0]),
            }

    def _find_difference(self, row: RoundRow, request: Record) -> dict[str, Any] | None:
        """Return the first difference of a rewritten prefix."""
        if row.replaced is None:
            return None
        offset, number = row.replaced
        old = self._file.read_at(offset)["added"][number]
        new = request["added"][0] if request["added"] else None
        return describe_difference(self.expand(old), self.expand(new), f"messages[{row.kept}]")

    def list_rows(self) -> list[RoundRow]:
        """Return the rows of all rounds."""
        with self.lock:
            return list(self.rounds)

    def read_records(self, row: RoundRow) -> list[Record]:
        """Return the records of a round, long texts by their digests; the first is its request.

        Raises:
            RunLogError: If the file cannot be read any more.
        """
        with self.lock:
            return [self._file.read_at(offset) for offset in row.offsets]

    def expand(self, value: Any) -> Any:
        """Return a value with its long texts in their places, unless they are too long to compare: then their digests show that they differ."""
        with self.lock:
            sizes: list[int] = []
            from_plain(value, lambda name: sizes.append(self._sizes.get(name, 0)))
            return self._file.expand(value) if sum(sizes) <= _MAX_DIFFERENCE_BYTES else value

    def show(self, value: Any) -> Any:
        """Return plain JSON in which each reference to a long text has its size and its beginning."""
        if is_list(value):
            return [self.show(item) for item in value]
        if not is_object(value):
            return value
        if len(value) == 1 and "$long_text" in value:
            return {"$long_text": self._describe_text(str(value["$long_text"]))}
        return {name: self.show(member) for name, member in value.items()}

    def _describe_text(self, digest: str) -> dict[str, Any]:
        size = self._sizes.get(digest, 0)
        text = self._file.find_text(digest) if size <= _MAX_HEAD_BYTES else None
        return {
            "digest": digest,
            "size": size,
            "head": (text or "")[:_HEAD_CHARACTERS],
            "media": find_media_type(text) if text else "",
            "is_missing": digest not in self._sizes,
        }

    def find_text(self, digest: str) -> str | None:
        """Return a long text; None if it is not in the log."""
        with self.lock:
            return self._file.find_text(digest)


def describe_difference(before: Any, now: Any, path: str) -> dict[str, Any]:
    """Return the first difference of two values as JSON; of two texts only the part around it.

    Args:
        before: The first value.
        now: The second value.
        path: Their path.
    """
    found = find_difference(before, now, path)
    if found is None:
        return {"path": path, "before": None, "now": None, "position": None}
    if found.position is None:
        return {"path": found.path, "before": found.before, "now": found.now, "position": None}
    start = max(found.position - _BEFORE_CHARACTERS, 0)
    cut = slice(start, found.position + _AFTER_CHARACTERS)
    texts = {"before": found.before[cut], "now": found.now[cut]}
    return {"path": found.path, **texts, "position": found.position, "start": start}


def sum_usage(usages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sum of the usage of some rounds, in the currency of the first that has one."""
    known = list(usages)
    totals: dict[str, Any] = {
        name: sum(_number(usage, name) for usage in known) for name in _TOTALS
    }
    currencies = (usage["currency"] for usage in known if usage.get("currency"))
    return {**totals, "currency": next(currencies, "")}


def _number(usage: Mapping[str, Any], name: str) -> float:
    """Return a figure of the usage; 0 for what is not a number that JSON and a sum can hold."""
    value = usage.get(name)
    try:
        number = value if isinstance(value, int) else float(str(value or 0))
        return number if math.isfinite(number) else 0.0
    except (ValueError, OverflowError):
        return 0.0
