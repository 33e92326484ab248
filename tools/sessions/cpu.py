"""What each session of nox costs: seconds by the clock and of CPU, its processes included."""

import json
import re
import resource
import sys
from pathlib import Path


def record(folder: Path) -> None:
    """Write what this process and those that it has waited for took, under the name of the session that it ran.

    With sessions in parallel nox runs each in a process of its own, which is told the name by `--session`.
    """
    if "--session" not in sys.argv:
        return
    session = sys.argv[sys.argv.index("--session") + 1]
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    folder.mkdir(parents=True, exist_ok=True)
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in used)
    (folder / _file_name(session)).write_text(f"{seconds:.1f}", encoding="utf-8")


def print_table(report: Path, folder: Path) -> None:
    """Print the sessions of nox's report with their times, the most expensive first, and the CPU of all."""
    rows: list[tuple[float, float, str]] = []
    for result in json.loads(report.read_text(encoding="utf-8"))["sessions"]:
        name = result["signatures"][-1]
        place = folder / _file_name(name)
        cpu = float(place.read_text(encoding="utf-8")) if place.exists() else 0.0
        rows.append((cpu, result["duration"], name))
    for cpu, duration, name in sorted(rows, reverse=True):
        print(f"{duration:7.1f} s {cpu:7.1f} s CPU  {name}")  # noqa: T201 - what it is for
    print(f"{sum(row[0] for row in rows):17.1f} s CPU  in all")  # noqa: T201


def _file_name(session: str) -> str:
    return re.sub(r"\W+", "-", session)
