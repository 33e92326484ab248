"""The table of long runs: what a run of 40 rounds costs its client, by each transport, beside an earlier build."""

import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

from gpt5_simulator import SIMULATOR_KEY

from ._agent_server import END, agent_server
from ._beside import Beside
from ._pairs import build_environment
from ._relay import relay
from ._table import Figures, Row, take_medians
from ._usage import cpu_seconds, peak_bytes


_SCRIPT = Path(__file__).parent / "contenders" / "long_run.py"
_TRANSPORTS = ("http", "websocket")
_ROUNDS, _SLOW_ROUNDS = 40, 10
_RUNS = 3
_ROUND_TRIP = 0.05
_TOOL_SECONDS = 6.0
_ROWS = (
    Row(key="cpu", title="CPU of a run of 40 rounds with 4 tools of 5 kB", unit="ms"),
    Row(key="memory", title="peak memory", unit="MB"),
    Row(key="sent_bytes", title="sent in a run", unit="kB"),
    Row(key="seconds", title="the run at a round trip of 50 ms", unit="s"),
    Row(key="slow_seconds", title="the same with slow start for each request", unit="s"),
    Row(
        key="connections", title="connections of 10 rounds whose tools take 6 s", unit=""
    ),
)  # fmt: skip


def compare_long_runs(
    repetitions: int, report: Callable[[str], None], *, before: Path | None = None
) -> str:
    """Measure all ways in turns, and return the table.

    Args:
        repetitions: How often.
        report: Hears what is being measured.
        before: The interpreter of an environment with the packages of an earlier build.
    """
    pythons = {"this build": Path(sys.executable), **({"before": before} if before else {})}
    ways = [(name, transport) for name, transport in product(pythons, _TRANSPORTS)
            if name == "this build" or transport == "http"]  # fmt: skip
    figures: dict[tuple[str, str], list[Figures]] = {way: [] for way in ways}
    for repetition in range(1, repetitions + 1):
        for way in ways:
            report(f"repetition {repetition} of {repetitions}: {', '.join(way)}")
            figures[way].append(_measure(pythons[way[0]], way[1]))
        ways.reverse()
    return _build_table({", ".join(way): take_medians(one) for way, one in figures.items()})


def _measure(python: Path, transport: str) -> Figures:
    figures: dict[str, float] = {}
    with _asking(python, transport, rounds=_ROUNDS, round_trip=0.0) as (process, _):
        _ask(process)
        before = cpu_seconds(process.pid)
        for _ in range(_RUNS):
            _ask(process)
        figures["cpu"] = (cpu_seconds(process.pid) - before) / _RUNS
        figures["memory"] = peak_bytes(process.pid)
    for key, slow_start in (("seconds", False), ("slow_seconds", True)):
        asking = _asking(
            python, transport, rounds=_ROUNDS, round_trip=_ROUND_TRIP, slow_start=slow_start
        )
        with asking as (process, between):
            _ask(process)
            between.report()
            started = time.monotonic()
            _ask(process)
            figures[key] = time.monotonic() - started
            figures["sent_bytes"] = between.report()["sent_bytes"]
    slow = _asking(
        python, transport, str(_TOOL_SECONDS), rounds=_SLOW_ROUNDS, round_trip=_ROUND_TRIP
    )
    with slow as (process, between):
        _ask(process)
        figures["connections"] = between.report()["connections"]
    return figures


@contextmanager
def _asking(
    python: Path, *options: str, rounds: int, round_trip: float, slow_start: bool = False
) -> Generator[tuple[subprocess.Popen[str], Beside]]:
    """Start the program, with a server and what is between them."""
    with agent_server(rounds) as server:
        port = urlsplit(server.base_url).port or 0
        with relay(port, round_trip=round_trip, slow_start=slow_start) as between:
            variables = {"OPENAI_API_KEY": SIMULATOR_KEY, "OPENAI_BASE_URL": between.base_url}
            with subprocess.Popen(  # noqa: S603 - our own program
                [python, _SCRIPT, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**build_environment(), **variables},
            ) as process:
                yield process, between
                process.communicate()


def _ask(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None and process.stdout is not None  # noqa: PT018, S101 - pipes were asked for
    process.stdin.write("What is there?\n")
    process.stdin.flush()
    if not any(END in line for line in process.stdout):
        raise RuntimeError(f"{_SCRIPT.name}: ended without the answer")


def _build_table(medians: Mapping[str, Mapping[str, float]]) -> str:
    first = next(iter(medians))
    others = [name for name in medians if name != first]
    lines = [
        ["", *medians, *(f"{first} / {other}" for other in others)],
        ["---"] * (len(medians) + len(others) + 1),
        *(
            [
                row.title,
                *(row.show(one[row.key]) for one in medians.values()),
                *(f"{medians[first][row.key] / medians[other][row.key]:.2f}" for other in others),
            ]
            for row in _ROWS
        ),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
