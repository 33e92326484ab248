import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from postgresql import Cluster

from agent_server._store.servers import LeaseWatch  # noqa: PLC2701 - nobody else decides who is dead
from processes import ServerProcess


# The tests speak plain HTTP. To read the machine's certificates costs a client more than its request.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)
# A busy machine must not fail a law that holds.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# Fixed examples, so that coverage does not depend on chance; `long` tries new ones.
settings.register_profile("short", max_examples=20, derandomize=True, **PATIENT)
settings.register_profile("long", max_examples=1_000, **PATIENT)


def pytest_configure(config):
    settings.load_profile("long" if config.option.markexpr == "long" else "short")


def pytest_itemcollected(item):
    """Have `-m long` try each law again with many more examples."""
    if item.config.option.markexpr == "long" and is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker("long")


@pytest.fixture(scope="session")
def anyio_backend():
    """Run asynchronous tests on asyncio, and on nothing else."""
    return "asyncio"


@pytest.fixture(scope="session")
def cluster():
    """A PostgreSQL server; only tests with the mark `postgresql` may ask for it."""
    # Not a folder of pytest's, which nobody but its owner can enter.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder))
        cluster.start()
        yield cluster
        cluster.stop()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def database(request, tmp_path):
    """The URL of an empty database, on both systems."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'runs.sqlite'}"
    return request.getfixturevalue("cluster").create()


@pytest.fixture
def short_waits(monkeypatch):
    """Let SQLite wait for other writers a tenth of a second only, where a test is about those who wait in vain."""
    monkeypatch.setattr("agent_server._store.database._BUSY_MILLISECONDS", 100)


@pytest.fixture
def living(monkeypatch):
    """Let servers take nobody for dead for a minute, where a test is about those that live: they beat as often, but may be late."""
    monkeypatch.setattr(
        "agent_server._engine.heartbeat.LeaseWatch", lambda **_: LeaseWatch(lease_seconds=60)
    )


@pytest.fixture
def dying():
    """Return a function that starts a server with a run of three steps."""
    started = []

    def start(database, *, name):
        started.append(ServerProcess("dying_server.py", database, name))
        return started[-1]

    yield start
    for server in started:
        server.kill()
