import uuid

import pytest

from temporal_server import serving


@pytest.fixture(scope="session")
def anyio_backend():
    """Run asynchronous tests on asyncio, and on nothing else."""
    return "asyncio"


@pytest.fixture(scope="session")
def temporal():
    """A server of Temporal."""
    yield from serving()


@pytest.fixture
def engine_url(temporal):
    """The URL of an empty engine."""
    return temporal.create(f"n{uuid.uuid4().hex}")
