"""The rows of the table, what they are to reach, and how they are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from ._pairs import Owner


type Figures = Mapping[str, float]
"""One repetition's figures of one pair, by the key of their row: seconds, bytes, or a share from 0 to 1."""

type _Unit = Literal["μs", "ms", "s", "MB", "kB", "%", ""]

_FACTORS: Mapping[_Unit, float] = {
    "μs": 1e6,
    "ms": 1e3,
    "s": 1,
    "MB": 1e-6,
    "kB": 1e-3,
    "%": 100,
    "": 1,
}
_DECIMALS: Mapping[_Unit, int] = {"s": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the table.

    Attributes:
        key: The figure's key.
        title: What is measured.
        unit: The unit that it is shown in; none for what is counted.
        most_ratio: The most that ours may be of the official figure; None where that is not what counts.
        most: The most that ours may be, in seconds; None where that is not what counts.
        least: The least that ours may be, as a share; None where that is not what counts.
    """

    key: str
    title: str
    unit: _Unit
    most_ratio: float | None = None
    most: float | None = None
    least: float | None = None

    def show(self, value: float | None) -> str:
        """Write a figure with its unit; a dash where there is none."""
        if value is None:
            return "-"
        return f"{value * _FACTORS[self.unit]:,.{_DECIMALS.get(self.unit, 0)}f} {self.unit}".strip()

    @property
    def target(self) -> str:
        """What ours has to reach, in words."""
        if self.most_ratio is not None:
            return f"at most {self.most_ratio:.2f} x"
        if self.most is not None:
            return f"at most {self.show(self.most)}"
        return self.show(self.least)

    def is_reached(self, ours: float, official: float | None) -> bool | None:
        """Tell whether ours is good enough; None where that takes an official figure and there is none."""
        if self.most_ratio is not None:
            return None if official is None else ours <= self.most_ratio * official
        if self.most is not None:
            return ours <= self.most
        return self.least is None or ours >= self.least


ROWS = (
    Row(
        key="fast_cpu",
        title="plugin CPU per delta, 50 streams of 400 deltas as fast as they go",
        unit="μs",
        most_ratio=0.1,
    ),
    Row(
        key="paced_cpu",
        title="the same, a delta every 20 ms in each stream",
        unit="μs",
        most_ratio=0.25,
    ),
    Row(
        key="fast_first_chunk",
        title="median time to the first chunk, as fast as they go",
        unit="ms",
        most_ratio=0.08,
    ),
    Row(
        key="paced_first_chunk",
        title="the same, a delta every 20 ms",
        unit="ms",
        most_ratio=0.12,
    ),
    Row(
        key="first_call",
        title="first chunk of the very first call, 2 s after the first heartbeat",
        unit="ms",
        most_ratio=0.15,
    ),
    Row(key="start", title="start to first heartbeat", unit="s", most_ratio=0.8),
    Row(key="memory", title="memory after 50 streams", unit="MB", most_ratio=0.6),
    Row(
        key="parallel_tools",
        title="a round with 4 tools of 0.5 s each, without the model call",
        unit="s",
        most=0.6,
    ),
    Row(
        key="reasoning_kept",
        title="reasoning items kept between rounds, with `opaque_body`",
        unit="%",
        least=1.0,
    ),
    Row(
        key="reasoning_kept_without",
        title="the same where the platform drops `opaque_body`",
        unit="%",
        least=1.0,
    ),
    Row(
        key="extending",
        title="requests that extend the one before them exactly",
        unit="%",
        least=1.0,
    ),
    Row(
        key="run_cpu",
        title="plugin CPU of a run of 30 rounds with 20 kB tool results, both plugins",
        unit="s",
        most_ratio=0.25,
    ),
    Row(
        key="image_cpu",
        title="model plugin CPU per MB of image, calls with 4 images of 1 MB",
        unit="ms",
        most_ratio=0.5,
    ),
)


def build_table(figures: Mapping[Owner, Sequence[Figures]]) -> str:
    """Write the medians of all repetitions as a Markdown table.

    Args:
        figures: The repetitions of each pair; the official one may be missing. A row that nobody measured is left out.
    """
    medians = {owner: take_medians(repetitions) for owner, repetitions in figures.items()}
    ours, official = medians["ours"], medians.get("official", {})
    return "\n".join(
        [
            "| what | official | ours | ratio | to reach | reached |",
            "|---|---|---|---|---|---|",
            *(
                _build_line(row, ours[row.key], official.get(row.key))
                for row in ROWS
                if row.key in ours
            ),
        ]
    )


def take_medians(repetitions: Sequence[Figures]) -> dict[str, float]:
    """Return the median of each figure."""
    return {key: median(figures[key] for figures in repetitions) for key in repetitions[0]}


def _build_line(row: Row, ours: float, official: float | None) -> str:
    ratio = f"{ours / official:.2f}" if official and row.least is None else "-"
    reached = {True: "yes", False: "**no**", None: "-"}[row.is_reached(ours, official)]
    cells = (row.title, row.show(official), row.show(ours), ratio, row.target, reached)
    return f"| {' | '.join(cells)} |"
