"""Readers of what `dify-agent serve` tells Dify, each in an environment of its own; `nox -s dify-backend` runs these tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


FOLDER = Path(__file__).parent


def pytest_addoption(parser):
    parser.addoption(
        "--checkout",
        metavar="CHECKOUT",
        help="A checkout of langgenius/dify with dify-agent in it: also try its client.",
    )


def pytest_ignore_collect(collection_path, config):
    """Leave out what needs a checkout unless one is given."""
    needs_checkout = collection_path.name == "test_client.py"
    return True if needs_checkout and not config.getoption("checkout") else None


def build_command(script, *requirements, arguments=()):
    """Return the command that runs a script where only these requirements are installed."""
    needed = [part for each in requirements for part in ("--with", str(each))]
    python = ("--python", sys.executable)
    run = ("uv", "run", "--quiet", "--isolated", "--no-project", *python, *needed)
    return [*run, "python", str(FOLDER / script), *arguments]


@pytest.fixture(scope="session")
def read_events():
    """Return a function that has events read by a version of Pydantic AI, and gives what it could not read."""

    def read(version, events):
        command = build_command("read_events.py", f"pydantic-ai-slim=={version}")
        done = subprocess.run(
            command, input=json.dumps(events), capture_output=True, text=True, check=False
        )
        assert not done.returncode, done.stderr
        return json.loads(done.stdout)

    return read


@pytest.fixture
def use_client(request):
    """Return a function that starts a program with Dify's own client, whose answers come line by line."""
    package = Path(request.config.getoption("checkout")) / "dify-agent"
    started = []

    def use(url, what, body):
        command = build_command("use_client.py", package, arguments=(url, what))
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        started.append(process)
        process.stdin.write(json.dumps(body) + "\n")
        process.stdin.close()
        return map(json.loads, process.stdout)

    yield use
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
