"""The pytest plugin of gpt5-simulator. It imports the simulator only when a test uses it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest


if TYPE_CHECKING:
    from gpt5_simulator import ResponsesSimulator

_MARKER = "responses_simulator(**settings): arguments of gpt5_simulator.ResponsesSimulator for the fixture of this name"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def responses_simulator(request: pytest.FixtureRequest) -> "Iterator[ResponsesSimulator]":
    """Start a server of the Responses API for this test, with the settings of the marker `responses_simulator`."""
    from gpt5_simulator import ResponsesSimulator  # noqa: PLC0415 - it brings a web server

    marker = request.node.get_closest_marker("responses_simulator")
    settings: dict[str, Any] = marker.kwargs if marker else {}
    with ResponsesSimulator(**settings) as simulator:
        yield simulator


@pytest.fixture
def openai_environment(
    responses_simulator: "ResponsesSimulator", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set OPENAI_API_KEY and OPENAI_BASE_URL to those of `responses_simulator`."""
    for name, value in responses_simulator.environment.items():
        monkeypatch.setenv(name, value)
