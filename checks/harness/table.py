"""The table: what the runs of each harness came to, as counts; no text of a run is in it."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .mutations import Mutation
from .playing import Harness, Played
from .verdicts import VERDICTS, Verdict, judge


_WRONG: tuple[Verdict, ...] = ("broke off", "gave up", "hung", "outside", "untrue")
_SPREADS = 2  # standard errors; what lies within is a tie


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A run as the table needs it.

    Attributes:
        task: The key of its task.
        verdict: What it came to.
        right: Whether that is right.
        calls: Its model calls.
        sent: The bytes of its requests.
        made: How often the call was made at which things go wrong.
    """

    task: str
    verdict: Verdict
    right: bool
    calls: int
    sent: int
    made: int


@dataclass(frozen=True, kw_only=True)
class Column:
    """What was measured of a harness: the runs of each mutation, processor seconds of a plain run, and the peak memory in bytes."""

    harness: Harness
    cells: Mapping[str, Sequence[Counted]]
    cpu: float
    memory: int

    def runs(self) -> list[Counted]:
        """Return the runs of all mutations that were judged."""
        return [run for runs in self.cells.values() for run in runs if run.verdict != "not offered"]


def count_run(played: Played) -> Counted:
    """Count a run."""
    run = played.run
    verdict = judge(played)
    return Counted(
        task=run.case.task.key,
        verdict=verdict,
        right=verdict in run.case.mutation.right,
        calls=len(run.requests),
        sent=sum(map(len, run.requests)),
        made=max(run.made.values(), default=0),
    )


def build_table(mutations: Sequence[Mutation], columns: Sequence[Column]) -> str:
    """Return both tables as Markdown: each mutation, and the sums of each harness."""
    titles = [column.harness.name for column in columns]
    rows = [["", *titles, "best"]]
    for mutation in mutations:
        cells = [column.cells.get(mutation.name, ()) for column in columns]
        if mutation.taste:
            shown = [
                f"{sum(run.made > 1 for run in runs)} of {len(runs)} ran it twice" for runs in cells
            ]
            rows.append([f"{mutation.name} (taste)", *shown, ""])
        else:
            rows.append([mutation.name, *map(show_cell, cells), _name_best(titles, cells)])
    sums = [["", *titles]]
    judged = [m.name for m in mutations if not m.taste]
    runs = [
        [
            run
            for name in judged
            for run in column.cells.get(name, ())
            if run.verdict != "not offered"
        ]
        for column in columns
    ]
    sums.append(["runs", *(str(len(one)) for one in runs)])
    sums.append(
        [
            "right",
            *(f"{statistics.mean(run.right for run in one):.1%}" if one else "" for one in runs),
        ]
    )
    sums += [[kind, *(_count(kind, one) for one in runs)] for kind in VERDICTS[:-1]]
    least = _find_least(columns)
    for title, index in (("model calls beyond the least", 0), ("bytes sent, of the least", 1)):
        sums.append([title, *(_show_beyond(column, least, index) for column in columns)])
    sums.append(["CPU of a plain run", *(f"{column.cpu * 1000:.0f} ms" for column in columns)])
    sums.append(["peak memory", *(f"{column.memory / 1e6:.0f} MB" for column in columns)])
    return f"{_markdown(rows)}\n\n{_markdown(sums)}\n"


def _count(kind: Verdict, runs: Sequence[Counted]) -> str:
    return str(sum(run.verdict == kind and run.right is (kind not in _WRONG) for run in runs))


def show_cell(runs: Sequence[Counted]) -> str:
    """Return how many runs were right, and what the others came to."""
    if not runs:
        return ""
    if all(run.verdict == "not offered" for run in runs):
        return "none"
    wrong = Counter(run.verdict for run in runs if not run.right)
    told = "".join(f", {number} {verdict}" for verdict, number in wrong.most_common())
    return f"{sum(run.right for run in runs)}{told}"


def _name_best(titles: Sequence[str], cells: Sequence[Sequence[Counted]]) -> str:
    """Return the harnesses that are better than all others by more than the spread; `tie` where all are within it."""
    shares = {
        title: (statistics.mean(run.right for run in runs), len(runs))
        for title, runs in zip(titles, cells, strict=True)
        if runs and runs[0].verdict != "not offered"
    }
    if not shares:
        return ""
    top, number = max(shares.values())
    best = [
        title for title, (share, count) in shares.items() if _are_tied(top, number, share, count)
    ]
    return "tie" if len(best) == len(shares) else ", ".join(best)


def _are_tied(one: float, of_one: int, other: float, of_other: int) -> bool:
    pooled = (one * of_one + other * of_other) / (of_one + of_other)
    error = math.sqrt(pooled * (1 - pooled) * (1 / of_one + 1 / of_other))
    return abs(one - other) <= _SPREADS * error


def _find_least(columns: Sequence[Column]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the fewest model calls and bytes with which any harness has come to something right, for each mutation and task."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for column in columns:
        for name, runs in column.cells.items():
            for run in runs:
                if run.right:
                    calls, sent = found.get((name, run.task), (run.calls, run.sent))
                    found[name, run.task] = (min(calls, run.calls), min(sent, run.sent))
    return found


def _show_beyond(
    column: Column, least: Mapping[tuple[str, str], tuple[int, int]], index: int
) -> str:
    right = [(name, run) for name, runs in column.cells.items() for run in runs if run.right]
    had = sum((run.calls, run.sent)[index] for _, run in right)
    fewest = sum(least[name, run.task][index] for name, run in right)
    if not fewest:
        return ""
    return f"{had / fewest:.2f} x" if index else f"{(had - fewest) / len(right):.2f} a run"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rest))
