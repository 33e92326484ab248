import asyncio
import importlib.metadata
import itertools
import json
import logging
import os
import re
import signal
import socket
import sys
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import httpx
import psutil
import pytest
import typer
from agents import PATIENCE, Scripted
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from serving import ToySettings, app
from typer.testing import CliRunner

from agent_server.command import version_option
from agent_server.logs import about


def _run(*arguments, **environment):
    variables = {"TOY_WEIGHT": "1"} | environment
    return CliRunner().invoke(app, arguments, env=variables)


def test_each_setting_is_a_flag_that_says_what_it_is_for():
    text = " ".join(_run("--help").output.split())

    for name in ToySettings.model_fields:
        assert f"--{name.replace('_', '-')} " in text.replace(",", " ").replace("/--no", " --no")
        assert f"(TOY_{name.upper()})" in text
    assert "Of which colour it is. (TOY_COLOUR) [red]" in text
    assert "Port to listen on, 0 for any. (TOY_PORT) [0]" in text
    assert "--no-is-loud" in text
    assert "--times" in text


def test_a_command_may_tell_its_version():
    command = typer.Typer()
    option = version_option("toy", "gpt5-agent-server")

    @command.command()
    def run(*, _version: Annotated[bool, option] = False):
        typer.echo("run")

    told = f"toy {importlib.metadata.version('gpt5-agent-server')}\n"
    assert CliRunner().invoke(command, ["--version"]).output == told
    assert CliRunner().invoke(command, []).output == "run\n"


@pytest.mark.parametrize(
    ("arguments", "environment", "told"),
    [
        (["--port", "x"], {}, "--port: expected a whole number"),
        (["--colour", "green"], {}, "--colour: expected 'red' or 'blue'"),
        (["--retries", "-1"], {}, "--retries: expected at least 0"),
        (["--concurrency", "1001"], {}, "--concurrency: expected at most 1000"),
        (["--keep-alive-seconds", "0"], {}, "--keep-alive-seconds: expected more than 0"),
        ([], {"TOY_WEIGHT": "much"}, "TOY_WEIGHT: expected a number"),
        ([], {"TOY_WEIGHT": None}, "TOY_WEIGHT: expected it to be set"),
        ([], {"TOY_IS_LOUD": "perhaps"}, "TOY_IS_LOUD: expected true or false"),
        ([], {"TOY_STORAGE_KEYS": "secret"}, "TOY_STORAGE_KEYS: expected Fernet keys"),
        (["--host", "0.0.0.0"], {}, "TOY_API_KEYS: expected at least one key"),
        ([], {"TOY_TINT": "red"}, "TOY_TINT: is now called TOY_COLOUR"),
        (["--host", "203.0.113.1"], {"TOY_API_KEYS": "k"}, "expected an address of this machine"),
    ],
)
def test_a_wrong_setting_ends_the_start_with_one_sentence(arguments, environment, told):
    result = _run(*arguments, **environment)

    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "secret" not in result.stderr


def test_a_port_that_is_taken_and_a_database_that_cannot_be_used_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        busy = _run("--port", port, "--state", str(tmp_path))
    (tmp_path / "runs.sqlite").write_bytes(b"no database" * 1000)
    broken = _run("--state", str(tmp_path))
    objects = _run("--state", str(tmp_path), "--log-format", "json")
    away = {"TOY_DATABASE": "postgresql://me:pass-of-the-database@127.0.0.1:1/runs"}
    _run("--log-format", "text", "--server-name", "here", **away)
    [handler] = logging.getLogger().handlers
    said = {"levelname": "ERROR", "msg": "not pass-of-the-database", "created": 0.5}
    with about(run="r1", tenant="ada"):
        shown = handler.format(logging.makeLogRecord(said))
    logging.getLogger("agent_server").setLevel(logging.NOTSET)

    (tmp_path / "file").touch()
    unlogged = _run("--state", str(tmp_path / "new"), "--run-logs", str(tmp_path / "file/logs"))

    assert (busy.exit_code, broken.exit_code, unlogged.exit_code) == (2, 2, 2)
    assert (
        unlogged.stderr == "run_logs: expected a folder that can be written to: Not a directory\n"
    )
    assert not (tmp_path / "new").exists()
    assert busy.stderr == f"127.0.0.1:{port}: expected a port that no other program listens on\n"
    assert len(broken.stderr.splitlines()) == 1
    assert shown == (
        "1970-01-01T00:00:00.500Z ERROR not [redacted] [server=here run=r1 tenant=ada]"
    )
    line = json.loads(objects.stderr)
    assert (objects.exit_code, line["level"]) == (2, "CRITICAL")
    assert line["message"] == broken.stderr.strip()


def _find_delays(port):
    """Yield of each connection to a port of this process whether its server's side keeps small answers back."""
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError), socket.socket(fileno=os.dup(int(path.name))) as one:
            if one.family == socket.AF_INET and one.getpeername() and one.getsockname()[1] == port:
                yield not one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def _keep_after_large_work():
    """Return how many bytes more the process has after large texts were freed."""
    process = psutil.Process()
    before = process.memory_info().rss
    for size, count in ((16_000_000, 1), (1_000_000, 20)):
        texts = [b"0" * size for _ in range(count)]
        del texts
    return process.memory_info().rss - before


@contextmanager
def _collector():
    """Yield the address of a collector of spans, and the spans by their names."""
    spans = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    spans.update((one.name, one) for one in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", spans
        finally:
            server.shutdown()


def _check_log(text, *, run_id):
    """Check the lines of a server that has refused a request, and had a run fail by an error with secrets."""
    refused, raised, failed = map(json.loads, text.splitlines())
    assert {one["level"] for one in (refused, raised, failed)} == {"WARNING", "ERROR"}
    assert all(datetime.fromisoformat(one["time"]) for one in (refused, raised, failed))
    assert {one["server"] for one in (refused, raised, failed)} == {"here"}
    assert (
        "requests were refused with 401 Unauthorized, 1 since the last line" in refused["message"]
    )
    assert "GET /v1/runs" in refused["message"]
    fields = {name: failed[name] for name in ("run", "tenant", "agent", "attempt")}
    assert fields == {"run": run_id, "tenant": "team", "agent": "leaky", "attempt": 1}
    assert "internal_error" in failed["message"]
    assert "ValueError: [redacted] and [redacted]" in raised["exception"]
    assert not re.search("key-of|sk-of", text)


def test_without_the_extra_traces_are_refused_by_its_name(monkeypatch):
    monkeypatch.delitem(sys.modules, "agent_server._command.traces", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    result = _run("--traces")

    assert result.exit_code == 2
    assert result.stderr == (
        "--traces: expected OpenTelemetry (opentelemetry), which the extra `traces` brings: gpt5-agent-server[traces]\n"
    )


@pytest.fixture
def port():
    """A port that no other program is given meanwhile, and on which this one may listen."""
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(("127.0.0.1", 0))
        yield keeper.getsockname()[1]


@pytest.fixture
def ready(monkeypatch):
    """The codes of a server's readiness; it stays unready until that was heard, and then each look at its clock takes half a minute."""
    codes, seconds = [], itertools.count(60, 30)
    clock = SimpleNamespace(monotonic=lambda: next(seconds) if 503 in codes else 0)
    monkeypatch.setattr("agent_server._http.server.time", clock)
    # Nor does it give up what it has still to send.
    monkeypatch.setattr("agent_server._command.traces._LAST_SECONDS", 600)
    return codes


def test_a_server_says_where_it_listens_and_stops_in_good_order(port, ready, tmp_path, monkeypatch):
    told, delays = [], []
    key = {"X-Api-Key": "key-of-the-operator"}
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    def visit():
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, verify=False, headers=key, timeout=PATIENCE) as client:
            try:
                while not told:
                    with suppress(httpx.ConnectError):
                        told.extend([client.get("/ready").json(), client.get("/toy").text])
                while not delays:  # A connection is closed that was idle for too long.
                    client.get("/ready")
                    delays.extend(_find_delays(port))
                refused = {"X-Api-Key": "key-of-nobody", "traceparent": caller}
                client.get("/v1/runs", headers=refused)
                run = client.post("/v1/runs", json={"agent": "leaky"}).json()["run_id"]
                told.append(run)
                while client.get(f"/v1/runs/{run}").json()["finished_at"] is None:
                    pass
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
            with suppress(httpx.TransportError):  # Whatever a server that stops does to a request.
                while True:
                    ready.append(client.get("/ready").status_code)

    visitor = threading.Thread(target=visit)
    visitor.start()
    flags = ["--colour", "blue", "--is-loud", "--times", "3", "--run-logs", str(tmp_path / "a/b")]
    flags += ["--unready-seconds", "60", "--log-format", "json", "--server-name", "here"]
    keys = {"TOY_API_KEYS": f"team:{key['X-Api-Key']}", "MODEL_API_KEY": "sk-of-the-model"}
    # Otherwise it would take the place of the log of all tests.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with _collector() as (address, spans):
        flags += ["--traces"]
        keys |= {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_TIMEOUT": "600"}
        result = _run("--port", str(port), "--state", str(tmp_path), *flags, **keys)
        # Its thread would try on, after other tests have begun, to reach a collector that is gone.
        trace.get_tracer_provider().shutdown()
    logging.getLogger("agent_server").setLevel(logging.NOTSET)
    visitor.join()

    assert told[:2] == [{"status": "ready"}, "blue True 3"]
    assert ready[-1] == 503
    # Otherwise the end of each answer waits until the client has acknowledged its beginning.
    assert delays == [False]
    assert result.exit_code == 0
    assert result.stdout == f"scripted listens on http://127.0.0.1:{port}\n"
    _check_log(result.stderr, run_id=told[2])
    assert {"GET /toy", "GET /v1/runs", "POST /v1/runs", "GET /v1/runs/{run_id}"} == spans.keys()
    assert spans["GET /v1/runs"].trace_id.hex() == caller.split("-")[1]
    assert spans["GET /v1/runs"].parent_span_id.hex() == caller.split("-")[2]
    assert "key-of" not in str(spans)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    # What clients have not read for a while does not stay for as long as the process.
    assert _keep_after_large_work() < 10_000_000


def test_a_server_that_is_stopped_before_it_listens_stops_in_good_order(tmp_path, monkeypatch):
    @asynccontextmanager
    async def opened(_self):
        os.kill(os.getpid(), signal.SIGTERM)
        yield await asyncio.sleep(20)

    monkeypatch.setattr(Scripted, "opened", opened)
    result = _run("--host", "::1", "--state", str(tmp_path))

    assert (result.exit_code, result.output) == (0, "")
