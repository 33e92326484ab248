import sys
from collections.abc import Callable

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


def split(text, cuts):
    """Cut a text, or bytes, at these positions, those beyond its end left out."""
    positions = sorted({cut for cut in cuts if cut <= len(text)})
    return [
        text[start:end] for start, end in zip([0, *positions], [*positions, len(text)], strict=True)
    ]


@pytest.fixture(name="split", scope="session")
def split_fixture():
    return split


def count_work(act: Callable[[], object]) -> int:
    """Count what Python does: each executed line as much as there is text in its local variables."""
    work = 0

    def trace(frame, event, _):
        nonlocal work
        if "stream_text" not in frame.f_code.co_filename:
            return None
        if event == "line":
            sizes = (
                len(value)
                for value in frame.f_locals.values()
                if isinstance(value, (str, bytes, list))
            )
            work += 1 + sum(sizes)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return work


@pytest.fixture(scope="session")
def assert_linear():
    """Fail if twice the pieces are clearly more than twice the work."""

    def check(act: Callable[[int], object], size: int = 50) -> None:
        once, twice = count_work(lambda: act(size)), count_work(lambda: act(2 * size))
        assert size < once
        assert twice < 2.2 * once

    return check
