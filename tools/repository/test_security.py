"""The security policy names the tests that hold its promises, and the workflows keep what publishes apart."""

import ast
import re
from typing import Any

import pytest
import yaml
from tracked import ROOT


POLICY = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (?!this is a vulnerability)([^|-][^|]*) \| ([^|]*) \|$", POLICY, re.MULTILINE
)
TESTS = re.compile(r"`([\w./-]+\.py)::(test_\w+)`")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_every_row_of_the_policy_is_a_promise_with_its_tests() -> None:
    assert len(ROWS) == len({promise for promise, _ in ROWS}) > 30
    assert len(ROWS) + 2 * POLICY.count("| held by |") == POLICY.count("\n|")


@pytest.mark.parametrize(("promise", "held_by"), ROWS)
def test_a_promise_is_held_by_tests_that_there_are(promise: str, held_by: str) -> None:
    named = TESTS.findall(held_by)

    assert TESTS.sub("", held_by).replace("<br>", "") == "", promise
    assert named, promise
    for path, name in named:
        body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
        assert name in {getattr(node, "name", None) for node in body}, promise


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_job_that_may_publish_runs_nothing_of_the_repository(workflow: Any) -> None:
    told = yaml.safe_load(workflow.read_text(encoding="utf-8"))

    assert told["permissions"] == {"contents": "read"}
    for name, job in told["jobs"].items():
        if job.keys() & {"permissions", "environment"}:
            used = [step.get("uses", "").partition("@")[0] for step in job["steps"]]
            assert "actions/checkout" not in used, name
