import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import httpx
import psutil
import pytest


COMMAND = Path(sys.executable).with_name("agent-runner")
HEADERS = {"Content-Type": "application/json"}


class Server:
    """A server as a process of its own, with scripts that run in this very Python."""

    def __init__(self, process):
        self.process = process
        self.lines = []
        self._url = None
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._ready.wait(timeout=120)
        assert self._url, self.lines
        self.client = httpx.Client(base_url=self._url, timeout=120)

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r"serving .* on (http\S+)", line):
                self._url = found[1]
                self._ready.set()
        self._ready.set()

    def submit(self, agent, fields, **body):
        return self.client.post(f"/agents/{agent}/runs", json={"input": fields} | body)

    def follow(self, run_id, **headers):
        with self.client.stream("GET", f"/runs/{run_id}/events", headers=headers) as response:
            return events_of(response)

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=60)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(timeout=120)
        self._reader.join(timeout=60)
        return code


def events_of(response):
    """Return the events of a stream to its end, each as its id and its data."""
    events, last = [], None
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if name == "id":
            last = value
        if name == "data":
            events.append((last, json.loads(value)))
    return events


@pytest.fixture
def start_server(tmp_path):
    """Return a function that starts a server over a state folder that all servers of a test share."""
    with ExitStack() as stack:

        def start(*folders, env=None, **options):
            arguments = [*map(str, folders), "--port", "0", "--state", str(tmp_path / "state")]
            for name, value in options.items():
                arguments += [f"--{name.replace('_', '-')}", str(value)]
            process = subprocess.Popen(
                [COMMAND, "serve", *arguments],
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"} | (env or {}),
            )
            stack.callback(_end, process)
            server = Server(process)
            stack.callback(server.client.close)
            return server

        yield start


def _end(process):
    if process.poll() is None:
        process.terminate()
        process.wait(timeout=120)
    process.stderr.close()


def _marked(run_ids):
    return [process for process in psutil.process_iter() if _belongs(process, run_ids)]


def _belongs(process, run_ids):
    try:
        return process.environ().get("AGENT_RUNNER_REQUEST_ID") in run_ids
    except psutil.Error:
        return False


COUNT = """
import json, pathlib, sys, time
fields = json.load(sys.stdin)
with open("starts", "a") as starts:
    print(fields["number"], file=starts)
for step in range(5):
    print(json.dumps({"number": fields["number"], "step": step}))
    time.sleep(0.2)
"""


def _submit_ten_and_kill(server, folder):
    runs = [server.submit("agent", {"number": number}).json()["run_id"] for number in range(10)]
    # The third to start: two were done or are under way, and all others wait.
    while len((folder / "starts").read_text().split() if (folder / "starts").exists() else "") < 3:
        pass
    server.kill()
    return runs


@pytest.mark.parametrize("policy", ["fail", "rerun"])
def test_killing_the_server_in_the_middle_of_ten_queued_runs_loses_none(
    make_agent, start_server, policy
):
    folder = make_agent(COUNT)
    options = {"concurrency": 2, "on_crash": policy}
    runs = _submit_ten_and_kill(start_server(folder, **options), folder)
    server = start_server(folder, **options)
    results = [server.follow(run)[-1][1] for run in runs]
    starts = (folder / "starts").read_text().split()
    for number, (run, result) in enumerate(zip(runs, results, strict=True)):
        shown = server.client.get(f"/runs/{run}").json()
        steps = [output["value"]["step"] for output in shown["outputs"] if "value" in output]
        # Fewer where the server died just before the script could say that it had started.
        assert result["attempts"] - 1 <= starts.count(str(number)) <= result["attempts"] <= 2
        if result["status"] == "succeeded":
            assert steps == list(range(5))
        else:
            assert result["stop_reason"] == "interrupted"
            assert steps == list(range(len(steps)))
            assert shown["outputs"][-1]["message"].startswith("the server was ended while")
    interrupted = [result for result in results if result["stop_reason"] == "interrupted"]
    again = [result for result in results if result["attempts"] == 2]
    assert 1 <= len(again if policy == "rerun" else interrupted) <= 2
    assert (interrupted if policy == "rerun" else again) == []
    assert server.stop() == 0
    assert _marked(runs) == []
