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

from .mutations import DRAWN, Mutation, draw_cases, read_mutations
from .playing import Harness, Played, Program, read_harnesses
from .server import HarnessServer
from .table import Column, build_table, count_run, show_cell
from .tasks import Task, draw_pool
from .verdicts import judge


SEED = 58
_AT_ONCE = 2
_SHOWN_CHARACTERS = 2_000


def main() -> None:
    """Play what is asked for, and print it."""
    parser = argparse.ArgumentParser(
        prog="harness", description="What harnesses do when everything misbehaves."
    )
    parser.add_argument("--harness", action="append", help="only that one; may be repeated")
    parser.add_argument("--mutation", action="append", help="only that one; may be repeated")
    parser.add_argument("--tau2", type=Path, help="a checkout of sierra-research/tau2-bench")
    parser.add_argument(
        "--official", type=Path, help="the official plugins, as tools/benchmarks/README.md has them"
    )
    parser.add_argument(
        "--environments", type=Path, required=True, help="where the environments are"
    )
    parser.add_argument(
        "--drawn", type=int, default=DRAWN, help=f"tasks for each mutation, {DRAWN}"
    )
    options = parser.parse_args()
    mutations = [one for one in read_mutations() if one.name in (options.mutation or [one.name])]
    harnesses = [
        one
        for one in read_harnesses()
        if one.name in (options.harness or [one.name])
        and (not one.needs or getattr(options, one.needs))
    ]
    if not mutations or not harnesses:
        parser.error("expected the name of a mutation, or of a harness that can run, by the tables")
    pool = draw_pool(SEED, options.tau2)
    is_cell = len(mutations) == len(harnesses) == 1

    def play(harness: Harness) -> Column:
        return _play(harness, mutations, pool, options, is_cell=is_cell)

    began = time.monotonic()
    with ThreadPoolExecutor(_AT_ONCE) as workers:
        columns = list(workers.map(play, harnesses))
    minutes, load = (time.monotonic() - began) / 60, os.getloadavg()[1]
    _tell(build_table(mutations, columns))
    _tell(
        f"{datetime.now(UTC):%Y-%m-%d}, {options.drawn} tasks a cell, {minutes:.0f} minutes, load {load:.1f}"
    )


def _play(
    harness: Harness,
    mutations: Sequence[Mutation],
    pool: Sequence[Task],
    options: argparse.Namespace,
    *,
    is_cell: bool,
) -> Column:
    """Play the cells of a harness, one after the other."""
    with tempfile.TemporaryDirectory() as place, HarnessServer() as server:
        tools = Path(place, "tools.json")
        tools.write_text(json.dumps([asdict(tool) for task in pool for tool in task.tools]))
        environment = {"HARNESS_POOL": str(tools), "HARNESS_OFFICIAL": str(options.official)}
        python = harness.prepare(options.environments)
        cells, cpu, memory = {}, 0.0, 0
        with Program(
            harness=harness, python=python, server=server, environment=environment
        ) as program:
            for mutation in mutations:
                cases = draw_cases(mutation, pool, SEED, options.drawn)
                before, _ = program.measure()
                played = program.play(cases)
                cells[mutation.name] = [count_run(one) for one in played]
                after, peak = program.measure()
                if mutation.name == "plain":
                    cpu, memory = (after - before) / len(cases), peak
                _tell(f"{harness.name}, {mutation.name}: {show_cell(cells[mutation.name])}")
                if is_cell:
                    _print_transcript(played)
    return Column(harness=harness, cells=cells, cpu=cpu, memory=memory)


def _tell(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the result


def _print_transcript(played: Sequence[Played]) -> None:
    for one in played:
        run = one.run
        _tell(
            f"\n{run.case.task.source} ({run.case.task.key}), round {run.case.step + 1}: {judge(one)}"
        )
        _tell(f"  the model said there: {run.script.said}")
        _tell(f"  calls made: {dict(run.made)}; not asked for: {run.outside}")
        for body in run.requests:
            said = json.dumps(json.loads(body).get("input"), ensure_ascii=False)
            _tell(
                f"  request of {len(body)} bytes, its input ending in: {said[-_SHOWN_CHARACTERS:]}"
            )
        _tell(f"  {one.ended}: {one.text[:_SHOWN_CHARACTERS]}")


main()
