import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dify_plugin_host import HostSettings, PluginProcess
from file_server import serve_files
from scripted_dify import PATIENCE_SECONDS, Agent
from span_receiver import receive_spans


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
            # What it has to send at its end may take a busy machine some time.
            settings=HostSettings(stop_timeout_seconds=60),
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
def unasked_receiver():
    """What takes spans, and is named to a plugin that nobody has asked for any."""
    with receive_spans() as running:
        yield running


@pytest.fixture(scope="session")
def configured_process(start_agent, files_root, unasked_receiver):
    return start_agent(
        GPT5_AGENT_FILES_ROOT=f"{files_root}/",
        GPT5_AGENT_LOG_CONTENT="false",
        GPT5_AGENT_LOG_ICONS="true",
        GPT5_AGENT_TOOL_SEARCH_FROM="3",
        OTEL_EXPORTER_OTLP_ENDPOINT=unasked_receiver.url,
        OTEL_BSP_SCHEDULE_DELAY="100",
    )


@pytest.fixture
def configured_agent(configured_process):
    """A plugin whose administrator has chosen where images lie, how many tools are many, and logs without contents and with icons."""
    return configured_process.reset()


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("logs") / "runs"


@pytest.fixture(scope="session")
def impatient_process(start_agent, runs_folder):
    return start_agent(
        GPT5_AGENT_TOOL_SECONDS=str(PATIENCE_SECONDS),
        GPT5_AGENT_RUN_LOG=str(runs_folder),
        GPT5_AGENT_RUN_LOG_DAYS="1",
    )


@pytest.fixture
def impatient_agent(impatient_process):
    """A plugin that gives silent tools up after `PATIENCE_SECONDS`, and writes its runs to `runs_folder`."""
    return impatient_process.reset()


@pytest.fixture(scope="session")
def limited_process(start_agent):
    return start_agent(
        PLUGIN_MAX_EXECUTION_TIMEOUT="300",
        GPT5_AGENT_CLOSING_SECONDS=str(285 - PATIENCE_SECONDS),
        GPT5_AGENT_APPROVAL_SECONDS="1",
        GPT5_AGENT_SNAPSHOT_KEY="s" * 32,
    )


@pytest.fixture
def limited_agent(limited_process):
    """A plugin below a daemon that ends each run after 300 seconds; its questions are open for one.

    All but a few of the 300 are kept for the closing call.

    A run ends a twentieth before its limit: tools have `PATIENCE_SECONDS`.
    """
    return limited_process.reset()


@pytest.fixture(scope="session")
def short_process(start_agent):
    return start_agent(
        DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT=str(PATIENCE_SECONDS * 1000), GPT5_AGENT_TRACES="on"
    )


@pytest.fixture
def short_agent(short_process):
    """A plugin below a daemon that ends each call after `PATIENCE_SECONDS`, and where nobody takes traces."""
    return short_process.reset()


@pytest.fixture(scope="session")
def break_plugin(start_agent, tmp_path_factory):
    """Start a copy of the plugin with an error of our own in one of its modules."""

    def start(module, sabotage):
        folder = tmp_path_factory.mktemp("broken") / PLUGIN.name
        # With the bytecode, which fits wherever the files lie.
        shutil.copytree(PLUGIN, folder, ignore=shutil.ignore_patterns("tests"))
        with (folder / "agent_adapter" / module).open("a", encoding="utf-8") as source:
            source.write(sabotage)
        return start_agent(folder)

    return start


_INTERPRETER = """
import json, os, sys, main
answers = os.fdopen(int(sys.argv[1]), "w")
for line in sys.stdin:
    names = {}
    exec(json.loads(line), names)
    print(json.dumps(names["result"]), file=answers, flush=True)
"""


class Inside:
    """A process that has imported the plugin, and evaluates programs."""

    def __init__(self, process, answers, output):
        self._process, self._answers, self._output = process, answers, output

    def evaluate(self, program):
        """Run a program and return what it has called `result`."""
        self._process.stdin.write(json.dumps(program) + "\n")
        self._process.stdin.flush()
        answer = self._answers.readline()
        assert answer, self.output
        return json.loads(answer)

    @property
    def output(self):
        """What the process has written so far."""
        return self._output.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def inside(tmp_path_factory):
    """Let tests look into a process of the plugin's, one for them all: importing the SDK takes seconds."""
    output = tmp_path_factory.mktemp("inside") / "output"
    read_end, write_end = os.pipe()
    with (
        output.open("w", encoding="utf-8") as written,
        os.fdopen(read_end, encoding="utf-8") as answers,
        subprocess.Popen(
            [sys.executable, "-c", _INTERPRETER, str(write_end)],
            cwd=PLUGIN,
            env={"MAX_INVOCATION_TIMEOUT": "10", "MAX_REQUEST_TIMEOUT": "bad"},
            stdin=subprocess.PIPE,
            stdout=written,
            stderr=written,
            pass_fds=[write_end],
            text=True,
        ) as process,
    ):
        os.close(write_end)
        yield Inside(process, answers, output)
        process.stdin.close()


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
