"""Databases of both kinds, and both systems; `nox -s kills` runs these tests."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from postgresql import Cluster

from systems import AgentRunner, DifyAgent


@pytest.fixture(scope="session")
def session_cluster():
    # Not a folder of pytest's, which nobody but its owner can enter.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder))
        cluster.start()
        yield cluster
        cluster.go_on()
        cluster.stop()


@pytest.fixture
def cluster(session_cluster):
    """A PostgreSQL server."""
    yield session_cluster
    session_cluster.go_on()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The URL of an empty database, on both systems."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'runs.sqlite'}"
    return request.getfixturevalue("cluster").create()


@pytest.fixture(params=[AgentRunner, DifyAgent])
def system(request, tmp_path):
    """A system whose servers can be started."""
    with ExitStack() as stack:
        yield request.param(tmp_path, stack)


@pytest.fixture
def scripts(tmp_path):
    """agent-runner."""
    with ExitStack() as stack:
        yield AgentRunner(tmp_path, stack)


@pytest.fixture
def compositions(tmp_path):
    """dify-agent."""
    with ExitStack() as stack:
        yield DifyAgent(tmp_path, stack)
