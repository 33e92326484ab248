"""Under a strain a command's processes stand still now and then, have others beside them or are late, and reach their own end."""

import os
import subprocess
import sys

import psutil
import pytest

from sessions import strain
from sessions.members import ROOT


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


COUNT = """
import psutil, sys, time
while (count := len(psutil.Process().parent().children()) - 1) < 4:
    time.sleep(0.01)
sys.exit(count)
"""


def test_four_processes_are_busy_while_the_command_runs_and_gone_afterwards() -> None:
    assert strain.main("busy", sys.executable, "-c", COUNT) == 4
    assert psutil.Process().children() == []


ASK = """
import os, sys, tempfile
assert " " in tempfile.gettempdir()
sys.exit(int(os.environ["PORT"]) + 4)
"""


def test_the_command_finds_what_others_have_set() -> None:
    assert strain.main("others", sys.executable, "-c", ASK) == 5


SEND_LATE = """
import random, socket, threading
from sessions import late

late._CHANCE = 1.0
late._sleep = lambda _: print("late")
late.install()
drawn = random.getstate()
one, other = socket.socketpair()
thread = threading.Thread(target=lambda: one.sendall(b"it arrives"))
thread.start()
print(other.recv(100).decode())
assert random.getstate() == drawn  # A property test would take that for its own doing.
"""


def test_a_thread_and_what_it_sends_are_late_and_arrive() -> None:
    told = subprocess.run(
        [sys.executable, "-c", SEND_LATE],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split("\n")

    # The event that says that it has begun, its start, and what it sends.
    assert told == ["late", "late", "late", "it arrives", ""]
