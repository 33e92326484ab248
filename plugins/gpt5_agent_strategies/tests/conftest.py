import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dify_plugin_host import PluginProcess
from file_server import serve_files
from scripted_dify import Agent


# A busy machine must not fail a law that holds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

PLUGIN = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def runner():
    with asyncio.Runner() as running:
        yield running


@pytest.fixture(scope="session")
def start_agent(runner):
    """Start plugin processes that end with the session; each start takes seconds, so tests share what they can."""
    started = []

    def start(folder=PLUGIN, **environment):
        agent = Agent(runner)
        process = PluginProcess(
            folder,
            backwards=agent.answer,
            on_notice=agent.notices.append,
            environment={"PATH": "/usr/bin:/bin", **environment},
        )
        agent.process = process
        runner.run(process.start())
        started.append(process)
        return agent

    yield start
    for process in started:
        runner.run(process.stop())


@pytest.fixture(scope="session")
def process(start_agent):
    return start_agent()


@pytest.fixture
def agent(process):
    return process.reset()


@pytest.fixture(scope="session")
def files_root(tmp_path_factory):
    """The folder that stands for `/files`, beside what must stay unread."""
    root = tmp_path_factory.mktemp("machine") / "files"
    root.mkdir()
    return root


@pytest.fixture(scope="session")
def configured_process(start_agent, files_root):
    return start_agent(
        GPT5_AGENT_FILES_ROOT=f"{files_root}/",
        GPT5_AGENT_LOG_CONTENT="false",
        GPT5_AGENT_LOG_ICONS="true",
    )


@pytest.fixture
def configured_agent(configured_process):
    """A plugin whose administrator has chosen where images lie, and logs without contents and with icons."""
    return configured_process.reset()


@pytest.fixture
def server():
    with serve_files() as running:
        yield running


@pytest.fixture
def give(server):
    """Put a file behind a link; return what Dify says of it."""

    def put(name, data, kind="image", mime_type="image/png", **rest):
        server.files[f"/{name}"] = data
        return {
            "dify_model_identity": "__dify__file__",
            "url": f"{server.url}/{name}",
            "filename": name,
            "extension": f".{name.rpartition('.')[2]}",
            "mime_type": mime_type,
            "type": kind,
            "size": len(data) if isinstance(data, bytes) else None,
            **rest,
        }

    return put
