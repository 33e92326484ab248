"""Make the table: `uv run nox -s harness -- [--harness NAME] [--mutation NAME] [--tau2 CHECKOUT] [--official CHECKOUT]`.

With one harness and one mutation that cell's transcript is printed as well. It holds others' data and texts, so it is for this machine alone.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from .cells import Harness, Played, Program, read_harnesses
from .mutations import DRAWN, Mutation, draw_cases, read_mutations
from .server import HarnessServer
from .table import Column, build_table, count_run, show_cell
from .tasks import Task, draw_pool
from .verdicts import judge


SEED = 58
_AT_ONCE = 2
# Each with what lies in it.
_PATHS = {
    "tau2": ("a checkout of sierra-research/tau2-bench", "src/tau2/domains/retail"),
    "official": ("the official plugins, as tools/benchmarks/README.md has them", "models/openai"),
    "environments": ("where the harnesses' environments are made", ""),
}
_SHOWN_CHARACTERS = 2_000


def main() -> None:
    """Play what is asked for, and print it."""
    parser = argparse.ArgumentParser(prog="harness", description=__doc__)
    for name, table in (("harness", read_harnesses()), ("mutation", read_mutations())):
        names, told = [one.name for one in table], "only that one; may be repeated"
        parser.add_argument(f"--{name}", action="append", choices=names, metavar="NAME", help=told)
    for name, (told, _) in _PATHS.items():
        parser.add_argument(f"--{name}", type=Path, help=told)
    told = "how many tasks for each mutation"
    parser.add_argument("--drawn", type=_read_number, default=DRAWN, help=told)
    options = parser.parse_args()
    for name, (told, inside) in _PATHS.items():
        path = getattr(options, name)
        if inside and path and not (path / inside).is_dir():
            parser.error(f"--{name}: expected {told}; there is no {path / inside}")
    mutations = [one for one in read_mutations() if one.name in (options.mutation or [one.name])]
    harnesses = [
        one
        for one in read_harnesses()
        if one.name in (options.harness or [one.name])
        and (not one.needs or getattr(options, one.needs))
    ]
    if not harnesses:
        parser.error("--harness: expected one that can run; official-plugins needs --official")
    pool = draw_pool(SEED, options.tau2)
    began = time.monotonic()
    with ThreadPoolExecutor(_AT_ONCE) as workers:
        playing = [workers.submit(_play, one, mutations, pool, options) for one in harnesses]
        columns = [one.result() for one in playing]
    minutes, load = (time.monotonic() - began) / 60, os.getloadavg()[1]
    _tell(build_table(mutations, columns))
    when = f"{datetime.now(UTC):%Y-%m-%d}, {options.drawn} tasks a cell"
    _tell(f"{when}, {minutes:.0f} min, load {load:.1f}")


def _read_number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("expected a number from 1")
    return int(text)


def _play(
    harness: Harness,
    mutations: Sequence[Mutation],
    pool: Sequence[Task],
    options: argparse.Namespace,
) -> Column:
    """Play the cells of a harness, one after the other; where only one mutation is asked for with its transcript."""
    with tempfile.TemporaryDirectory() as place, HarnessServer() as server:
        tools = Path(place, "tools.json")
        tools.write_text(json.dumps([asdict(tool) for task in pool for tool in task.tools]))
        environment = {"HARNESS_POOL": str(tools), "HARNESS_OFFICIAL": str(options.official)}
        python = harness.prepare(options.environments)
        cells, cpu, memory = {}, 0.0, 0
        with Program(harness, python, server, environment) as program:
            for mutation in mutations:
                cases = draw_cases(mutation, pool, SEED, options.drawn)
                before, _ = program.measure()
                played = program.play(cases)
                cells[mutation.name] = [count_run(one) for one in played]
                after, peak = program.measure()
                if mutation.name == "plain":
                    cpu, memory = (after - before) / len(cases), peak
                _tell(f"{harness.name}, {mutation.name}: {show_cell(cells[mutation.name])}")
                if spared := sum(bool(one.run.find_missed()) for one in played):
                    _tell(f"  in {spared} of {len(played)} it did not come to that")
                if len(mutations) == 1:
                    _print_transcript(played)
    return Column(harness=harness, cells=cells, cpu=cpu, memory=memory)


def _tell(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the result


def _print_transcript(played: Sequence[Played]) -> None:
    for one in played:
        run = one.run
        _tell(f"\n{run.case.task.source}, round {run.case.step + 1}: {judge(one)}")
        _tell(f"  the model said there: {run.script.said}")
        _tell(f"  calls made: {dict(run.made)}; not asked for: {run.outside}")
        for body in run.requests:
            said = json.dumps(json.loads(body).get("input"), ensure_ascii=False)
            _tell(f"  a request, its input ending in: {said[-_SHOWN_CHARACTERS:]}")
        _tell(f"  {one.ended}: {one.text[:_SHOWN_CHARACTERS]}")


main()
