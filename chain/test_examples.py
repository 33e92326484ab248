"""The examples, each run as its reader would run it, against the simulator."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from gpt5_simulator import ResponsesSimulator


EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def simulator():
    with ResponsesSimulator() as server:
        yield server


def run_example(name, server, text):
    environment = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.base_url}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        input=text,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert not done.stderr
    return done.stdout


def test_the_console_agent_uses_its_tools_and_keeps_its_reasoning(simulator):
    told = run_example(
        "console_agent.py",
        simulator,
        "What does the clock say, date and time, in UTC? And power: base 2, exponent 10.\n"
        "Again, power: base 3, exponent 4.\n\n",
    )
    assert "- power: 1024" in told
    assert "- power: 81" in told
    inputs = [request.body["input"] for request in simulator.requests]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(inputs))
    kinds = [item.get("type") for item in inputs[-1]]
    assert kinds.count("reasoning") == 3
    results = [
        json.dumps(item) for item in inputs[-1] if item.get("type") == "function_call_output"
    ]
    assert len(results) == 3


def test_an_example_is_short_enough_to_read():
    assert len((EXAMPLES / "console_agent.py").read_text(encoding="utf-8").splitlines()) <= 40
