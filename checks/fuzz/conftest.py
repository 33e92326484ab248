"""How much is tried: a few cases of each property, or with `--hypothesis-profile=long` hundreds."""

import pytest
from hypothesis import HealthCheck, Phase, settings


_SHARED = {
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.generate, Phase.shrink],
    "print_blob": True,
}
settings.register_profile("short", max_examples=20, derandomize=True, **_SHARED)
settings.register_profile("long", max_examples=400, **_SHARED)
settings.load_profile("short")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "long: left out of the short form, as is most of what starts processes"
    )
