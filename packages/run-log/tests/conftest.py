import asyncio

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings


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


@pytest.fixture
def at_look(monkeypatch):
    """Does something while a page waits for its next look at a log: after as many looks as are given, however long they took."""
    real, seconds = asyncio.sleep, 0.005

    def set_up(name, number, work):
        looks = []

        async def sleep(pause):
            looks.extend([pause] * (pause == seconds))
            if len(looks) == number:
                looks.append(pause)
                work()
            await real(pause)

        monkeypatch.setattr(f"run_log.view._app.{name}", seconds)
        monkeypatch.setattr(asyncio, "sleep", sleep)

    return set_up
