"""The page of runs as a tenant of a server sees it, whose key is the password."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx


SCRIPT = """
import json, pathlib, sys, time
print("first of", json.load(sys.stdin)["who"], flush=True)
while not pathlib.Path("go").exists():
    time.sleep(0.01)
print("and the last", flush=True)
"""


@contextmanager
def serve(folder):
    """Serve a script whose runs wait for a file beside it; give the address and that file."""
    agent = folder / "waits"
    agent.mkdir()
    (agent / "main.py").write_text(SCRIPT)
    options = ("--port", "0", "--state", folder / "state", "--run-logs", folder / "logs")
    command = [Path(sys.executable).with_name("agent-runner"), "serve", agent, *options]
    keys = {"AGENT_RUNNER_API_KEYS": "ada:k1,bob:k2"}
    with subprocess.Popen(
        command, env=os.environ | keys, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            yield server.stdout.readline().split()[-1], agent / "go"
        finally:
            server.terminate()


def ask(address, key, who):
    body = {"input": {"who": who}}
    headers = {"X-Api-Key": key}
    httpx.post(f"{address}/v1/runs", json=body, headers=headers, timeout=120).raise_for_status()


def test_a_tenant_follows_its_own_run_and_sees_no_other(open_page, tmp_path):
    with serve(tmp_path) as (address, go):
        ask(address, "k1", "ada")
        ask(address, "k2", "bob")

        key = {"username": "anybody", "password": "k1"}
        page = open_page(f"{address}/v1/view/", http_credentials=key)
        page.wait_for_selector("table.runs tbody a")
        assert page.locator("table.runs tbody tr").count() == 1
        page.click("table.runs tbody a")
        page.wait_for_selector("text=going on")
        go.touch()
        page.wait_for_selector("text=answered")
        page.click(".row .toggle")
        page.wait_for_selector("text=and the last")
        assert "ada" in page.inner_text("main")
        assert "bob" not in page.inner_text("main")
