"""The table: what the runs of each harness came to, as counts; no text of a run is in it."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .cells import Harness, Played
from .mutations import Mutation
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
    """What was measured of a harness: the runs of each mutation, processor seconds of a plain run, and the peak memory in bytes.

    The last two are 0 where no run was plain.
    """

    harness: Harness
    cells: Mapping[str, Sequence[Counted]]
    cpu: float
    memory: int

    def find_runs(self, names: Iterable[str]) -> list[Counted]:
        """Return the runs of these mutations that can be judged."""
        runs = [run for name in names for run in self.cells.get(name, ())]
        return [run for run in runs if run.verdict != "not offered"]


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
    rows, judged = [["", *titles, "best"]], list[str]()
    for mutation in mutations:
        cells = [column.cells.get(mutation.name, ()) for column in columns]
        if mutation.taste:
            rows.append([f"{mutation.name} (taste)", *map(_show_taste, cells), ""])
        else:
            judged.append(mutation.name)
            rows.append([mutation.name, *map(show_cell, cells), _name_best(titles, cells)])
    runs = [column.find_runs(judged) for column in columns]
    least = _find_least(columns)
    sums = [
        ["", *titles],
        ["runs", *(str(len(one)) for one in runs)],
        ["right", *(f"{sum(run.right for run in one) / (len(one) or 1):.1%}" for one in runs)],
        *([kind, *(_count(kind, one) for one in runs)] for kind in VERDICTS[:-1]),
        ["model calls beyond the least", *(_show_beyond(one, least, 0) for one in columns)],
        ["bytes sent, of the least", *(_show_beyond(one, least, 1) for one in columns)],
        ["CPU of a plain run", *(_show_size(one.cpu * 1000, "ms") for one in columns)],
        ["peak memory", *(_show_size(one.memory / 1e6, "MB") for one in columns)],
    ]
    return f"{_markdown(rows)}\n\n{_markdown(sums)}\n"


def _show_taste(runs: Sequence[Counted]) -> str:
    return f"{sum(run.made > 1 for run in runs)} ran it twice" if runs else ""


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


def _show_size(size: float, unit: str) -> str:
    return f"{size:.0f} {unit}" if size else ""


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rest))
