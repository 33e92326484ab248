"""The problems of a log, in a few sentences however many there are."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal


type ProblemKind = Literal[
    "broken", "cut", "empty", "long", "missing", "newer", "unfinished", "unknown"
]
"""The kind of a problem.

`broken`: lines that are not records. `cut`: a last line without its end. `empty`: no record at all. `long`: lines over
the reader's limit.
`missing`: requests that need lines which are not there. `newer`: lines of a later version of the format. `unfinished`:
no end. `unknown`: records of types that this version does not have.
"""

_TEXTS: Final[dict[str, str]] = {
    "broken": "expected a record of a run log",
    "cut": "cut off: the process that wrote it was ended, or is still writing",
    "empty": "holds no record of a run log",
    "long": "longer than this reader takes",
    "missing": "a request that cannot be put together, because lines before it are missing or changed",
    "newer": "of a newer version of the format: a newer gpt5-run-log reads it",
    "unfinished": "the run has no end: its process was ended, or it is still going on",
    "unknown": "a record of an unknown type",
}


class RunLogError(Exception):
    """A log that cannot be read at all; the message names its path and why."""


@contextmanager
def reading(path: str | Path) -> Generator[None]:
    """Turn an `OSError` within the context into a `RunLogError` that names the path."""
    try:
        yield
    except OSError as error:
        raise RunLogError(f"{path}: cannot be read: {error.strerror or error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A part of a log that cannot be read, while the rest is.

    Attributes:
        kind: The kind of problem.
        line: The first line that has it, counted from 1; 0 if the whole file has it.
        count: How many lines have it.
    """

    kind: ProblemKind
    line: int
    count: int = 1

    def __str__(self) -> str:
        """Return it as a sentence."""
        text = _TEXTS[self.kind]
        if not self.line:
            return text
        more = f" and {self.count - 1:,} more" if self.count > 1 else ""
        return f"line {self.line:,}{more}: {text}"


class Problems:
    """The problems of one reading: one of each kind."""

    def __init__(self) -> None:
        self._found: dict[ProblemKind, Problem] = {}

    def add(self, kind: ProblemKind, line: int = 0) -> None:
        """Take note of a problem."""
        known = self._found.get(kind)
        new = Problem(kind=kind, line=line)
        self._found[kind] = replace(known, count=known.count + 1) if known else new

    def to_tuple(self) -> tuple[Problem, ...]:
        """Return all, in the order of their first lines."""
        return tuple(sorted(self._found.values(), key=lambda problem: problem.line))
