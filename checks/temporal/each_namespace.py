"""Plugin for pytest: the tests of a package have their runs executed by Temporal, each test in a namespace of its own."""

import uuid

import pytest

import agent_server.engine
from agent_temporal import open_temporal
from temporal_server import serving


_VARIABLES = ("AGENT_ENDPOINT_ENGINE", "AGENT_RUNNER_ENGINE", "DIFY_AGENT_ENGINE")


@pytest.fixture(scope="session")
def temporal():
    """A server of Temporal."""
    yield from serving()


@pytest.fixture(autouse=True)
def engine_url(temporal, monkeypatch):
    """The URL of an empty engine, which takes the place of the tables."""
    url = temporal.create(f"n{uuid.uuid4().hex}")

    def find(_settings):
        return lambda settings, executor: open_temporal(
            settings.model_copy(update={"engine": url}), executor
        )

    monkeypatch.setattr(agent_server.engine, "_find", find)
    for name in _VARIABLES:
        monkeypatch.setenv(name, url)
    return url
