"""A run that waited for a person, and the runs that continued from it, shown as one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from run_log import Record, RunSummary

from ._index import RunIndex, sum_usage
from ._rounds import RoundRow
from ._search import Hit, search_run


def join_runs(summaries: Sequence[RunSummary]) -> list[list[RunSummary]]:
    """Join runs into chains, each from its first part to its last, in the order in which their last parts are given.

    A run from which two others continue is a part of two chains.

    Source: docs/contracts/run-log.md, L15.
    """
    runs = {summary.path.stem: summary for summary in summaries}
    before: dict[str, str] = {}
    for name, summary in runs.items():
        # A log may say anything: a link that would close a circle is no link.
        if summary.resumes in runs and name not in _iter_back(summary.resumes, before):
            before[name] = summary.resumes
    inner = set(before.values())
    return [
        [runs[part] for part in _iter_back(name, before)][::-1]
        for name in runs
        if name not in inner
    ]


def _iter_back(name: str, before: dict[str, str]) -> Iterator[str]:
    yield name
    while name in before:
        name = before[name]
        yield name


class RunChain:
    """The parts of a run, read as one: its rounds are numbered consecutively and its figures summed up.

    Args:
        run: The name of the part that was asked for.
        parts: The parts, the first one first.
        others: The names of other runs that continue from a part of this one.

    Attributes:
        rounds: Each round with its part.
    """

    def __init__(self, run: str, parts: Sequence[RunIndex], others: Sequence[str] = ()) -> None:
        self._run = run
        self._parts = parts
        self._others = others
        rows = [part.list_rows() for part in parts]
        self.rounds: list[tuple[RunIndex, RoundRow]] = [
            (part, row) for part, some in zip(parts, rows, strict=True) for row in some
        ]
        self._firsts = list(accumulate(map(len, rows[:-1]), initial=0))

    def update(self) -> "RunChain":
        """Read what is new in the parts, and return the run as it is now.

        Raises:
            RunLogError: If a file cannot be read.
        """
        for part in self._parts:
            part.update()
        return RunChain(self._run, self._parts, self._others)

    @property
    def end(self) -> Record | None:
        """The end of the last part; None if the run is still going on."""
        return self._parts[-1].end

    @property
    def waits(self) -> bool:
        """Whether a person was asked, and no other run has continued from there."""
        return self._parts[-1].waits

    @property
    def state(self) -> tuple[int, int]:
        """The number of parts and the bytes of all, when they were last read."""
        return len(self._parts), sum(part.size for part in self._parts)

    def describe(self) -> dict[str, Any]:
        """Return the data for the head of the page, as JSON."""
        heads = [part.describe() for part in self._parts]
        placed = list(zip(self._firsts, heads, strict=True))
        end = self.end
        budgets = [head["budgets"] for head in heads if head["budgets"] is not None]
        return {
            "run": self._run,
            "size": self.state[1],
            "start": heads[0]["start"],
            "end": heads[-1]["end"],
            "rounds": len(self.rounds),
            "seconds": sum(head["seconds"] for head in heads),
            # The end of a resumed run includes the usage of the parts before it.
            "totals": (end or {}).get("usage") or sum_usage(row.usage for _, row in self.rounds),
            "budgets": budgets[-1] if budgets else None,
            "rewritten": [first + index for first, head in placed for index in head["rewritten"]],
            "missed": [first + index for first, head in placed for index in head["missed"]],
            "calls": sum(head["calls"] for head in heads),
            "problems": [problem for head in heads for problem in head["problems"]],
            "parts": [
                {"first": first, **{name: head[name] for name in ("run", "start", "before")}}
                for first, head in placed
            ],
            "others": list(self._others),
        }

    def describe_rounds(self, first: int, count: int) -> list[dict[str, Any]]:
        """Return some rows as JSON."""
        last = min(first + count, len(self.rounds))
        return [self.describe_row(place) for place in range(first, last)]

    def describe_row(self, place: int) -> dict[str, Any]:
        """Return a row as JSON, with its part, its index there, and the seconds that the parts before have taken.

        Raises:
            IndexError: If there is none.
        """
        part, row = self.rounds[place]
        described = row.describe()
        number = self._parts.index(part)
        if number < len(self._parts) - 1:
            # A person has decided since; the outcome of these calls is in the next part.
            for call in described["calls"]:
                call["outcome"] = "asked" if call["outcome"] == "waiting" else call["outcome"]
        earlier = sum(one.seconds for one in self._parts[:number])
        return {
            **described,
            "index": place,
            "run": part.path.stem,
            "place": row.index,
            "earlier": earlier,
        }

    def describe_round(self, place: int) -> dict[str, Any]:
        """Return a whole round as JSON. Long texts are given by their digest, their size and their beginning.

        Raises:
            IndexError: If there is none.
            RunLogError: If a file cannot be read any more.
        """
        part, row = self.rounds[place]
        return {**part.describe_round(row.index), "row": self.describe_row(place)}

    def find_text(self, digest: str) -> str | None:
        """Return a long text; None if it is not in the logs."""
        found = (part.find_text(digest) for part in self._parts)
        return next((text for text in found if text is not None), None)

    def search(self, text: str) -> Iterator[Hit]:
        """Yield the places of a text in the run, with the indexes of its rounds in the chain.

        Raises:
            RunLogError: If a file cannot be read.
        """
        for first, part in zip(self._firsts, self._parts, strict=True):
            # A hit before the first round of a later part belongs to the round that waited.
            for hit in search_run(part.path, text):
                yield replace(hit, round=first + hit.round)
