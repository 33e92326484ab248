"""Ours, packages alone, through the whole table with a task of our own; the tasks of others are played by `nox -s harness`."""

import json
import runpy
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from gpt5_simulator import SIMULATOR_KEY
from harness.cells import Program, read_harnesses
from harness.mutations import draw_cases, read_mutations
from harness.server import HarnessServer, Run
from harness.table import Column, build_table
from harness.tasks import Parameter, Task, ToolSpec
from harness.verdicts import judge


# What docs/harnesses.md argues for.
ARGUED = {
    "tool-fails-once": "gave up",
    "limit-in-the-answer": "untrue",
    "commentary-alone": "untrue",
}


class Ledger:
    """A world of entries."""

    def __init__(self):
        self.entries = []

    def call(self, name, arguments):
        self.entries.append((name, *sorted(arguments.items())))
        return len(self.entries)

    def state(self):
        return sorted(self.entries)


def build_task(key):
    tool = ToolSpec(
        name=f"enter_{key}",
        original="enter",
        description="Make an entry.",
        parameters=(Parameter(name="euros", type="integer"), Parameter(name="to", type="string")),
    )
    gold = [[("Ann", 1), ("Bob", 2)], [("Eve", 3)]]
    return Task(
        key=key,
        source=key,
        question=f"Case {key}. Enter what is due.",
        instruction="Enter it.",
        tools=(tool,),
        gold=tuple(
            tuple((tool.name, {"euros": euros, "to": to}) for to, euros in calls) for calls in gold
        ),
        begin=Ledger,
    )


def test_ours_come_to_something_right_whatever_goes_wrong(monkeypatch: pytest.MonkeyPatch):
    # On a busy machine more than one run is quiet for a while.
    monkeypatch.setattr("harness.cells._QUIET_SECONDS", 600)
    mutations = read_mutations()
    cases = [
        case
        for number, mutation in enumerate(mutations)
        for case in draw_cases(mutation, [build_task(f"t{number}")], seed=1, number=1)
    ]
    assert len(cases) == len(mutations) >= 24
    ours = next(one for one in read_harnesses() if one.name == "ours")

    with (
        HarnessServer() as server,
        Program(ours, Path(sys.executable), server) as program,
    ):
        played = program.play(cases)

    assert [one.run.case.mutation.name for one in played if one.run.find_missed()] == []
    came_to = {one.run.case.mutation.name: judge(one) for one in played}
    right = {mutation.name: mutation.right for mutation in mutations}
    assert {name: came for name, came in came_to.items() if came not in right[name]} == ARGUED


def test_what_was_not_measured_is_not_in_the_table():
    column = Column(harness=read_harnesses()[0], cells={}, cpu=0, memory=0)

    table = build_table(read_mutations(), [column])

    assert "| peak memory |  |" in table
    assert "| CPU of a plain run |  |" in table


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--harness", "nobody"], "argument --harness: invalid choice: 'nobody'"),
        (["--mutation", "plain", "--mutation", "none"], "argument --mutation: invalid choice"),
        (["--drawn", "0"], "argument --drawn: expected a number from 1"),
        (["--tau2", "/nowhere"], "--tau2: expected a checkout of sierra-research/tau2-bench"),
        (["--official", "/nowhere"], "--official: expected the official plugins"),
        (["--harness", "official-plugins"], "official-plugins needs --official"),
    ],
)
def test_an_option_that_cannot_be_met_is_named(monkeypatch, capsys, options, told):
    monkeypatch.setattr(sys, "argv", ["harness", *options])

    with pytest.raises(SystemExit):
        runpy.run_module("harness.__main__", run_name="__main__")

    assert told in capsys.readouterr().err


def test_whoever_does_not_stream_is_told_the_same():
    [mutation] = [one for one in read_mutations() if one.name == "usage-in-other-words"]
    task = build_task("t0")
    case = next(
        one for seed in range(99) for one in draw_cases(mutation, [task], seed, 1) if one.step == 0
    )
    asked = {"model": "gpt-5.4", "input": task.question}
    with HarnessServer() as server:
        server.runs = {"t0": Run(case=case)}
        request = Request(f"{server.base_url}/responses", json.dumps(asked).encode())
        request.add_header("Authorization", f"Bearer {SIMULATOR_KEY}")
        request.add_header("Content-Type", "application/json")
        with urlopen(request) as response:
            answer = json.load(response)

    assert sorted(answer["usage"]) == ["completion_tokens", "prompt_tokens"]
