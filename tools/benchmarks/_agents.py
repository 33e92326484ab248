"""The table of ways to write a console agent: ours beside two frameworks."""

from collections.abc import Callable, Mapping, Sequence

from ._agent_server import agent_server
from ._contenders import CONTENDERS
from ._table import Figures, Row, take_medians


_ROWS = (
    Row(key="lines", title="lines of code", unit=""),
    Row(key="agent_cpu", title="CPU of a run", unit="ms", most_ratio=0.15),
    Row(key="agent_memory", title="peak memory", unit="MB", most_ratio=0.8),
    Row(
        key="first_use",
        title="start of the program to its first request",
        unit="ms",
        most_ratio=0.75,
    ),
    Row(key="sent", title="sent in a run", unit="kB"),
    Row(
        key="agent_extending",
        title="requests that extend the one before exactly",
        unit="%",
        least=1.0,
    ),
    Row(key="agent_reasoning", title="reasoning items kept, encrypted", unit="%", least=1.0),
)


def compare_agents(repetitions: int, report: Callable[[str], None]) -> str:
    """Measure all contenders in turns, after a turn that does not count, and return the table."""
    pythons = {contender.title: contender.prepare() for contender in CONTENDERS}
    figures: dict[str, list[Figures]] = {title: [] for title in pythons}
    order = CONTENDERS
    with agent_server() as server:
        for repetition in range(repetitions + 1):
            for contender in order:
                report(f"repetition {repetition} of {repetitions}: {contender.title}")
                measured = contender.measure(pythons[contender.title], server)
                if repetition:
                    figures[contender.title].append(measured)
            order = order[::-1]
    return _build_table({title: take_medians(measured) for title, measured in figures.items()})


def _build_table(medians: Mapping[str, Mapping[str, float]]) -> str:
    titles = [contender.title for contender in CONTENDERS]
    lines = [
        ["", *titles, "ours / next", "to reach", "reached"],
        ["---"] * (len(titles) + 4),
        *([row.title, *_cells(row, medians)] for row in _ROWS),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: Row, medians: Mapping[str, Mapping[str, float]]) -> Sequence[str]:
    """Write a row's figures, and how the first of ours stands to the best of the others."""
    others = [medians[each.title][row.key] for each in CONTENDERS if not each.is_ours]
    ours, best = (
        next(medians[each.title][row.key] for each in CONTENDERS if each.is_ours),
        min(others),
    )
    shown = [row.show(medians[each.title][row.key]) for each in CONTENDERS]
    ratio = "" if row.least is not None else f"{ours / best:.2f}"
    if row.most_ratio is None and row.least is None:
        return [*shown, ratio, "", ""]
    return [*shown, ratio, row.target, "yes" if row.is_reached(ours, best) else "**no**"]
