import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from contextlib import ExitStack, aclosing, contextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from agent_runner import AgentRunner


# Saves uv the search for a Python before each script.
os.environ.setdefault("UV_PYTHON", sys.executable)

# Seconds after which something never happens: what takes a second takes a minute on a busy machine.
PATIENCE = 600
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

    async def run(folder, fields=None, *, client_request_id=None, **settings):
        stream = make_runner(**settings).run(
            folder, fields or {}, client_request_id=client_request_id
        )
        async with aclosing(stream):
            *outputs, result = [output async for output in stream]
        return outputs, result

    return run


class Preloaded:
    """The process of `preloaded.py`, which forks commands."""

    def __init__(self):
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(PATIENCE)
        script = Path(__file__).with_name("preloaded.py")
        self._process = subprocess.Popen(
            [sys.executable, script, str(theirs.fileno())], pass_fds=[theirs.fileno()]
        )
        theirs.close()

    def start(self, arguments, *files, environment=None):
        """Run `agent-runner` with these files as stdin, stdout and stderr."""
        request = {"arguments": list(map(str, arguments)), "environment": environment or {}}
        return Forked(self._ask(request, *files), self)

    def start_server(self, arguments, environment):
        read_end, write_end = os.pipe()
        with Path(os.devnull).open("r+b") as nothing:
            files = [nothing.fileno(), write_end, write_end]
            process = self.start(arguments, *files, environment=environment)
        os.close(write_end)
        process.stdout = os.fdopen(read_end, encoding="utf-8")
        return process

    def wait(self, pid):
        return self._ask({"wait": pid})

    def close(self):
        self._channel.close()
        self._process.wait(timeout=PATIENCE)

    def _ask(self, request, *files):
        socket.send_fds(self._channel, [json.dumps(request).encode()], files)
        return json.loads(self._channel.recv(1024))


class Forked:
    """A forked process, as far as `subprocess.Popen` is needed here."""

    stdout = None

    def __init__(self, pid, parent):
        self.pid = pid
        self._parent = parent

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        return self._parent.wait(self.pid)


class Server:
    """`agent-runner serve` as a process of its own."""

    def __init__(self, process):
        self.process = process
        self.lines = []
        self.client = None
        self._code = None
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._ready.wait(timeout=PATIENCE)

    def submit(self, agent, fields, **body):
        """Create a run, and return it."""
        response = self.client.post("/v1/runs", json={"agent": agent, "input": fields} | body)
        response.raise_for_status()
        return response.json()

    def find(self, run_id):
        """Return a run."""
        return self.client.get(f"/v1/runs/{run_id}").json()

    def follow(self, run_id):
        """Return the events of a run up to its end."""
        headers = {"Accept": "text/event-stream"}
        text = self.client.get(f"/v1/runs/{run_id}/events", headers=headers).text
        data = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in data]

    def kill(self):
        return self.stop(signal.SIGKILL)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        """Return the exit code; what it printed is in `lines` then."""
        if self._code is None:
            self._reader.join(timeout=PATIENCE)
            assert not self._reader.is_alive()
            self._code = self.process.wait()
        return self._code

    def close(self):
        if self._code is None:
            self.stop()
        self.process.stdout.close()
        if self.client is not None:
            self.client.close()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.search(r"listens on (http\S+)", line):
                # Without TLS, for which it would read the machine's certificates for longer than most tests take.
                # A server closes a connection that is idle for five seconds, perhaps as it is used again: none is kept.
                self.client = httpx.Client(
                    base_url=found[1],
                    timeout=PATIENCE,
                    verify=False,
                    limits=httpx.Limits(max_keepalive_connections=0),
                )
                self._ready.set()
        self._ready.set()  # without a client: it ended


@pytest.fixture(scope="session")
def preloaded():
    process = Preloaded()
    yield process
    process.close()


def _start_command(arguments, environment):
    """Start a server as a user does."""
    return subprocess.Popen(
        [Path(sys.executable).with_name("agent-runner"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | environment,
    )


@contextmanager
def _servers(start_process):
    """Yield a function that starts servers, which end with the context."""
    with ExitStack() as stack:

        def start(state, *folders, environment=None, **options):
            options = {"stop_seconds": 0, "unready_seconds": 0} | options
            arguments = ["serve", *map(str, folders), "--port", "0"]
            if state is not None:
                arguments += ["--state", str(state)]
            for name, value in options.items():
                arguments += [f"--{name.replace('_', '-')}", str(value)]
            server = Server(start_process(arguments, environment or {}))
            stack.callback(server.close)
            return server

        yield start


@pytest.fixture
def start_server(preloaded, tmp_path):
    """Return a function that starts a server over the one state folder of the test, or over the one given."""
    with _servers(preloaded.start_server) as start:

        def start_over(*folders, state=tmp_path / "state", **options):
            return start(state, *folders, **options)

        yield start_over


@pytest.fixture
def start_command(tmp_path):
    """Return a function that starts a server as a user does, from nothing."""
    with _servers(_start_command) as start:
        yield lambda *folders, **options: start(tmp_path / "state", *folders, **options)
