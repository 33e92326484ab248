import tempfile
import uuid
from pathlib import Path

import pytest

from temporal_server import TemporalServer


@pytest.fixture(scope="session")
def anyio_backend():
    """Run asynchronous tests on asyncio, and on nothing else."""
    return "asyncio"


@pytest.fixture(scope="session")
def temporal():
    """A server of Temporal."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = TemporalServer(Path(folder))
        server.start()
        yield server
        server.kill()


@pytest.fixture
def engine_url(temporal):
    """The URL of an empty engine."""
    return temporal.create(f"n{uuid.uuid4().hex}")
