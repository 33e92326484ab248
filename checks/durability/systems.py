"""Both servers as processes, each with something to do of which a ledger outside of the database is kept."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route


NOTE = "a-secret-note"
FINISHED = {"succeeded", "failed", "cancelled"}
# Seconds after which something never happens: on a busy machine it takes half a minute until a server is there.
PATIENCE = 600

_SCRIPT = """
import json, sys, time
from pathlib import Path

asked = json.load(sys.stdin)
with Path("ledger").open("a") as ledger:
    ledger.write(f"{asked['number']}\\n")
for line in range(asked["rounds"]):
    print("line", line, flush=True)
    time.sleep(asked["seconds"])
print("done", asked["number"])
"""


class Server:
    """A server's process, and a client of it."""

    def __init__(self, command, environment):
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines = []
        self._client = None
        self._is_up = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._is_up.wait(PATIENCE)

    @property
    def client(self):
        assert self._client is not None, self.lines
        return self._client

    @property
    def pid(self):
        return self._process.pid

    @property
    def output(self):
        return "".join(self.lines)

    def _read(self):
        for line in self._process.stdout:
            self.lines.append(line)
            if found := re.search(r"listens on (http\S+)", line):
                self._client = httpx.Client(base_url=found[1], timeout=20, trust_env=False)
                self._is_up.set()
        self._is_up.set()

    def kill(self):
        return self.end(signal.SIGKILL)

    def end(self, number=signal.SIGTERM, seconds=PATIENCE):
        """Send a signal, and return the exit code."""
        self._process.send_signal(number)
        return self.wait(seconds)

    def wait(self, seconds=PATIENCE):
        code = self._process.wait(seconds)
        self._reader.join(PATIENCE)
        if self._client is not None:
            self._client.close()
        return code

    def close(self):
        if self._process.poll() is None:
            self.kill()
        self._process.stdout.close()


class System:
    """A system whose runs go through rounds, each of some seconds.

    Attributes:
        name: Its command.
    """

    name = ""
    prefix = ""

    def __init__(self, folder, stack):
        self._folder = folder
        self._stack = stack

    def start(self, database, **settings):
        """Start a server on a database."""
        variables = self.variables() | {
            "DATABASE": database,
            "PORT": "0",
            "LEASE_SECONDS": "2",
            "STOP_SECONDS": "0.2",
            "UNREADY_SECONDS": "0",
            "STATE": str(self._folder / "state"),
        }
        variables |= {name.upper(): str(value) for name, value in settings.items()}
        environment = {f"{self.prefix}{name}": text for name, text in variables.items()}
        command = Path(sys.executable).with_name(self.name)
        server = Server([command, "serve", *self.arguments()], environment)
        self._stack.callback(server.close)
        return server

    def variables(self):
        return {}

    def arguments(self):
        return []

    def request(self, number, *, rounds=5, seconds=0.2):
        """Return the body that asks for a run."""
        raise NotImplementedError

    def own_requests(self, _run_id):
        """Return requests on paths that only this system has: method, path and further arguments of the client's."""
        return []

    def done(self):
        """Return how often each step was done, by the number of its run."""
        raise NotImplementedError


class AgentRunner(System):
    """Scripts, each of which is one step."""

    name = "agent-runner"
    prefix = "AGENT_RUNNER_"

    def __init__(self, folder, stack):
        super().__init__(folder, stack)
        self.agents = folder / "agents"
        self.add_agent("counts")

    def add_agent(self, name):
        agent = self.agents / name
        agent.mkdir(parents=True)
        (agent / "main.py").write_text(_SCRIPT)

    def variables(self):
        # Saves uv the search for a Python before each script.
        os.environ.setdefault("UV_PYTHON", sys.executable)
        return {}

    def arguments(self):
        return ["--folder", self.agents]

    def request(self, number, *, rounds=5, seconds=0.2, agent="counts"):
        asked = {"number": number, "rounds": rounds, "seconds": seconds, "note": NOTE}
        return {"agent": agent, "input": asked}

    def done(self):
        ledger = self.agents / "counts" / "ledger"
        lines = ledger.read_text().split() if ledger.exists() else []
        return Counter((int(line), "script") for line in lines)


class DifyAgent(System):
    """Models and tools of a daemon that is played here."""

    name = "dify-agent"
    prefix = "DIFY_AGENT_"

    def __init__(self, folder, stack):
        super().__init__(folder, stack)
        self._tools = []
        self._url = stack.enter_context(_serve(self._build_daemon()))

    def variables(self):
        return {"PLUGIN_DAEMON_URL": self._url, "PLUGIN_DAEMON_API_KEY": "daemon-key"}

    def request(self, number, *, rounds=5, seconds=0.2):
        prompt = json.dumps({"number": number, "rounds": rounds, "seconds": seconds, "note": NOTE})
        schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
        tool = {
            "plugin_id": "acme/tools",
            "provider": "acme",
            "tool_name": "search",
            "credential_type": "api-key",
            "credentials": {"token": "tool-token"},
            "parameters": [{"name": "q", "type": "string", "form": "llm", "required": True}],
            "parameters_json_schema": schema,
        }
        model = {
            "plugin_id": "acme/llm",
            "model_provider": "acme",
            "model": "fake",
            "credentials": {"api_key": "model-key"},
        }
        of_plugin = {"deps": {"plugin": "plugin"}}
        layers = [
            {"name": "prompt", "type": "plain.prompt", "config": {"user": prompt}},
            {"name": "plugin", "type": "dify.plugin", "config": {"tenant_id": "tenant-1"}},
            {"name": "llm", "type": "dify.plugin.llm", "config": model, **of_plugin},
            {
                "name": "tools",
                "type": "dify.plugin.tools",
                "config": {"tools": [tool]},
                **of_plugin,
            },
        ]
        return {"composition": {"layers": layers}}

    def own_requests(self, run_id):
        return [
            ("GET", f"/runs/{run_id}", {}),
            ("GET", f"/runs/{run_id}/events", {}),
            ("GET", f"/runs/{run_id}/events/sse", {}),
            ("POST", "/runs", {"json": self.request(7)}),
            ("POST", f"/runs/{run_id}/cancel", {"json": {}}),
        ]

    def done(self):
        return Counter(self._tools)

    def _build_daemon(self):
        path = "/plugin/{tenant}/dispatch"
        return Starlette(
            routes=[
                Route(f"{path}/llm/invoke", self._answer, methods=["POST"]),
                Route(f"{path}/tool/invoke", self._search, methods=["POST"]),
            ]
        )

    async def _answer(self, request):
        messages = (await request.json())["data"]["prompt_messages"]
        asked = json.loads(next(one["content"] for one in messages if one["role"] == "user"))
        rounds = sum(one["role"] == "tool" for one in messages)

        async def frames():
            for word in ("some ", "words "):
                yield _chunk(word)
                await asyncio.sleep(asked["seconds"] / 2)
            if rounds < asked["rounds"]:
                call = {"q": f"{asked['number']}:{rounds}"}
                function = {"name": "search", "arguments": json.dumps(call)}
                calls = [{"id": f"c{rounds}", "type": "function", "function": function}]
                yield _chunk("", calls=calls, finish_reason="tool_calls")
            else:
                yield _chunk(f"done {asked['number']}", finish_reason="stop")

        return StreamingResponse(frames(), media_type="text/event-stream")

    async def _search(self, request):
        asked = (await request.json())["data"]["tool_parameters"]["q"]
        number, step = asked.split(":")
        self._tools.append((int(number), step))
        return StreamingResponse(
            iter([_frame({"type": "text", "message": {"text": f"found {step}"}})]),
            media_type="text/event-stream",
        )


def _chunk(text, *, calls=(), finish_reason=None):
    message = {"role": "assistant", "content": text, "tool_calls": list(calls)}
    delta = {"index": 0, "message": message, "finish_reason": finish_reason}
    return _frame({"model": "fake", "prompt_messages": [], "delta": delta})


def _frame(data):
    return f"data: {json.dumps({'code': 0, 'message': 'success', 'data': data})}\n\n"


@contextmanager
def _serve(app):
    """Serve an application from a thread, and yield its URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Watcher(threading.Thread):
    """A client that follows one run, and comes back to whichever server there is after the last event that it has."""

    def __init__(self, servers, run_id):
        super().__init__(daemon=True)
        self._servers = servers
        self._run_id = run_id
        self.connections = 0
        self.numbers = []
        self.times = []
        self.types = []
        self.start()

    def run(self):
        while True:
            for server in list(self._servers):
                with suppress(httpx.HTTPError, RuntimeError):
                    if self._read(server.client):
                        return
            time.sleep(0.1)

    def _read(self, client):
        last = str(self.numbers[-1]) if self.numbers else "0"
        headers = {"Accept": "text/event-stream", "Last-Event-ID": last}
        path = f"/v1/runs/{self._run_id}/events"
        with client.stream("GET", path, headers=headers, timeout=60) as response:
            if response.status_code == httpx.codes.NO_CONTENT:
                return True
            self.connections += response.is_success
            for line in response.iter_lines():
                if line.startswith("id:"):
                    self.numbers.append(int(line[3:]))
                    self.times.append(time.monotonic())
                if line.startswith("event:"):
                    self.types.append(line[6:].strip())
                    if self.types[-1] in {f"run_{state}" for state in FINISHED}:
                        return True
        return False


def create(server, body, key=None):
    headers = {} if key is None else {"Idempotency-Key": key}
    response = server.client.post("/v1/runs", json=body, headers=headers)
    assert response.is_success, (response.status_code, response.text)
    return response.json()["run_id"]


def ask(servers, method, path, **fields):
    """Return what any server that is there answers."""
    deadline = time.monotonic() + PATIENCE
    while True:
        for server in list(servers):
            with suppress(httpx.HTTPError, RuntimeError):
                response = server.client.request(method, path, **fields)
                if response.is_success:
                    return response.json()
                assert response.status_code in {429, 503}, response.text
        assert time.monotonic() < deadline, path
        time.sleep(0.1)


def finish(servers, run_id, seconds=PATIENCE):
    """Return a run once it has ended."""
    return until(servers, run_id, lambda run: run["status"] in FINISHED, seconds)


def until(servers, run_id, is_so, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not is_so(run := ask(servers, "GET", f"/v1/runs/{run_id}")):
        assert time.monotonic() < deadline, run
        time.sleep(0.05)
    return run
