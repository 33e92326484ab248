import inspect
import json
import os
import random
import socket
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from gpt5_simulator import ResponsesSimulator


RECORDINGS = Path(__file__).parent / "recordings"

# The tests speak plain HTTP. To read the machine's certificates costs a client more than its request.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
# Nor may a busy machine need more time than a client leaves it, which would be five seconds.
PATIENCE = inspect.signature(httpx.get).parameters["timeout"].default
for kind in PATIENCE.as_dict():
    setattr(PATIENCE, kind, 120)


# A busy machine must not fail a law that holds.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# Fixed examples, so that coverage does not depend on chance; `long` tries new ones.
settings.register_profile("short", max_examples=20, derandomize=True, **PATIENT)
settings.register_profile("long", max_examples=1_000, **PATIENT)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("long" if config.option.markexpr == "long" else "short")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Have `-m long` try each law again with many more examples."""
    if item.config.option.markexpr == "long" and is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker("long")


@pytest.fixture(scope="session")
def server():
    """A simulator for tests that change nothing about it."""
    with ResponsesSimulator() as simulator:
        yield simulator


@pytest.fixture
def free_port():
    """A port that nobody else is given: systems give out none below 32768 by chance."""
    while True:
        port = random.randrange(20_000, 32_000)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="session")
def ask():
    """Post a request to a simulator with a key, and return the HTTP response."""
    with httpx.Client(timeout=120) as client:

        def post(simulator, body=None, *, key="sk-test", headers=None, **settings):
            request = {"model": "gpt-5", "input": "Hello"} | (body or {}) | settings
            request = {name: value for name, value in request.items() if value is not ...}
            sent = {"authorization": f"Bearer {key}"} | (headers or {})
            return client.post(f"{simulator.base_url}/responses", json=request, headers=sent)

        yield post


@pytest.fixture(scope="session")
def events_of():
    """Decode the events of a streamed HTTP response."""

    def decode(response):
        lines = response.content.decode().split("\n")
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]

    return decode


@pytest.fixture(scope="session")
def function_tool():
    """Build a function tool as requests declare it; parameters are required unless they are `optional`."""

    def build(name, description="", **parameters):
        required = [key for key, value in parameters.items() if not value.pop("optional", False)]
        schema = {"type": "object", "properties": parameters, "required": required}
        return {
            "type": "function",
            "name": name,
            "description": description,
            "parameters": schema,
        }

    return build


@pytest.fixture
def clock(function_tool):
    return function_tool(
        "clock", "Tell the current time in a time zone.", timezone={"type": "string"}
    )


@pytest.fixture
def calculator(function_tool):
    return function_tool(
        "calculator", "Work out an arithmetic expression.", expression={"type": "string"}
    )


@pytest.fixture
def recordings():
    return RECORDINGS
