import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gpt5_simulator import ResponsesSimulator
from inside_plugin import InsidePlugin
from model_plugin import PLUGIN, ModelPlugin


@pytest.fixture(scope="session")
def start_plugin() -> Iterator[Callable[..., ModelPlugin]]:
    """Start plugin processes that end with the session: a start takes seconds, so the tests share three."""
    loop = asyncio.new_event_loop()
    # In a thread of its own: heartbeats are heard between tests too, however long others take.
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    started: list[ModelPlugin] = []

    def start(folder: Path = PLUGIN, **environment: str) -> ModelPlugin:
        plugin = ModelPlugin(loop, folder, **environment)
        plugin.start()
        started.append(plugin)
        return plugin

    yield start
    for plugin in started:
        plugin.stop()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture(scope="session")
def plugin(start_plugin: Callable[..., ModelPlugin]) -> ModelPlugin:
    """Return the plugin as it is where an operator has set nothing."""
    return start_plugin()


@pytest.fixture(scope="session")
def configured_plugin(start_plugin: Callable[..., ModelPlugin]) -> ModelPlugin:
    """Return the plugin as it is where an operator has set all that can be set."""
    return start_plugin(
        OPENAI_GPT5_ALLOWED_BASE_URL_HOSTS="127.0.0.1, gateway.example",
        OPENAI_GPT5_AUDIT_LOG="true",
        OPENAI_GPT5_KEEP_ALIVE_SECONDS="0.05",
        OPENAI_GPT5_LOG_TOOL_CONTENT="true",
    )


@pytest.fixture(scope="session")
def hasty(
    start_plugin: Callable[..., ModelPlugin], tmp_path_factory: pytest.TempPathFactory
) -> ModelPlugin:
    """Return the plugin as it is where Dify has little time, with what its polling variant declares of the models that are polled here.

    The time is enough for a server to take a request on, and to answer from the start of a response to its end, on a busy machine.
    """
    folder = tmp_path_factory.mktemp("variant") / PLUGIN.name
    # With the bytecode, which fits wherever the files lie.
    shutil.copytree(PLUGIN, folder, ignore=shutil.ignore_patterns("tests"))
    for name in ("gpt-5.2", "gpt-5.1"):
        path = folder / "models" / "llm" / f"{name}.yaml"
        declared = path.read_text(encoding="utf-8")
        path.write_text(declared.replace("features:\n", "features:\n- polling\n"), encoding="utf-8")
    return start_plugin(
        folder,
        OPENAI_GPT5_BACKGROUND_SECONDS="5",
        OPENAI_GPT5_KEEP_ALIVE_SECONDS="0.1",
        OPENAI_GPT5_AUDIT_LOG="true",
        OPENAI_GPT5_AUDIT_LOG_JSON="true",
    )


@pytest.fixture(scope="session")
def run_inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Run code where the plugin's modules live, and return the JSON value that it prints."""
    with InsidePlugin(tmp_path_factory.mktemp("inside")) as inside:
        yield inside.run


@pytest.fixture
def server() -> Iterator[ResponsesSimulator]:
    with ResponsesSimulator() as running:
        yield running
