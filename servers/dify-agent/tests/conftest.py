import asyncio
import concurrent.futures
import contextlib
import importlib
import json
import multiprocessing
import os
import queue
import socket
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import uvicorn
from hypothesis import HealthCheck, is_hypothesis_test, settings
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

from agent_server.executor import TransientError


# The tests speak plain HTTP. To read the machine's certificates costs a client more than its request.
os.environ.pop("SSL_CERT_FILE", None)
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)

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


PATIENCE = 600  # seconds after which something never happens
# A server closes a connection that is idle for five seconds, perhaps as it is used again. Those of here wait longer, and those
# that cannot be told so are asked over a new connection each time.
SERVED = {"log_level": "warning", "timeout_graceful_shutdown": 1, "timeout_keep_alive": PATIENCE}
UNKEPT = httpx.Limits(max_keepalive_connections=0)


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
    """A plugin daemon with one model and any tools, and beside it Dify's inner API.

    `model` answers a request's data with a list of chunks, gates and errors, or with a status; `tool` with messages likewise. `api` answers an
    operation and its body with a JSON object, alone or after a status, or with a list of chunks or a status likewise.
    """

    url: str = ""
    model: object = None
    tool: object = None
    api: object = None
    model_requests: list = field(default_factory=list)
    tool_requests: list = field(default_factory=list)
    api_requests: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    gates: list = field(default_factory=list)

    def reset(self):
        """Forget what it was asked; the model says hello and the tools answer "done"."""
        self.model = lambda _data: [text_chunk("Hello"), text_chunk("!", finish_reason="stop")]
        self.tool = lambda _data: [{"type": "text", "message": {"text": "done"}}]
        self.api = lambda _operation, _body: 404
        requests = (self.model_requests, self.tool_requests, self.api_requests)
        for recorded in (*requests, self.headers, self.gates):
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

    async def call_api(self, request):
        operation, body = request.path_params["operation"], await request.json()
        self.headers.append(request.headers)
        self.api_requests.append((operation, body))
        answer = self.api(operation, body)
        if isinstance(answer, dict):
            return JSONResponse(answer)
        if isinstance(answer, tuple):
            return JSONResponse(answer[1], status_code=answer[0])
        return self._stream(answer)

    def _stream(self, items):
        if isinstance(items, int):
            return PlainTextResponse("away", status_code=items)

        async def frames():
            for item in items:
                if isinstance(item, Gate):
                    await item.pass_through()
                elif isinstance(item, ConnectionResetError):
                    raise item
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
        server = uvicorn.Server(uvicorn.Config(app, **SERVED))
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
            Route("/inner/api/{operation:path}", fake.call_api, methods=["POST"]),
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


@pytest.fixture
def build_dify_request(build_request):
    """Return a function that builds a run request with layers that only Dify has, between the model and the tools."""

    def build(*layers, **options):
        request = build_request(**options)
        for layer in request["composition"]["layers"]:
            if layer["name"] == "plugin":
                layer["type"] = "dify.execution_context"
                layer["config"] |= {
                    "user_id": "user-1",
                    "user_from": "end-user",
                    "app_id": "app-1",
                    "agent_mode": "workflow_run",
                    "invoke_from": "service-api",
                }
        request["composition"]["layers"] += [
            {"deps": {"execution_context": "plugin"}, **layer} for layer in layers
        ]
        return request

    return build


class MemoryExecution:
    """An execution whose recorded steps and told events outlive it in two collections, as a database's would."""

    agent = "composition"
    tenant = "ada"
    resumption = None

    def __init__(self, request, *, recorded=None, told=None, attempt=1, retries=3):
        self.run_id = "run-1"
        self._stored = request
        self.request = dict(request)  # which may be emptied
        self.attempt = attempt
        self.recorded = {} if recorded is None else recorded
        self.told = [] if told is None else told
        self._retries = retries

    def again(self):
        """Return the next attempt, after a crash of this one."""
        return MemoryExecution(
            self._stored, recorded=self.recorded, told=self.told, attempt=self.attempt + 1
        )

    async def tell(self, type_, data):
        json.dumps(data)
        self.told.append((type_, data))
        return len(self.told)

    async def step(self, key, work, *, retries=True, after_events=False):
        if key in self.recorded:
            return self.recorded[key]
        for left in reversed(range(self._retries + 1)):
            told = len(self.told)
            try:
                self.recorded[key] = await work()
            except TransientError:
                if not (retries and left) or (len(self.told) > told and not after_events):
                    raise
            else:
                return self.recorded[key]
        raise AssertionError


@pytest.fixture
def build_execution():
    """Return what makes an execution of a request, in memory."""
    return MemoryExecution


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, which the agent library needs."""
    return "asyncio"


@contextlib.contextmanager
def _serve_runs(daemon_url, state, *, layer_providers=(), **settings):
    """Serve runs from a thread of this process; yield a client."""
    server = importlib.import_module("dify_agent.server")  # takes seconds, and few tests need it
    agent_server = importlib.import_module("agent_server.http")
    engine = importlib.import_module("agent_server.engine")
    routes = importlib.import_module("dify_agent.server._dify.routes")
    defaults = {
        "plugin_daemon_url": daemon_url,
        "plugin_daemon_api_key": "s3cret-daemon-key",
        "state": state,
        "stop_seconds": 0,
    }
    known = server.DifyAgentSettings.model_validate(defaults | settings)
    executor = server.DifyAgentExecutor(known, layer_providers=layer_providers)
    served, stopping = queue.Queue(), []

    async def serve(listener):
        async with engine.open_engine(known, executor) as runs:
            own = routes.build_dify_routes(executor, known)
            app = agent_server.build_app(known, executor, runs, routes=own)
            config = uvicorn.Config(app, **SERVED)
            stopping.append(uvicorn.Server(config))
            served.put(None)
            await stopping[0].serve(sockets=[listener])

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=asyncio.run, args=(serve(listener),))
        thread.start()
        served.get(timeout=PATIENCE)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            with httpx.Client(base_url=url, timeout=PATIENCE) as client:
                yield client
        finally:
            stopping[0].should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def share_server(served_daemon, tmp_path_factory):
    """Return a context manager that serves runs on a new database, and gives a client."""

    def share(**settings):
        return _serve_runs(served_daemon.url, tmp_path_factory.mktemp("state"), **settings)

    return share


@pytest.fixture
def serve_runs(daemon, tmp_path):
    """Return a context manager that serves runs on the test's database, and gives a client."""

    def serve(**settings):
        return _serve_runs(daemon.url, tmp_path, **settings)

    return serve


# Each server is a process of its own, forked from one that has imported everything already: importing takes seconds.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["dify_agent._cli", "dify_agent.server._dify.routes", "agent_server._command.serving"]
)
_SERVE = """
import os, sys
output = os.open({output!r}, os.O_WRONLY)
os.dup2(output, 1)
os.dup2(output, 2)
os.environ |= {environment!r}
sys.argv = ["dify-agent", "serve", "--port", "0"]
from {module} import main
main()
"""


class ServerProcess:
    """A `dify-agent serve` in a process of its own."""

    def __init__(self, environment, *, database, output, module):
        self.database = database
        os.mkfifo(output)
        code = _SERVE.format(output=str(output), environment=environment, module=module)
        self.process = _FORKS.Process(target=exec, args=(code,))
        self.process.start()
        self._output = output.open()
        # Before that it may say whose runs it goes on with.
        url = next(line for line in self._output if "listens on" in line).split()[-1]
        self.client = httpx.Client(base_url=url, timeout=PATIENCE, limits=UNKEPT)

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
def start_server(daemon, tmp_path):
    """Return a function that starts a server on the test's database."""
    started = []

    def start(*, database=tmp_path / "runs.sqlite", module="dify_agent._cli", **settings):
        environment = {
            "PLUGIN_DAEMON_URL": daemon.url,
            "PLUGIN_DAEMON_API_KEY": "s3cret-daemon-key",
            "STATE": str(tmp_path / "state"),
            "DATABASE": f"sqlite:///{database}",
            "LEASE_SECONDS": "1",
            "STOP_SECONDS": "0",
            "UNREADY_SECONDS": "0",
        } | {name.upper(): str(value) for name, value in settings.items()}
        variables = {f"DIFY_AGENT_{name}": text for name, text in environment.items()}
        output = tmp_path / f"output-{len(started)}"
        server = ServerProcess(variables, database=database, output=output, module=module)
        started.append(server)
        return server

    yield start
    for server in started:
        if server.process.is_alive():
            server.stop()


@pytest.fixture
def read_events():
    """Return a function that reads a run's events up to its last one, or up to one of a type."""

    def read(client, run_id, *, until=None):
        events = []
        headers = {"Accept": "text/event-stream"}
        path = f"/v1/runs/{run_id}/events"
        with client.stream("GET", path, headers=headers) as response:
            response.raise_for_status()
            for line in response.iter_lines():
                if line.startswith("data: "):
                    events.append(json.loads(line.removeprefix("data: ")))
                    if events[-1]["type"] == until:
                        break
        return events

    return read
