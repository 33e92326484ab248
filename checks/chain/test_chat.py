"""`dify-host chat`: both plugins, a question of theirs in the console, what is said to it, and the log of the run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from run_log import RunFile, list_runs


ROOT = Path(__file__).parents[2]
QUESTION = "What is 17 * 23?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("chat")


@pytest.fixture(scope="module")
def events(folder):
    """Ask for a call that needs leave, give it, and return what the command tells of both runs."""
    host = Path(sys.executable).with_name("dify-host")
    command = [host, "chat", QUESTION, "--plugins", ROOT / "plugins", "--json"]
    done = subprocess.run(
        [*command, "--approval-rules", '{"calculator": "always"}', "--run-log", "runs"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        input="yes\n",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_call_is_made_after_leave_and_the_run_goes_on(events):
    asked, answered = [event for event in events if event["event"] == "finish"]
    [result] = [event for event in events if event["event"] == "tool_result"]
    assert "- calculator: " in asked["answer"]
    assert asked["metadata"]["stop_reason"] == "approval"
    assert events.index(asked) < events.index(result)
    assert "391" in answered["answer"]
    assert answered["metadata"]["stop_reason"] == "answered"


@pytest.mark.usefixtures("events")
def test_what_both_plugins_do_is_logged_where_it_is_asked_to_be(folder):
    runs = {run.end["reason"]: run for run in list_runs(folder / "runs")}
    for run in runs.values():
        file = RunFile(run.path)
        assert file.problems == ()
        requests = list(file.iter_requests())
        assert QUESTION in str(requests[0].messages)
        assert {request.dropped for request in requests} == {0}
    assert runs.keys() == {"approval", "answered"}
    answered = runs["answered"]
    assert answered.end["usage"]["total_tokens"] > 0
    assert answered.end["rounds"] == 2
    kinds = {record["type"] for record in RunFile(answered.path).iter_records()}
    assert {"bound", "started", "result"} <= kinds
