"""Under a strain a command's processes stand still now and then, or have others beside them, and go on to their own end."""

import sys

import psutil
import pytest

from sessions import strain


WAIT_FOR_A_STOP = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", '''
import time
before = time.monotonic()
while (now := time.monotonic()) - before < 0.3:
    before = now
    time.sleep(0.01)
'''])
sys.exit(child.wait() + 3)
"""


def test_a_process_below_the_command_stands_still_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strain, "_STOP_CHANCE", 1.0)

    assert strain.main("stops", sys.executable, "-c", WAIT_FOR_A_STOP) == 3


def test_four_processes_are_busy_while_the_command_runs_and_gone_afterwards() -> None:
    count = "import psutil, sys; sys.exit(len(psutil.Process().parent().children()) - 1)"

    assert strain.main("busy", sys.executable, "-c", count) == 4
    assert psutil.Process().children() == []
