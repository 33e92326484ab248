"""The polling variant begins an answer, is asked for it, and never raises."""

import json
import socket
import time
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

import pytest

from gpt5_payloads import profile_for
from gpt5_simulator import (
    FunctionCall,
    HttpError,
    RawServer,
    Reasoning,
    ResponsesSimulator,
    ScriptedModel,
    Text,
)
from model_plugin import PLUGIN, ModelPlugin, Server, credentials_for
from stream_text import valid_tool_names


VARIANTS = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
CHANGES = VARIANTS["dify-host"]["variants"]["polling"]
SCHEMA = {
    "type": "object",
    "properties": {"pages": {"type": "integer"}},
    "required": ["pages"],
    "additionalProperties": False,
}
QUESTION = [{"role": "user", "content": "How many pages?"}]


class Clock:
    """The server's clock."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Node:
    """Dify's LLM node, as far as it calls the plugin."""

    def __init__(self, plugin: ModelPlugin, server: Server, key: str = "key") -> None:
        self._plugin = plugin
        self._named = {"model": "gpt-5.2", "credentials": credentials_for(server, key)}

    def start(self, **request: Any) -> dict[str, Any]:
        asked = {"prompt_messages": QUESTION, "model_parameters": {}, "tools": None, "stop": None}
        return self._result("start_polling", **asked | {"stream": False} | request)

    def check(self, state: Mapping[str, Any], **request: Any) -> dict[str, Any]:
        return self._result("check_polling", plugin_state=state, **request)

    def _result(self, action: str, **request: Any) -> dict[str, Any]:
        answer = self._plugin.call(action, **self._named | request)
        assert answer.error is None
        [result] = answer.chunks
        return {key: value for key, value in result.items() if value is not None}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(clock: Clock) -> Iterator[ResponsesSimulator]:
    """Run a server that needs a minute for an answer."""
    turns = [[Reasoning(summary=("Hm.",)), Text(text="300 pages. STOP Or so.")]]
    turns += [[Text(text='{"pages": 300}')], [Text(text="No idea.")]]
    with ResponsesSimulator(
        model=ScriptedModel(turns), background_seconds=60, clock=clock
    ) as running:
        yield running


def paths(server: ResponsesSimulator) -> list[str]:
    return [f"{request.method} {request.path}" for request in server.requests]


def test_the_variant_is_a_plugin_of_its_own_for_newer_versions_of_dify() -> None:
    manifest = CHANGES["manifest.yaml"]
    assert manifest["name"] == "openai_gpt5_responses_polling"
    assert manifest["meta"] == {"minimum_dify_version": "1.15.0"}
    assert CHANGES["models/llm/*.yaml"] == {"features": ["polling"]}
    for pattern, change in CHANGES.items():
        assert any(fnmatch(str(path.relative_to(PLUGIN)), pattern) for path in PLUGIN.rglob("*"))
        for texts in (change.get("label"), change.get("description")):
            assert texts is None or texts.keys() == {"en_US", "zh_Hans", "ja_JP"}
            assert all(len(text) < 75 for text in (texts or {}).values())
    plain = list((PLUGIN / "models/llm").glob("gpt*.yaml"))
    assert not any("\n- polling\n" in path.read_text(encoding="utf-8") for path in plain)
    assert all(profile_for(path.stem).structured_outputs for path in plain)


@pytest.mark.parametrize(
    ("summary", "thoughts"), [("auto", ""), ("concise", "<think>\nHm.\n</think>")]
)
def test_an_answer_is_begun_and_asked_for_until_it_is_there(
    hasty: ModelPlugin, server: ResponsesSimulator, clock: Clock, summary: str, thoughts: str
) -> None:
    node = Node(hasty, server)
    begun = node.start(model_parameters={"reasoning_summary": summary, "max_tokens": 500})
    assert begun["status"] == "running"
    assert (begun["next_check_after_seconds"], begun["expires_after_seconds"]) == (2, 7200)
    [state] = begun["plugin_state"].values()
    assert state.startswith("resume:resp_")

    clock.ahead = 20
    running = node.check(begun["plugin_state"])
    assert (running["status"], running["plugin_state"]) == ("running", begun["plugin_state"])

    clock.ahead = 61
    done = node.check(begun["plugin_state"])
    assert done["status"] == "succeeded"
    result = done["result"]
    assert result["message"]["content"] == thoughts + "300 pages. STOP Or so."
    assert (result["message"]["opaque_body"], result["message"]["tool_calls"]) == (None, [])
    usage = result["usage"]
    assert float(usage["prompt_price"]) > 0
    assert float(usage["completion_price"]) > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]

    body = server.requests[0].body
    assert (body["background"], body["store"]) == (True, True)
    # Only LLM nodes are polled, whose settings are a person's own.
    assert (body["reasoning"]["effort"], body["max_output_tokens"]) == ("medium", 500)
    assert "include" not in body
    assert paths(server).count("POST /v1/responses") == 1


def test_a_call_has_the_tool_s_own_name(hasty: ModelPlugin, clock: Clock) -> None:
    [sent] = valid_tool_names([("", "my tool")])
    model = ScriptedModel([[FunctionCall(name=sent, arguments={})]])
    with ResponsesSimulator(model=model, background_seconds=60, clock=clock) as server:
        node = Node(hasty, server)
        tool = {"name": "my tool", "description": "", "parameters": {}}
        begun = node.start(tools=[tool])
        clock.ahead = 61
        [call] = node.check(begun["plugin_state"])["result"]["message"]["tool_calls"]
    assert call["function"]["name"] == "my tool"


def test_a_stop_sequence_ends_the_answer(
    hasty: ModelPlugin, server: ResponsesSimulator, clock: Clock
) -> None:
    node = Node(hasty, server)
    begun = node.start(stop=["STOP"])
    clock.ahead = 61
    done = node.check(begun["plugin_state"])
    assert done["result"]["message"]["content"].endswith("300 pages. ")


@pytest.mark.parametrize("in_parameters", [True, False])
def test_a_structured_answer_is_decoded(
    hasty: ModelPlugin, clock: Clock, *, in_parameters: bool
) -> None:
    asked: dict[str, Any] = {"json_schema": SCHEMA}
    if in_parameters:
        told = json.dumps({"name": "pages", "schema": SCHEMA})
        asked["model_parameters"] = {"json_schema": told}
    pages = Text(text='{"pages": 300}')
    model = ScriptedModel([[Reasoning(summary=("Hm.",)), pages, pages]])
    with ResponsesSimulator(model=model, background_seconds=60, clock=clock) as server:
        node = Node(hasty, server)
        begun = node.start(**asked)
        clock.ahead = 61
        result = node.check(begun["plugin_state"])["result"]
        format_ = server.requests[0].body["text"]["format"]
    assert result["message"]["content"] == '{"pages": 300}'
    assert result["structured_output"] == {"pages": 300}
    assert (format_["schema"], format_["name"]) == (
        SCHEMA,
        "pages" if in_parameters else "llm_response",
    )


@pytest.mark.parametrize(("text", "structured"), [("No idea.", None), ("[1]", [1])])
def test_an_answer_that_is_no_object_is_told(
    hasty: ModelPlugin, clock: Clock, text: str, structured: object
) -> None:
    model = ScriptedModel([[Text(text=text)]])
    with ResponsesSimulator(model=model, background_seconds=60, clock=clock) as server:
        node = Node(hasty, server)
        begun = node.start(json_schema=SCHEMA)
        clock.ahead = 61
        done = node.check(begun["plugin_state"])
    if structured is None:
        assert done["status"] == "failed"
        assert "not the JSON that was asked for" in done["error"]
    else:
        assert done["result"]["message"]["content"] == text


def test_nobody_else_can_use_the_state(hasty: ModelPlugin, server: ResponsesSimulator) -> None:
    state = Node(hasty, server).start()["plugin_state"]
    before = len(server.requests)
    others = [
        Node(hasty, server, key="another").check(state),
        Node(hasty, server).check(state, user_id="another"),
        Node(hasty, server).check(state, model="gpt-5.1"),
        Node(hasty, server).check({"response": "resume:resp_1/0/AAAAAAAAAAAAAAAAAAAAAA"}),
        Node(hasty, server).check({"other": 1}),
    ]
    for result in others:
        assert result["status"] == "failed"
        assert "cannot be asked for" in result["error"]
    assert len(server.requests) == before


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"model_parameters": {"max_output_tokens": "many"}}, "max_output_tokens must be"),
        ({"credentials": {}}, "openai_api_key is required"),
        ({"stop": ["x" * 600]}, "stop must be at most 512 characters"),
        ({"model_parameters": {"flex_fallback": "perhaps"}}, "flex_fallback must be"),
    ],
)
def test_a_call_that_cannot_be_made_fails_and_raises_nothing(
    hasty: ModelPlugin, server: ResponsesSimulator, request_: Mapping[str, Any], problem: str
) -> None:
    result = Node(hasty, server).start(**request_)
    assert result["status"] == "failed"
    assert problem in result["error"]


def test_a_refusal_is_told(hasty: ModelPlugin, server: ResponsesSimulator) -> None:
    server.add_fault(HttpError(status=401, message="Incorrect API key provided: key-secret."))
    result = Node(hasty, server, key="key-secret").start()
    assert result["status"] == "failed"
    assert "key-secret" not in result["error"]


def answering(body: Mapping[str, Any], status: str = "200 OK") -> Any:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(data)}"
    return lambda peer: peer.sendall(f"{head}\r\nconnection: close\r\n\r\n".encode() + data)


def test_an_outage_while_it_is_asked_for_ends_nothing(hasty: ModelPlugin) -> None:
    queued = {"id": "resp_1", "status": "queued", "output": [], "created_at": time.time()}
    message = {"type": "message", "content": [{"type": "output_text", "text": "300 pages."}]}
    done = {**queued, "status": "completed", "output": [message]}
    failed = {
        **queued,
        "status": "failed",
        "error": {"code": "server_error", "message": "Oh.\r\nNo."},
    }
    outages = (answering({}, "503 Service Unavailable"), answering({}, "429 Too Many Requests"))
    refused = answering({}, "401 Unauthorized")
    answers = [answering(queued), *outages, answering(done), answering(failed), refused]

    def answer_next(peer: socket.socket) -> None:
        answers.pop(0)(peer)

    with RawServer(answer_next) as server:
        node = Node(hasty, server)
        state = node.start()["plugin_state"]
        for _ in outages:
            later = node.check(state)
            assert (later["status"], later["next_check_after_seconds"]) == ("running", 30)
        done = node.check(state)
        assert done.get("error") is None
        assert done["result"]["message"]["content"] == "300 pages."
        # What lasts is told.
        assert node.check(state)["error"] == "The response failed: Oh. No."
        assert "key" in node.check(state)["error"]


def test_an_answer_that_nobody_could_fetch_any_more_is_stopped(
    hasty: ModelPlugin, clock: Clock
) -> None:
    clock.ahead = -6950  # the server took the request nearly two hours ago
    with ResponsesSimulator(background_seconds=9000, clock=clock) as server:
        node = Node(hasty, server)
        result = node.check(node.start()["plugin_state"])
        assert paths(server)[-1].endswith("/cancel")
    assert result["status"] == "failed"
    assert "two hours" in result["error"]


def test_an_answer_that_was_cancelled_or_deleted_is_told(
    hasty: ModelPlugin, server: ResponsesSimulator, run_inside: Any
) -> None:
    node = Node(hasty, server)
    state = node.start()["plugin_state"]
    response_id = state["response"].split(":")[1].split("/")[0]
    client = f"""
import json
from gpt5_responses import Connection, ModelConfig, ResponsesClient, cancel_background
url = {server.base_url!r}
config = ModelConfig(model_id="gpt-5.2", api_key="key", base_url=url)
"""
    cancel = f'cancel_background(config.connect(), {response_id!r})\nprint("null")'
    delete = f'ResponsesClient(config).delete({response_id!r})\nprint("null")'
    run_inside(client + cancel)
    assert node.check(state)["error"] == "The answer was cancelled at the server."
    run_inside(client + delete)
    assert "has no response" in node.check(state)["error"]


def test_a_budget_that_went_into_reasoning_is_told(hasty: ModelPlugin, clock: Clock) -> None:
    model = ScriptedModel([[Reasoning(summary=("word " * 200,)), Text(text="Done.")]])
    with ResponsesSimulator(model=model, background_seconds=60, clock=clock) as server:
        node = Node(hasty, server)
        begun = node.start(model_parameters={"max_output_tokens": 16})
        clock.ahead = 61
        result = node.check(begun["plugin_state"])
    assert result["status"] == "failed"
    assert "max_output_tokens" in result["error"]
