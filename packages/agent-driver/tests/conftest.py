"""Both drivers, played alike."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from agent_driver import adrive, drive
from agent_loop import AgentRun


# A busy machine must not fail a law that holds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def anyio_backend():
    """Run asynchronous tests on asyncio, and on nothing else."""
    return "asyncio"


async def _play_async(run: AgentRun, model: Any, tools: Any, settings: dict[str, Any]) -> list[Any]:
    return [event async for event in adrive(run, model, tools, **settings)]


@pytest.fixture(params=["drive", "adrive"])
def play(request: pytest.FixtureRequest):
    """Return what plays a run with a model and tools, and returns all events."""

    def play(run: AgentRun, model: Any, tools: Any = (), **settings: Any) -> list[Any]:
        if request.param == "drive":
            return list(drive(run, model, tools, **settings))
        return asyncio.run(_play_async(run, model, tools, settings))

    return play


@pytest.fixture
def run() -> AgentRun:
    return AgentRun([{"role": "user", "content": "?"}], maximum_iterations=5)
