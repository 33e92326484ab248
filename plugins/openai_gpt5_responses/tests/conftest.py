import asyncio
from collections.abc import Callable, Iterator

import pytest

from gpt5_simulator import ResponsesSimulator
from model_plugin import ModelPlugin


@pytest.fixture(scope="session")
def start_plugin() -> Iterator[Callable[..., ModelPlugin]]:
    """Start plugin processes that end with the session: a start takes seconds, so tests share what they can."""
    with asyncio.Runner() as runner:
        started: list[ModelPlugin] = []

        def start(**environment: str) -> ModelPlugin:
            plugin = ModelPlugin(runner, **environment)
            plugin.start()
            started.append(plugin)
            return plugin

        yield start
        for plugin in started:
            plugin.stop()


@pytest.fixture(scope="session")
def plugin(start_plugin: Callable[..., ModelPlugin]) -> ModelPlugin:
    return start_plugin()


@pytest.fixture
def server() -> Iterator[ResponsesSimulator]:
    with ResponsesSimulator() as running:
        yield running
