import pytest
from playing import Temporal


@pytest.fixture(scope="session")
def anyio_backend():
    """Run asynchronous tests on asyncio, and on nothing else."""
    return "asyncio"


@pytest.fixture
async def temporal(monkeypatch):
    """Temporal in memory, which whoever opens the engine finds."""
    made = Temporal()
    monkeypatch.setattr("agent_temporal._engine.Client", made)
    monkeypatch.setattr("agent_temporal._engine.Worker", made.worker)
    # A busy machine takes longer than people would wait for it.
    monkeypatch.setattr("agent_temporal._runs._ANSWER_SECONDS", 600)
    yield made
    await made.close()
    assert made.failed_tasks == []
