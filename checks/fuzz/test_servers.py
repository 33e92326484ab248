"""The three servers as processes, asked in any way: a refusal that names the field, never a failure of their own, and no secret told."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_runner import classify_line
from shapes import LEAVES, ROOT, TEXTS, VALUES, mutated
from test_texts import JSON_TEXTS


pytestmark = pytest.mark.long

SECRET = "Sesame0penHidden"
MODEL_PLUGIN = ROOT / "plugins/openai_gpt5_responses"
TOOL_PLUGIN = ROOT / "packages/dify-plugin-host/tests/plugins/demo_tools"


class Server:
    """A server's process, what it logs, and a client of it."""

    def __init__(self, client: httpx.Client, log: Path) -> None:
        self._client = client
        self._log = log

    def ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Ask, and hold what holds for any answer."""
        try:
            response = self._client.request(method, path, **request)
        except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError):
            return httpx.Response(400, json={})  # no client could ask so
        log = self._log.read_text(encoding="utf-8", errors="replace")
        assert "Traceback" not in log, log[-3_000:]
        # The plugin SDK sends the trace of an error along, and the daemon hands it on; ours is nobody's business.
        assert "/dify_plugin_host/" not in response.text, response.text
        assert SECRET not in log, log[-3_000:]
        assert response.status_code != 500 or response.json().get("code"), response.text
        if response.status_code >= 400:
            assert SECRET not in response.text
            assert response.headers["content-type"].endswith(("json", "utf-8")), response.text
        return response


@contextmanager
def running(folder: Path, command: list[str], **environment: str) -> Iterator[Server]:
    """Run a server until the tests are over."""
    log = folder / f"{command[0]}.log"
    binary = Path(sys.executable).with_name(command[0])
    with (
        log.open("w") as told,
        subprocess.Popen(
            [binary, *command[1:]],
            env={**os.environ, "HOME": str(folder), **environment},
            stdout=told,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            base_url = wait_for(log, r"http://127[.\d:]+")
            headers = (
                {"x-api-key": wait_for(log, r'"api_key": "(.*?)"')} if "--json" in command else {}
            )
            with httpx.Client(
                base_url=base_url, headers=headers, timeout=10, trust_env=False
            ) as client:
                yield Server(client, log)
        finally:
            process.terminate()


def wait_for(log: Path, pattern: str) -> str:
    """Return what a server tells of itself once it serves."""
    while not (found := re.search(pattern, log.read_text())):
        time.sleep(0.05)
    return found[found.re.groups]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="module")
def daemon(folder: Path) -> Iterator[Server]:
    command = ["dify-host", "serve", "--json", "--port", "0", str(MODEL_PLUGIN), str(TOOL_PLUGIN)]
    with running(folder, command) as server:
        yield server


@pytest.fixture(scope="module")
def agent_server(folder: Path) -> Iterator[Server]:
    environment = {
        "DIFY_AGENT_PLUGIN_DAEMON_URL": "http://127.0.0.1:9",
        "DIFY_AGENT_PLUGIN_DAEMON_API_KEY": "key",
        "DIFY_AGENT_STATE": f"{folder}/dify-agent",
    }
    with running(folder, ["dify-agent", "serve", "--port", "0"], **environment) as server:
        yield server


@pytest.fixture(scope="module")
def runner_server(folder: Path) -> Iterator[Server]:
    agent = folder / "echo"
    agent.mkdir()
    (agent / "main.py").write_text("import sys\nprint(sys.stdin.read())\n")
    (agent / "input_schema.json").write_text(
        json.dumps(
            {
                "type": "object",
                "properties": {"n": {"type": "integer"}, "q": {"type": "string"}},
                "required": ["q"],
            }
        )
    )
    command = ["agent-runner", "serve", "--port", "0", "--state", str(folder / "state"), str(agent)]
    with running(folder, command) as server:
        yield server


@pytest.fixture(scope="module")
def simulator(folder: Path) -> Iterator[Server]:
    with running(folder, ["gpt5-simulator"]) as server:
        yield server


DISPATCHES = st.sampled_from(
    [
        "llm/invoke",
        "llm/num_tokens",
        "model/schema",
        "model/validate_model_credentials",
        "tool/invoke",
        "tool/validate_credentials",
        "tool/get_runtime_parameters",
        "agent_strategy/invoke",
        "model/polling/start",
        "rerank/invoke",
        "nothing",
    ]
)
DISPATCH = {
    "user_id": "user",
    "context": {"credentials": {"tool_credentials": {"token": SECRET}}},
    "data": {
        "provider": "demo",
        "tool": "add",
        "tool_parameters": {"a": 1, "b": 2},
        "credentials": {"openai_api_key": SECRET, "openai_api_base": "http://127.0.0.1:9/v1"},
        "credential_type": "api-key",
        "model": "gpt-5.2",
        "model_type": "llm",
        "prompt_messages": [{"role": "user", "content": "Hi"}],
        "model_parameters": {"max_output_tokens": 16},
        "tools": [],
        "stop": None,
        "stream": True,
    },
}
PLUGINS = (
    st.sampled_from(
        ["gpt5-agent/openai_gpt5_responses", "demo/demo_tools", "someone/demo_tools", ""]
    )
    | TEXTS
)


def whole(value: Any) -> bytes:
    return json.dumps(value).encode()


BROKEN = st.one_of(
    st.binary(max_size=30), JSON_TEXTS.map(lambda text: text.encode(errors="surrogatepass"))
)


@given(DISPATCHES, PLUGINS, mutated(DISPATCH).map(whole) | BROKEN)
def test_the_daemon_answers_any_dispatch(
    daemon: Server, path: str, plugin: str, body: bytes
) -> None:
    headers = {"content-type": "application/json", "x-plugin-id": plugin.encode(errors="replace")}

    daemon.ask("POST", f"/plugin/tenant/dispatch/{path}", content=body, headers=headers)


@given(
    st.sampled_from(["tools", "tool", "nothing"]),
    st.dictionaries(st.sampled_from(["page", "page_size", "provider", "plugin_id"]), TEXTS),
)
def test_the_daemon_lists_what_is_asked_for(
    daemon: Server, what: str, query: dict[str, str]
) -> None:
    query = {key: value.encode(errors="replace").decode() for key, value in query.items()}

    daemon.ask("GET", f"/plugin/t/management/{what}", params=query)


PLUGIN = {"plugin": "plugin"}
RUN = {
    "composition": {
        "layers": [
            {"name": "prompt", "type": "plain.prompt", "config": {"user": "Hi"}},
            {"name": "plugin", "type": "dify.plugin", "config": {"tenant_id": "tenant-1"}},
            {
                "name": "llm",
                "type": "dify.plugin.llm",
                "deps": PLUGIN,
                "config": {
                    "plugin_id": "acme/llm",
                    "model_provider": "acme",
                    "model": "fake",
                    "credentials": {"api_key": SECRET},
                },
            },
            {
                "name": "tools",
                "type": "dify.plugin.tools",
                "deps": PLUGIN,
                "config": {
                    "tools": [
                        {
                            "plugin_id": "acme/tools",
                            "provider": "acme",
                            "tool_name": "search",
                            "credential_type": "api-key",
                            "credentials": {"token": SECRET},
                            "parameters": [
                                {"name": "q", "type": "string", "form": "llm", "required": True}
                            ],
                            "parameters_json_schema": {
                                "type": "object",
                                "properties": {"q": {"type": "string"}},
                            },
                        }
                    ]
                },
            },
        ]
    }
}


@given(mutated(RUN).map(whole) | BROKEN)
def test_an_agent_server_takes_or_refuses_any_run(agent_server: Server, body: bytes) -> None:
    response = agent_server.ask("POST", "/runs", content=body)

    if response.status_code == 202:
        run_id = response.json()["run_id"]
        # The run may have failed already: nobody is where its daemon should be.
        assert agent_server.ask("POST", f"/runs/{run_id}/cancel").status_code in (200, 409)


PATHS = st.sampled_from(
    [
        "/runs/x",
        "/runs/x/events",
        "/runs/%00",
        "/runs/../x",
        "/runs/é",
        "/agents",
        "/agents/echo/runs",
        "/runs/x/cancel",
    ]
)


@given(
    PATHS,
    st.sampled_from(["GET", "POST", "DELETE", "PUT"]),
    st.dictionaries(st.sampled_from(["after", "limit", "offset"]), TEXTS | LEAVES.map(str)),
    TEXTS,
)
def test_any_other_question_is_answered(
    agent_server: Server,
    runner_server: Server,
    path: str,
    method: str,
    query: dict[str, str],
    last: str,
) -> None:
    query = {key: value.encode(errors="replace").decode() for key, value in query.items()}
    headers = {"last-event-id": last.encode(errors="replace")}

    for server in (agent_server, runner_server):
        server.ask(method, path, params=query, headers=headers)


@given(mutated({"input": {"q": "x", "n": 1}, "client_request_id": "r1"}).map(whole) | BROKEN)
def test_a_runner_takes_or_refuses_any_input(runner_server: Server, body: bytes) -> None:
    headers = {"content-type": "application/json"}

    response = runner_server.ask("POST", "/agents/echo/runs", content=body, headers=headers)

    assert response.status_code in (200, 202, 400, 409, 422, 503), response.text


CALL = {"call_id": "c", "name": "f", "arguments": "{}"}
REQUEST = {
    "model": "gpt-5.2",
    "store": False,
    "stream": True,
    "include": ["reasoning.encrypted_content"],
    "max_output_tokens": 100,
    "reasoning": {"effort": "low", "summary": "auto"},
    "text": {"format": {"type": "text"}, "verbosity": "low"},
    "tool_choice": "auto",
    "tools": [
        {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
    ],
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "function_call", **CALL},
        {"type": "function_call_output", "call_id": "c", "output": "4"},
    ],
}


@given(mutated(REQUEST).map(whole) | BROKEN)
def test_the_simulator_answers_or_refuses_any_request(simulator: Server, body: bytes) -> None:
    headers = {"content-type": "application/json", "authorization": "Bearer sk-x"}

    response = simulator.ask("POST", "/v1/responses", content=body, headers=headers)

    assert response.status_code in (200, 400, 404)


@given(
    st.binary(max_size=40)
    | JSON_TEXTS
    | st.dictionaries(
        st.sampled_from(["type", "_llm_usage", "data"]), VALUES | st.just("image_output")
    ).map(json.dumps)
)
def test_any_line_of_a_script_is_an_output(line: bytes | str) -> None:
    output = classify_line(line)

    json.dumps(output.to_dict() if hasattr(output, "to_dict") else repr(output))
