"""The server that all clients talk to: `agent-endpoint` in a process of its own, with agents whose models are scripted."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from openai import AsyncOpenAI


BIN = Path(sys.executable).parent
FOLDER = Path(__file__).parent


def pytest_addoption(parser):
    parser.addoption(
        "--open-responses",
        metavar="CHECKOUT",
        help="A checkout of openresponses/openresponses: also run its compliance tests.",
    )
    parser.addoption(
        "--packages", metavar="FOLDER", help="The `node_modules` with node and all that is tried."
    )


def pytest_ignore_collect(collection_path, config):
    """Leave out what needs a checkout unless one is given."""
    needs_checkout = collection_path.name == "test_open_responses.py"
    return True if needs_checkout and not config.getoption("--open-responses") else None


@pytest.fixture(scope="session")
def packages(request):
    """The folder with the packages of npm."""
    return Path(request.config.getoption("--packages")).absolute()


@pytest.fixture(scope="session")
def run_program(base_url, packages):
    """Give out a function that runs one of the programs for Node, and returns what it prints, which is JSON."""

    def run(name, *more):
        done = subprocess.run(
            [packages / ".bin/node", FOLDER / name, packages, base_url, *more],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert not done.returncode, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def base_url(tmp_path_factory):
    """Serve the agents, and give out the address that clients are told."""
    state = tmp_path_factory.mktemp("state")
    command = [BIN / "agent-endpoint", "served_agents", "--state", state, "--port", "0"]
    variables = {"AGENT_ENDPOINT_API_KEYS": "faces:k1"}
    with (
        (state / "log").open("w") as log,
        subprocess.Popen(
            command,
            cwd=FOLDER,
            env=os.environ | variables,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            yield f"{re.search(r'http://\S+', process.stdout.readline())[0].rstrip('/')}/v1"
        finally:
            process.terminate()


@pytest.fixture
async def openai_client(base_url):
    """The asynchronous client of openai, which other libraries are built on."""
    async with AsyncOpenAI(base_url=base_url, api_key="k1", max_retries=0) as client:
        yield client
