import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from gpt5_responses import Transport


# The tests' servers speak plain HTTP. Each has an address of its own, so that each gets a client of its own, and to read the machine's
# certificates costs a client more than everything else.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)

# A busy machine must not fail a law that holds.
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# Fixed examples, so that coverage does not depend on chance; `long` tries new ones.
settings.register_profile("short", max_examples=20, derandomize=True, **PATIENT)
settings.register_profile("long", max_examples=1_000, **PATIENT)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, and on nothing else."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """Keep connections for as long as a machine may need for the next call, and wait that long for a socket."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpt5_responses._http.client._IDLE_SECONDS", 600.0)
        patch.setattr("gpt5_responses._http.web_socket._UPGRADE_SECONDS", 100.0)
        yield


@pytest.fixture
def transport() -> Iterator[Transport]:
    """Give a pool of connections, which closes with the test."""
    pool = Transport()
    yield pool
    pool.close()


@pytest.fixture
def pause() -> Iterator[threading.Event]:
    """Give an event that ends a server's silence, or what it sends, with the test."""
    event = threading.Event()
    yield event
    event.set()


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("long" if config.option.markexpr == "long" else "short")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Have `-m long` try each law again with many more examples."""
    if item.config.option.markexpr == "long" and is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker("long")
