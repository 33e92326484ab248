import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import ExitStack, aclosing, contextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, settings

from agent_runner import AgentRunner


# A busy machine is no defect of the code under test.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def make_agent(tmp_path):
    """Return a function that lays out an agent's folder."""

    def make(script, *, name="agent", schema=None, env=None):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "main.py").write_text(textwrap.dedent(script), encoding="utf-8")
        if schema is not None:
            text = schema if isinstance(schema, str) else json.dumps(schema)
            (folder / "input_schema.json").write_text(text, encoding="utf-8")
        if env is not None:
            (folder / ".env").write_text(env, encoding="utf-8")
        return folder

    return make


@pytest.fixture
def make_runner():
    """Return a function that makes a runner whose scripts run in this very Python."""

    def make(**settings):
        return AgentRunner(**{"command": [sys.executable, "main.py"]} | settings)

    return make


@pytest.fixture
def run_agent(make_runner):
    """Return a function that runs an agent and returns its outputs and its result."""

    def run(folder, fields=None, *, client_request_id=None, **settings):
        async def collect():
            stream = make_runner(**settings).run(
                folder, fields or {}, client_request_id=client_request_id
            )
            async with aclosing(stream) as outputs:
                return [output async for output in outputs]

        *outputs, result = asyncio.run(collect())
        return outputs, result

    return run


class Server:
    """`agent-runner serve` as a process of its own."""

    def __init__(self, arguments, environment):
        self.lines = []
        self.client = None
        self._ready = threading.Event()
        self.process = subprocess.Popen(
            [Path(sys.executable).with_name("agent-runner"), "serve", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._ready.wait(timeout=120)

    def submit(self, agent, fields, *, accept="application/json", **body):
        return self.client.post(
            f"/agents/{agent}/runs", json={"input": fields} | body, headers={"Accept": accept}
        )

    def follow(self, run_id, *, after=""):
        """Return the events of a run to its end, each as its id and its data."""
        headers = {"Last-Event-ID": after} if after else {}
        return self.events(self.client.get(f"/runs/{run_id}/events", headers=headers))

    @staticmethod
    def events(response):
        assert response.headers["Content-Type"].startswith("text/event-stream")
        frames = [
            dict(line.split(": ", 1) for line in frame.splitlines())
            for frame in response.text.strip().split("\n\n")
        ]
        return [(frame.get("id"), json.loads(frame["data"])) for frame in frames if "data" in frame]

    def kill(self):
        self.process.kill()
        return self.wait()

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        """Return the exit code; what it wrote to stderr is in `lines` then."""
        code = self.process.wait(timeout=120)
        self._reader.join(timeout=60)
        return code

    def close(self):
        if self.process.poll() is None:
            self.stop()
        self.process.stderr.close()
        if self.client is not None:
            self.client.close()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r"serving .* on (http\S+)", line):
                self.client = httpx.Client(base_url=found[1], timeout=120)
                self._ready.set()
        self._ready.set()  # without a client: it ended


@contextmanager
def _servers():
    """Yield a function that starts servers, which end with the context."""
    with ExitStack() as stack:

        def start(state, *folders, environment=None, **options):
            arguments = [*map(str, folders), "--port", "0"]
            if state is not None:
                arguments += ["--state", str(state)]
            for name, value in options.items():
                arguments += [f"--{name.replace('_', '-')}", str(value)]
            server = Server(arguments, environment or {})
            stack.callback(server.close)
            return server

        yield start


@pytest.fixture(scope="module")
def module_server(tmp_path_factory):
    """Return a function that starts a server for all tests of a module."""
    with _servers() as start:
        yield lambda *folders, **options: start(
            tmp_path_factory.mktemp("state"), *folders, **options
        )


@pytest.fixture
def start_server(tmp_path):
    """Return a function that starts a server over the one state folder of the test, or over the one given."""
    with _servers() as start:

        def start_over(*folders, state=tmp_path / "state", **options):
            return start(state, *folders, **options)

        yield start_over
