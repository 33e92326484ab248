import asyncio
import concurrent.futures
import contextlib
import importlib
import json
import multiprocessing
import os
import shutil
import socket
import sqlite3
import sys
import threading
import time
from dataclasses import dataclass, field

import httpx
import pytest
import uvicorn
from hypothesis import HealthCheck, settings
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route


# A busy machine must not fail a law that holds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

PATIENCE = 120  # seconds after which something never happens


def _load_prices():
    """Import the table of models' prices that Pydantic AI needs, untraced: under coverage it takes seconds."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        importlib.import_module("genai_prices.data")
    finally:
        sys.settrace(tracer)


_load_prices()


class Gate:
    """A point where the daemon waits until a test lets it go on."""

    def __init__(self):
        self._reached = threading.Event()
        self._left = threading.Event()
        self._opened = concurrent.futures.Future()

    def wait_until_reached(self):
        assert self._reached.wait(PATIENCE), "the daemon was never asked"

    def wait_until_left(self):
        assert self._left.wait(PATIENCE), "the caller never let go"

    def open(self):
        if not self._opened.done():
            self._opened.set_result(None)

    async def pass_through(self):
        self._reached.set()
        try:
            await asyncio.shield(asyncio.wrap_future(self._opened))
        finally:
            self._left.set()


@dataclass
class FakeDaemon:
    """A plugin daemon with one model and any tools.

    `model` answers a request's data with a list of chunks and gates; `tool` with a list of messages and gates.
    """

    url: str = ""
    model: object = None
    tool: object = None
    model_requests: list = field(default_factory=list)
    tool_requests: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    gates: list = field(default_factory=list)

    def reset(self):
        """Forget what it was asked; the model says hello and the tools answer "done"."""
        self.model = lambda _data: [text_chunk("Hello"), text_chunk("!", finish_reason="stop")]
        self.tool = lambda _data: [{"type": "text", "message": {"text": "done"}}]
        for recorded in (self.model_requests, self.tool_requests, self.headers, self.gates):
            recorded.clear()

    def open_gates(self):
        for gate in self.gates:
            gate.open()

    def gate(self):
        self.gates.append(Gate())
        return self.gates[-1]

    async def invoke_model(self, request):
        data = (await request.json())["data"]
        self.headers.append(request.headers)
        self.model_requests.append(data)
        return self._stream(self.model(data))

    async def invoke_tool(self, request):
        data = (await request.json())["data"]
        self.headers.append(request.headers)
        self.tool_requests.append(data)
        return self._stream(self.tool(data))

    def _stream(self, items):
        async def frames():
            for item in items:
                if isinstance(item, Gate):
                    await item.pass_through()
                elif isinstance(item, Exception):
                    error = {"error_type": type(item).__name__, "message": str(item)}
                    yield _frame({"code": -500, "message": json.dumps(error)})
                else:
                    yield _frame({"code": 0, "message": "success", "data": item})

        return StreamingResponse(frames(), media_type="text/event-stream")


def _frame(content):
    return f"data: {json.dumps(content)}\n\n"


def text_chunk(text, *, finish_reason=None):
    message = {"role": "assistant", "content": text, "tool_calls": []}
    delta = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {"model": "fake", "prompt_messages": [], "delta": delta}


def call_chunk(*calls):
    """Return a chunk that calls tools, each given as (id, name, arguments)."""
    tool_calls = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for id_, name, args in calls
    ]
    message = {"role": "assistant", "content": "", "tool_calls": tool_calls}
    delta = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return {"model": "fake", "prompt_messages": [], "delta": delta}


def tool_results(data):
    """Return what the tools said, of the messages in a model request."""
    return [m["content"] for m in data["prompt_messages"] if m["role"] == "tool"]


@contextlib.contextmanager
def _serve(app):
    """Serve an application from a thread, and yield its URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def serve():
    """Return a context manager that serves an application and gives its URL."""
    return _serve


@pytest.fixture(scope="session")
def served_daemon():
    """Serve one fake daemon to all tests."""
    fake = FakeDaemon()
    app = Starlette(
        routes=[
            Route("/plugin/{tenant}/dispatch/llm/invoke", fake.invoke_model, methods=["POST"]),
            Route("/plugin/{tenant}/dispatch/tool/invoke", fake.invoke_tool, methods=["POST"]),
        ]
    )
    with _serve(app) as url:
        fake.url = url
        yield fake


@pytest.fixture
def daemon(served_daemon):
    """Give the fake daemon, of which the model says hello and the tools answer "done"."""
    served_daemon.reset()
    yield served_daemon
    served_daemon.open_gates()


@pytest.fixture
def chunks():
    """Give the builders of what a daemon's model answers."""
    return type(
        "Chunks", (), {"text": text_chunk, "call": call_chunk, "tool_results": tool_results}
    )


@pytest.fixture
def build_request():
    """Return a function that builds a run request with a model and tools of the fake daemon."""

    def build(prompt="Hi", *, tools=("search",), secret="s3cret-model-key"):
        schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
        tool_configs = [
            {
                "plugin_id": "acme/tools",
                "provider": "acme",
                "tool_name": name,
                "credential_type": "api-key",
                "credentials": {"token": "s3cret-tool-token"},
                "parameters": [{"name": "q", "type": "string", "form": "llm", "required": True}],
                "parameters_json_schema": schema,
            }
            for name in tools
        ]
        llm = {
            "plugin_id": "acme/llm",
            "model_provider": "acme",
            "model": "fake",
            "credentials": {"api_key": secret},
        }
        layers = [
            {"name": "prompt", "type": "plain.prompt", "config": {"user": prompt}},
            {"name": "plugin", "type": "dify.plugin", "config": {"tenant_id": "tenant-1"}},
            {"name": "llm", "type": "dify.plugin.llm", "deps": {"plugin": "plugin"}, "config": llm},
            {
                "name": "tools",
                "type": "dify.plugin.tools",
                "deps": {"plugin": "plugin"},
                "config": {"tools": tool_configs},
            },
        ]
        return {"composition": {"layers": layers}}

    return build


# Each server is a process of its own, forked from one that has imported everything already: importing takes seconds.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["dify_agent.server.cli"])
_SERVE = """
import os, sys
output = os.open({output!r}, os.O_WRONLY)
os.dup2(output, 1)
os.dup2(output, 2)
os.environ |= {environment!r}
sys.argv = ["dify-agent", "serve", "--port", "0"]
from dify_agent.server.cli import main
main()
"""


class ServerProcess:
    """A `dify-agent serve` in a process of its own."""

    def __init__(self, environment, *, database, output):
        self.database = database
        os.mkfifo(output)
        code = _SERVE.format(output=str(output), environment=environment)
        self.process = _FORKS.Process(target=exec, args=(code,))
        self.process.start()
        self._output = output.open()
        url = self._output.readline().split()[-1]
        self.client = httpx.Client(base_url=url, timeout=PATIENCE)

    def kill(self):
        """End it without a chance to do anything more."""
        self.process.kill()
        return self._end()

    def stop(self):
        """Ask it to stop, and return what it wrote."""
        self.process.terminate()
        return self._end()

    def _end(self):
        self.client.close()
        with self._output:
            written = self._output.read()
        self.process.join(PATIENCE)
        return written


@pytest.fixture
def start_server(daemon, tmp_path, prepared_database):
    """Return a function that starts a server on the test's database."""
    started = []

    def start(*, database=tmp_path / "runs.sqlite", **settings):
        environment = {
            "PLUGIN_DAEMON_URL": daemon.url,
            "PLUGIN_DAEMON_API_KEY": "s3cret-daemon-key",
            "DATABASE_URL": f"sqlite:///{database}",
            "LEASE_SECONDS": "1",
            "DRAIN_SECONDS": "0",
        } | {name.upper(): str(value) for name, value in settings.items()}
        if database.parent == tmp_path and not database.exists():
            shutil.copyfile(prepared_database, database)
        variables = {f"DIFY_AGENT_{name}": text for name, text in environment.items()}
        output = tmp_path / f"output-{len(started)}"
        server = ServerProcess(variables, database=database, output=output)
        started.append(server)
        return server

    yield start
    for server in started:
        if server.process.is_alive():
            server.stop()


def iter_sse(lines):
    """Yield the events of an SSE stream as (id, event, data)."""
    fields = {}
    for line in lines:
        if not line and fields:
            yield int(fields["id"]), fields["event"], json.loads(fields["data"])
            fields = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


@pytest.fixture
def read_events():
    """Return a function that reads a run's events up to its last one, or up to one of a type."""

    def read(client, run_id, *, until=None, **kwargs):
        events = []
        with client.stream("GET", f"/runs/{run_id}/events", **kwargs) as response:
            response.raise_for_status()
            for number, type_, data in iter_sse(response.iter_lines()):
                assert (number, type_) == (data["sequence"], data["type"])
                events.append(data)
                if type_ == until:
                    break
        return events

    return read


@pytest.fixture
def anyio_backend() -> str:
    """Run `@pytest.mark.anyio` tests on asyncio, which the agent library needs."""
    return "asyncio"


@contextlib.contextmanager
def _serve_runs(daemon_url, database, **settings):
    """Serve runs from this process; yield a client, with the database's path."""
    server = importlib.import_module("dify_agent.server")  # takes seconds, and few tests need it
    defaults = {
        "plugin_daemon_url": daemon_url,
        "plugin_daemon_api_key": "s3cret-daemon-key",
        "database_url": f"sqlite:///{database}",
        "lease_seconds": 0.3,
        "drain_seconds": 0,
    }
    app = server.build_app(server.ServerSettings.model_validate(defaults | settings))
    with _serve(app) as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:
        client.database = database
        yield client


@pytest.fixture(scope="session")
def prepared_database(tmp_path_factory):
    """Give a database that a server has used before.

    On a new one the server makes some twenty tables, and DBOS looks for new queues only once a second.
    """
    database = tmp_path_factory.mktemp("prepared") / "runs.sqlite"
    with _serve_runs("http://127.0.0.1:1", database, concurrency=1) as client:
        client.get("/health")
    return database


@pytest.fixture
def serve_runs(daemon, tmp_path, prepared_database):
    """Return a context manager that serves runs from this process, and gives a client with the database's path.

    DBOS keeps its state in the process, so a module either uses this or shares a server of its own.
    """

    def serve(**settings):
        database = tmp_path / "runs.sqlite"
        if "storage_key" not in settings and not database.exists():
            shutil.copyfile(prepared_database, database)
        return _serve_runs(daemon.url, database, **settings)

    return serve


@pytest.fixture(scope="session")
def share_server(served_daemon, tmp_path_factory, prepared_database):
    """Return a context manager like that of `serve_runs`, for a server that serves all tests of a module."""

    def share(**settings):
        database = tmp_path_factory.mktemp("shared") / "runs.sqlite"
        shutil.copyfile(prepared_database, database)
        return _serve_runs(served_daemon.url, database, **settings)

    return share


@pytest.fixture
def settle(daemon):
    """Return a function that lets the runs of a shared server end, so that the next test meets none of them."""

    def wait(client):
        daemon.open_gates()
        unfinished = "SELECT count(*) FROM workflow_status WHERE status IN ('ENQUEUED', 'PENDING')"
        deadline = time.monotonic() + PATIENCE
        with contextlib.closing(sqlite3.connect(client.database)) as database:
            while database.execute(unfinished).fetchone() != (0,):
                assert time.monotonic() < deadline, "a run never ended"
                time.sleep(0.01)  # a poll; no event tells of all runs

    return wait
