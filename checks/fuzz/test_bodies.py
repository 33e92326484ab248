"""The three agent servers, sent bodies of every shape and size at every route while others use them.

Each is taken, or refused with the field's name; nobody waits, and no run is lost.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bodies import grown, small, whole, worst
from servers import SECRET, Server, running
from shapes import LEAVES, TEXTS
from watching import Seen, await_rest, make_run, watched


_PATIENCE_SECONDS = 120
# Twice what a quiet machine has to keep: beside others the same work takes up to twice as long.
_MOST_SECONDS = 1
_MOST_MEGABYTES = 100
# Of a body that is larger than 8 MB, and of a shape that nobody sends, as many copies may be held at once.
_COPIES = 4
_MEGABYTE = 1024 * 1024
_USUAL = 8 * _MEGABYTE
_REST = 5_000  # of a body, beside what grows
# What only somebody who knows our code could understand, or has to.
_INNER = re.compile(
    r"pydantic|Traceback|object at 0x|codec can't|json-or-|function-|lax-or|/src/|<class"
)
_WORDS_OF_PYTHON = re.compile(r"Error\b|codec|object at 0x|surrogates")
_LOST = re.compile(r"took this server for dead|gone or silent|could not show")

METHODS = st.sampled_from(["GET", "GET", "HEAD", "DELETE", "PUT", "POST"])
QUERIES = st.dictionaries(
    st.sampled_from(
        ["after", "limit", "cursor", "status", "agent", "starting_after", "stream", "order"]
    ),
    (TEXTS | LEAVES.map(str) | st.sampled_from(["1.0", "1_0", "+1", "٣", "9" * 30])).map(
        lambda text: text.encode(errors="replace").decode()
    ),
    max_size=3,
)

_MESSAGE = {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
_CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
_RESULT = {"type": "function_call_output", "call_id": "c", "output": "4"}
_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
_ANSWER = {
    "wait_id": "{wait_id}",
    "approvals": {"c1": {"approved": True, "reason": "So it is."}},
    "results": {"c2": [{"type": "input_text", "text": "Hi"}]},
    "answer": {"a": 1},
}
_RESPONSE = {
    "model": "plain",
    "background": True,
    "stream": False,
    "store": True,
    "instructions": "Be brief.",
    "metadata": {"a": "b"},
    "input": [_MESSAGE, _CALL, _RESULT],
    "text": {"format": {"type": "text"}},
    "tools": [{"type": "function", "name": "f", "parameters": _SCHEMA, "strict": False}],
}
_COMMON = {
    "/v1/runs/{run_id}/cancel": {"reason": "Enough."},
    "/v1/runs/{run_id}/input": _ANSWER,
}
_AGENT_RUN = {
    "agent": "plain",
    "metadata": {"a": "b"},
    "input": [_MESSAGE, _CALL, _RESULT],
    "instructions": "Be brief.",
    "tools": [{"name": "f", "description": "It does.", "parameters": _SCHEMA}],
}
_SCRIPT_RUN = {
    "agent": "echo",
    "metadata": {"a": "b"},
    "input": {"prompt": "x", "n": 1},
    "files": [{"name": "a.txt", "data": "eA=="}],
    "client_request_id": "r1",
}
_PLUGIN = {"plugin": "plugin"}
_TOOL = {
    "plugin_id": "acme/tools",
    "provider": "acme",
    "tool_name": "search",
    "credential_type": "api-key",
    "credentials": {"token": SECRET},
    "parameters": [{"name": "q", "type": "string", "form": "llm", "required": True}],
    "parameters_json_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
}
_MODEL = {
    "plugin_id": "acme/llm",
    "model_provider": "acme",
    "model": "fake",
    "credentials": {"api_key": SECRET},
}
_LAYERS = [
    {"name": "prompt", "type": "plain.prompt", "config": {"user": "Hi"}},
    {"name": "plugin", "type": "dify.plugin", "config": {"tenant_id": "tenant-1"}},
    {"name": "llm", "type": "dify.plugin.llm", "deps": _PLUGIN, "config": _MODEL},
    {"name": "tools", "type": "dify.plugin.tools", "deps": _PLUGIN, "config": {"tools": [_TOOL]}},
]
_DIFY_RUN = {"composition": {"layers": _LAYERS}}
# As large as Dify takes them, and what fits into a request by default.
_PICTURE = {
    "type": "image",
    "mime_type": "image/png",
    "base64_data": "A" * (10 * 1024 * 1024 // 3 * 4),
}
_SAID = {"text": "What is on them?", "files": [_PICTURE, _PICTURE]}
_PICTURES = {"name": "pictures", "type": "dify.user_prompt", "config": _SAID}
_BINDING = {"tenant_id": "t", "agent_id": "a", "binding_id": "b", "workspace_id": "w"}
_HOME = {
    "tenant_id": "t",
    "agent_id": "a",
    "home_snapshot_id": "h",
    "backend_binding_ref": "binding:b",
}

_AGENTS = '''
import json
from agent_driver import Agent

def pay(euros: int) -> str:
    """Pay somebody."""
    return "paid"

async def talk(asked):
    yield "Done."

async def spend(asked):
    call = {"call_id": "c1", "name": "pay", "arguments": json.dumps({"euros": 5})}
    yield {"tool_calls": [call]} if len(asked.messages) < 2 else "All is paid."

plain = Agent(talk)
paying = Agent(spend, [pay], approval_rules={"pay": "always"})
'''


@dataclass(frozen=True)
class Case:
    """A server, and what it is sent.

    Attributes:
        server: It.
        bodies: A body that is right, by the route that takes it.
        begin: The route at which others begin runs, and with which body.
        waiting: The request at `/v1/runs` for a run that waits; None where none can.
        honest: The largest bodies that people send, by their routes, where more than 8 MB are taken.
    """

    server: Server
    bodies: dict[str, dict[str, Any]]
    begin: tuple[str, dict[str, Any]]
    waiting: dict[str, Any] | None
    honest: dict[str, dict[str, Any]] = field(default_factory=dict)


@contextmanager
def endpoint(folder: Path) -> Iterator[Case]:
    (folder / "agents.py").write_text(_AGENTS)
    command = ["agent-endpoint", "agents", "--port", "0", "--state", str(folder / "state")]
    bodies = {
        "/v1/runs": _AGENT_RUN,
        "/v1/responses": _RESPONSE,
        "/v1/responses/{response_id}/cancel": {},
        **_COMMON,
    }
    with running(folder, command, patience=_PATIENCE_SECONDS) as server:
        begin = ("/v1/runs", {"agent": "plain", "input": "Hi"})
        yield Case(server, bodies, begin, {"agent": "paying", "input": "Hi"})


@contextmanager
def scripts(folder: Path) -> Iterator[Case]:
    agent = folder / "echo"
    agent.mkdir()
    (agent / "main.py").write_text("import sys\nprint(sys.stdin.read())\n")
    (agent / "input_schema.json").write_text(
        json.dumps(
            {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "prompt": {"type": "string"}},
                "required": ["prompt"],
            }
        )
    )
    command = ["agent-runner", "serve", "--port", "0", "--state", str(folder / "state"), str(agent)]
    bodies = {
        "/v1/runs": _SCRIPT_RUN,
        "/v1/responses": _RESPONSE | {"model": "echo"},
        "/v1/responses/{response_id}/cancel": {},
        **_COMMON,
    }
    with running(folder, command, patience=_PATIENCE_SECONDS) as server:
        begin = ("/v1/runs", {"agent": "echo", "input": {"prompt": "Hi"}})
        yield Case(server, bodies, begin, None)


class _Daemon(BaseHTTPRequestHandler):
    """A plugin daemon whose model says the same to everybody."""

    def do_POST(self) -> None:
        """Answer any call."""
        self.rfile.read(int(self.headers.get("content-length", 0)))
        message = {"role": "assistant", "content": "Done.", "tool_calls": []}
        delta = {"index": 0, "message": message, "finish_reason": "stop"}
        data = {"model": "fake", "prompt_messages": [], "delta": delta}
        frame = json.dumps({"code": 0, "message": "success", "data": data})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {frame}\n\n".encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def dify(folder: Path) -> Iterator[Case]:
    daemon = ThreadingHTTPServer(("127.0.0.1", 0), _Daemon)
    threading.Thread(target=daemon.serve_forever, daemon=True).start()
    environment = {
        "DIFY_AGENT_PLUGIN_DAEMON_URL": f"http://127.0.0.1:{daemon.server_port}",
        "DIFY_AGENT_PLUGIN_DAEMON_API_KEY": "key",
        "DIFY_AGENT_STATE": f"{folder}/dify-agent",
    }
    command = ["dify-agent", "serve", "--port", "0"]
    files = {"path": "/", "binding_ref": "binding:b"}
    bodies = {
        "/runs": _DIFY_RUN,
        "/runs/{run_id}/cancel": {"reason": "user", "message": "Enough."},
        "/execution-bindings": _BINDING,
        "/execution-bindings/destroy": {"binding_ref": "b", "destroy_workspace": False},
        "/execution-bindings/files/list": files,
        "/home-snapshots/from-binding": _HOME,
        "/home-snapshots/delete": {"snapshot_ref": "home:h"},
        "/v1/runs": _DIFY_RUN,
        **_COMMON,
    }
    try:
        with running(folder, command, patience=_PATIENCE_SECONDS, **environment) as server:
            shown = {"composition": {"layers": [*_LAYERS, _PICTURES]}}
            honest = {"/runs": shown, "/v1/runs": shown}
            yield Case(server, bodies, ("/runs", _DIFY_RUN), None, honest)
    finally:
        daemon.shutdown()
        daemon.server_close()


@pytest.mark.parametrize(
    ("serve", "largest"),
    [
        (endpoint, _USUAL),
        (scripts, _USUAL),
        (dify, _USUAL),
        pytest.param(dify, 28 * _MEGABYTE, marks=pytest.mark.long),
    ],
)
def test_whatever_a_server_is_sent_others_are_served(
    tmp_path: Path, serve: Callable[[Path], AbstractContextManager[Case]], largest: int
) -> None:
    with serve(tmp_path) as case:
        seen = _try_bodies(case, largest)

        print(f"{serve.__name__}: {seen}")  # noqa: T201 - the figures
        assert not seen.faults
        assert seen.runs
        assert not _LOST.search(case.server.log)
        assert seen.seconds < (_MOST_SECONDS, "")
        assert seen.megabytes < (max(_MOST_MEGABYTES, _COPIES * largest / _MEGABYTE), "")


def _try_bodies(case: Case, largest: int) -> Seen:
    server = case.server
    assert _find_routes(server) <= case.bodies.keys()
    with server.client() as client:
        run = make_run(client, *case.begin)
    places = {"run_id": run["run_id"], "wait_id": "w"}
    if "/v1/responses" in case.bodies:
        said = {"model": case.bodies["/v1/responses"]["model"], "input": "Hi"}
        places["response_id"] = server.ask("POST", "/v1/responses", json=said).json()["id"]
    with watched(server, *case.begin, run["status"]) as seen:
        _send_all(case, seen, places, largest)
    return seen


def _send_all(case: Case, seen: Seen, places: dict[str, str], largest: int) -> None:
    routes = st.sampled_from(sorted(case.bodies))
    sizes = (largest // 50, largest // 4, largest - _REST)
    tries = settings().max_examples

    @settings(max_examples=tries * 3)
    @given(routes.flatmap(lambda one: st.tuples(st.just(one), small(case.bodies[one]))))
    def try_small(asked: tuple[str, tuple[str, bytes]]) -> None:
        _send(case, seen, places, *asked)

    @settings(max_examples=tries)
    @given(st.sampled_from(_find_paths(case)), METHODS, QUERIES, TEXTS)
    def try_asking(path: str, method: str, query: dict[str, str], last: str) -> None:
        seen.sent = f"{query} to {path}"
        headers = {"last-event-id": last.encode(errors="replace")}
        case.server.ask(method, _fill(path, places), params=query, headers=headers)

    @settings(max_examples=tries // 3)
    @given(routes.flatmap(lambda one: st.tuples(st.just(one), grown(case.bodies[one], sizes))))
    def try_large(asked: tuple[str, tuple[str, bytes]]) -> None:
        _send(case, seen, places, *asked)

    for route, body in case.honest.items() if largest > _USUAL else ():
        answer = _send(case, seen, places, route, ("the largest honest body", whole(body)))
        assert answer.status_code == HTTPStatus.ACCEPTED
    for route, body in case.bodies.items():
        _send(case, seen, places, route, worst(body, sizes[-1]))
    try_small()
    try_asking()
    try_large()


def _send(
    case: Case, seen: Seen, places: dict[str, str], route: str, told: tuple[str, bytes]
) -> httpx.Response:
    """Send a body, hold what holds for any, and return the answer; a run that it begins comes to its end."""
    what, body = told
    if case.waiting and "{run_id}" in route:
        _make_waiting(case, places)
    body = body.replace(b"{wait_id}", places["wait_id"].encode())
    kind = {"content-type": "application/json"}
    with seen.sending(f"{what} to {route}"):
        answer = case.server.ask("POST", _fill(route, places), content=body, headers=kind)
        if answer.status_code == HTTPStatus.ACCEPTED:
            _end(case.server, answer.json()["run_id"])
    assert answer.status_code < 500 or "backend_unavailable" in answer.text, answer.text
    assert answer.status_code < 400 or not _INNER.search(answer.text), answer.text
    return answer


def _fill(route: str, places: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: places.get(found[1], "x"), route)


def _find_paths(case: Case) -> list[str]:
    """Return all paths, and some that lead nowhere."""
    paths = case.server.ask("GET", "/openapi.json").json()["paths"]
    odd = {"/runs/x/events", "/runs/x/events/sse", "/v1/runs/%00", "/v1/runs/../x", "/v1/runs/é"}
    return sorted({*paths, *case.bodies} | odd)


def _find_routes(server: Server) -> set[str]:
    """Return the routes that take a body, as the server describes itself."""
    paths = server.ask("GET", "/openapi.json").json()["paths"]
    return {path for path, known in paths.items() if "requestBody" in known.get("post", {})}


def _make_waiting(case: Case, places: dict[str, str]) -> None:
    """Have a run that waits, unless the one before still does."""
    with case.server.client() as client:
        run = client.get(f"/v1/runs/{places['run_id']}").json()
        if not run.get("waiting_for"):
            assert case.waiting
            run = make_run(client, "/v1/runs", case.waiting)
        places |= {"run_id": run["run_id"], "wait_id": run["waiting_for"]["wait_id"]}


def _end(server: Server, run_id: str) -> None:
    """Hold that a run that was taken comes to its end, and that why it failed is told in words."""
    with server.client() as client:
        told = str((await_rest(client, run_id)["error"] or {}).get("message"))
        assert not _WORDS_OF_PYTHON.search(told), told
