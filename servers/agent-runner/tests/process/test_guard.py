import subprocess
import sys

import psutil
import pytest


RUNNER = """
import asyncio, sys
from agent_runner import AgentRunner

async def run():
    async for output in AgentRunner(command=[sys.executable, "main.py"]).run(sys.argv[1], {}):
        print(output.value, flush=True)

asyncio.run(run())
"""
AGENT = """
import json, os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
children = [subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)]
print(json.dumps([os.getpid(), *(child.pid for child in children)]))
time.sleep(600)
"""


def test_a_runner_that_is_killed_leaves_nothing_behind(make_agent):
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, make_agent(AGENT)], stdout=subprocess.PIPE
    ) as runner:
        line = runner.stdout.readline().decode()
        left = [psutil.Process(int(pid)) for pid in line.strip("[]\n").split(",")]
        runner.kill()
    _, alive = psutil.wait_procs(left, timeout=600)
    assert alive == []


@pytest.mark.parametrize("script", ["", "raise SystemExit(1)"])
async def test_no_guard_is_left_after_a_run(make_agent, run_agent, script):
    before = psutil.Process().children(recursive=True)
    await run_agent(make_agent(script))
    assert psutil.Process().children(recursive=True) == before
