"""The harness itself: a round that could not be run is no finding."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("options", "broken", "code", "told"),
    [
        (["-k", "some_property"], "", 0, "nothing"),
        (["-k", "some_promise"], "", 1, "FOUND"),
        (["-k", "no_such_test"], "", 2, "could not be run"),
        (["-k", "some_property"], "pytest.py", 2, "could not be run"),
        (["-k", "some_property"], "test_broken.py", 2, "could not be run"),
    ],
    ids=["holds", "breaks", "nothing to run", "no pytest", "broken import"],
)
@pytest.mark.long
def test_only_a_property_that_breaks_is_a_finding(
    tmp_path: Path, options: list[str], broken: str, code: int, told: str
) -> None:
    tests = "def test_some_property(): pass\ndef test_some_promise(): assert False\n"
    (tmp_path / "test_promises.py").write_text(tests)
    if broken:
        (tmp_path / broken).write_text("import no_such_module\n")
    command = [sys.executable, "-m", "fuzz", "--minutes", "0", "--", *options, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        command,
        cwd=Path(__file__).parents[1],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, told in done.stdout) == (code, True), done.stdout + done.stderr
