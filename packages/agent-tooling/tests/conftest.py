import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from agent_tooling import find_findings


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
def run_out_of_steps():
    """Fail if a value is held against a schema in a tenth of the steps that calls and answers may take."""

    def check(schema, value):
        with pytest.raises(RecursionError):
            find_findings(schema, value, most_steps=50_000)

    return check
