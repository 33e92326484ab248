"""The servers for a desk as processes, asked in any way: a refusal that names the field, never a failure of their own, and no secret told."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_runner import classify_line
from bodies import BROKEN, whole
from servers import SECRET, Server, running
from shapes import ROOT, TEXTS, VALUES, mutated
from test_texts import JSON_TEXTS


pytestmark = pytest.mark.long

MODEL_PLUGIN = ROOT / "plugins/openai_gpt5_responses"
TOOL_PLUGIN = ROOT / "workbench/dify-plugin-host/tests/plugins/demo_tools"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="module")
def daemon(folder: Path) -> Iterator[Server]:
    command = ["dify-host", "serve", "--json", "--port", "0", str(MODEL_PLUGIN), str(TOOL_PLUGIN)]
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
