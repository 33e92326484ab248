"""Both drivers, played alike."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from scripted import StandingClock, build_timer

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


async def _play_async(
    clock: StandingClock | None, look: Callable[[Any], None], *args: Any, **settings: Any
) -> list[Any]:
    if clock is not None:
        clock.loop = asyncio.get_running_loop()
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
        clock = request.getfixturevalue("clock") if "clock" in request.fixturenames else None
        return asyncio.run(_play_async(clock, look, run, model, tools, **settings))

    return play


@pytest.fixture
def released():
    """Return an event for which tools hang, and which lets them go in the end."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def patient(monkeypatch):
    """Have nothing be lost that ends a little later than its run."""
    for side in ("side", "async_side"):
        monkeypatch.setattr(f"agent_driver._drive.{side}.LAST_SECONDS", 600.0)


@pytest.fixture
def clock(monkeypatch, patient):  # noqa: ARG001 - how late what ends is, no machine decides
    """Have time pass only where a test lets it."""
    standing = StandingClock()
    monkeypatch.setattr(time, "monotonic", lambda: standing.seconds)
    monkeypatch.setattr(threading, "Timer", build_timer(standing))
    monkeypatch.setattr("agent_driver._drive.tries._FIRST_PAUSE_SECONDS", 0.0)
    return standing


@pytest.fixture
def run() -> AgentRun:
    return AgentRun([{"role": "user", "content": "?"}], maximum_iterations=5)
