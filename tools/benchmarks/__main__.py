"""Run the benchmark: `python -m benchmarks [--official PATH] [--repetitions N] [--only NAME]`.

The names: streams, runs, images, agents, long, memory, page, server and capacity.
"""

import argparse
import asyncio
import os
import platform
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ._agents import compare_agents
from ._capacity import measure_capacity
from ._durable import measure_durable
from ._images import measure_images
from ._long_runs import compare_long_runs
from ._memory import measure_memory
from ._pairs import OURS, Owner, Pair, official_pair
from ._runs import measure_runs
from ._server import stream_server
from ._streams import measure_streams
from ._table import Figures, build_table


_OTHERS = {"agents", "capacity", "long", "memory", "page", "server"}  # which compare no plugins

type _Measure = Callable[[Pair], Awaitable[Figures]]


def main() -> None:
    """Measure what the command line asks for and print the table."""
    options = _read_options()
    parts = options.only or ["streams", "runs", "images"]
    if "agents" in parts:
        print(compare_agents(options.repetitions, _report))  # noqa: T201 - the result
        print(f"\n{_describe_machine(options.repetitions)}")  # noqa: T201 - and where it comes from
    if "long" in parts:
        print(compare_long_runs(options.repetitions, _report, before=options.before))  # noqa: T201 - the result
        print(f"\n{_describe_machine(options.repetitions)}")  # noqa: T201 - and where it comes from
    if "memory" in parts:
        print(measure_memory(options.repetitions))  # noqa: T201 - the result
        print(f"\n{_describe_machine(options.repetitions)}")  # noqa: T201 - and where it comes from
    if "page" in parts:
        from ._page import measure_page  # noqa: PLC0415 - only who asks for it needs a browser

        print(measure_page(options.repetitions, _report))  # noqa: T201 - the result
        print(f"\n{_describe_machine(options.repetitions)}")  # noqa: T201 - and where it comes from
    if "server" in parts:
        print(measure_durable(options.repetitions, _report, postgresql=options.postgresql))  # noqa: T201 - the result
        print(f"\n{_describe_machine(options.repetitions)}")  # noqa: T201 - and where it comes from
    if "capacity" in parts:
        given = {"postgresql": options.postgresql, "program": options.temporal}
        print(measure_capacity(options.repetitions, _report, **given))  # noqa: T201 - the result
        print(f"\n{_describe_machine(options.repetitions)}")  # noqa: T201 - and where it comes from
    if plugins := [part for part in parts if part not in _OTHERS]:
        _measure_plugins(plugins, options)


def _measure_plugins(parts: Sequence[str], options: argparse.Namespace) -> None:
    pairs = [OURS] if options.official is None else [official_pair(options.official), OURS]
    with stream_server() as server:
        measures: dict[str, _Measure] = {
            "streams": lambda pair: measure_streams(pair, server),
            "runs": measure_runs,
            "images": measure_images,
        }
        chosen = [measures[part] for part in parts]
        figures = asyncio.run(_measure_all(pairs, chosen, repetitions=options.repetitions))
    print(build_table(figures))  # noqa: T201 - the result
    print(f"\n{_describe_machine(options.repetitions)}")  # noqa: T201 - and where it comes from


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks", description="Measure the plugins, or ways to write an agent."
    )
    parser.add_argument("--official", type=Path, metavar="PATH", help="the official checkout")
    parser.add_argument(
        "--postgresql",
        metavar="URL",
        help="an empty database, for server; for capacity one beside which others can be made",
    )
    parser.add_argument(
        "--temporal", type=Path, metavar="PROGRAM", help="Temporal's server, for capacity"
    )
    parser.add_argument(
        "--before", type=Path, metavar="PYTHON", help="an earlier build's interpreter, for long"
    )
    parser.add_argument("--repetitions", type=int, default=3, metavar="N", help="3 by default")
    parser.add_argument(
        "--only",
        action="append",
        choices=["streams", "runs", "images", *sorted(_OTHERS)],
        help="these rows; streams, runs and images by default",
    )
    return parser.parse_args()


async def _measure_all(
    pairs: Sequence[Pair], measures: Sequence[_Measure], *, repetitions: int
) -> dict[Owner, list[Figures]]:
    """Measure the pairs in turns, so that whatever else the machine does falls on all of them alike."""
    figures: dict[Owner, list[Figures]] = {pair.owner: [] for pair in pairs}
    for pair in pairs:
        await _warm_up(pair, measures)
    for repetition in range(1, repetitions + 1):
        for pair in pairs:
            _report(f"repetition {repetition} of {repetitions}: {pair.owner}")
            figures[pair.owner].append(await _measure(pair, measures))
        pairs = pairs[::-1]
    return figures


async def _warm_up(pair: Pair, measures: Sequence[_Measure]) -> None:
    """Measure once for nothing, so that all modules are compiled and in the page cache."""
    _report(f"warming up: {pair.owner}")
    await _measure(pair, measures)


async def _measure(pair: Pair, measures: Sequence[_Measure]) -> Figures:
    figures: dict[str, float] = {}
    for measure in measures:
        figures |= await measure(pair)
    return figures


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - progress


def _describe_machine(repetitions: int) -> str:
    load = os.getloadavg()[1]
    return (
        f"Medians of {repetitions} repetitions in turns; {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}, {datetime.now(tz=UTC):%Y-%m-%d}, load {load:.1f}."
    )


if __name__ == "__main__":
    main()
