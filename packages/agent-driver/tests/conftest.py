"""Both drivers, played alike."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from agent_driver import adrive, drive
from agent_loop import AgentRun


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
def anyio_backend():
    """Run asynchronous tests on asyncio, and on nothing else."""
    return "asyncio"


async def _play_async(look: Callable[[Any], None], *args: Any, **settings: Any) -> list[Any]:
    return [_seen(event, look) async for event in adrive(*args, **settings)]


def _seen(event: Any, look: Callable[[Any], None]) -> Any:
    look(event)
    return event


@pytest.fixture(params=["drive", "adrive"])
def play(request: pytest.FixtureRequest):
    """Return what plays a run with a model and tools, shows each event as it comes, and returns all."""

    def play(
        run: AgentRun,
        model: Any,
        tools: Any = (),
        look: Callable[[Any], None] = lambda _: None,
        **settings: Any,
    ) -> list[Any]:
        if request.param == "drive":
            return [_seen(event, look) for event in drive(run, model, tools, **settings)]
        return asyncio.run(_play_async(look, run, model, tools, **settings))

    return play


@pytest.fixture
def released():
    """Return an event for which tools hang, and which lets them go in the end."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def run() -> AgentRun:
    return AgentRun([{"role": "user", "content": "?"}], maximum_iterations=5)
