"""Answers that take longer than a call may: polled by the variant of the model plugin, and taken up in the next turn by the plain one."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from client import DaemonClient, DaemonError
from dify import MODEL_PLUGIN, credentials, model_call, user
from gpt5_simulator import Reasoning, ResponsesSimulator, ScriptedModel, Text
from servers import SERVER_KEY


ROOT = Path(__file__).parents[2]
POLLED = f"{MODEL_PLUGIN}_polling"
LIMIT = 4
"""How long a call may take, in seconds."""
THOUGHT, ANSWER = "One after the other.", " ".join(map(str, range(80)))


@pytest.fixture(scope="module")
def client(start_daemon, packages, folder):
    """A tenant that has the plain model plugin and its polling variant, by a daemon that has little time."""
    command = [Path(sys.executable).with_name("dify-host"), "package", "--variant", "polling"]
    output = folder / "variant"
    subprocess.run([*command, "--output", output], cwd=ROOT, check=True, capture_output=True)
    with start_daemon(PLUGIN_MAX_EXECUTION_TIMEOUT=str(LIMIT)) as daemon:
        client = DaemonClient(daemon.base_url, SERVER_KEY)
        for package in (packages[0], *output.iterdir()):
            client.install(package)
        yield client


@pytest.fixture
def slow():
    """Run a server that takes longer than a call may."""
    turns = [[Reasoning(summary=(THOUGHT,)), Text(text=ANSWER)]]
    with ResponsesSimulator(model=ScriptedModel(turns), background_seconds=LIMIT + 2) as server:
        yield server


def frame(client, plugin, action, data):
    [answer] = client.frames(plugin, f"model/polling/{action}", {"user_id": "user", "data": data})
    return answer


def test_the_variant_is_polled_beside_the_plain_plugin(client, slow):
    asked = {**model_call(slow.base_url, user("Count.")), "stream": False}
    begun = frame(client, POLLED, "start", asked)
    assert begun["code"] == 0, begun
    data = begun["data"]
    named = {key: asked[key] for key in ("provider", "model", "model_type", "credentials")}
    checks = 0
    while data["status"] == "running":
        time.sleep(1)
        checks += 1
        state = {"plugin_state": data["plugin_state"]}
        data = frame(client, POLLED, "check", {**named, **state})["data"]
    assert (data["status"], checks > 3) == ("succeeded", True)
    assert data["result"]["message"]["content"] == ANSWER  # read by machine, so without the thought
    assert data["result"]["usage"]["total_tokens"] > 0
    # Another key gets nothing of it, and is told so.
    other = {**named, "credentials": {**credentials(slow.base_url), "openai_api_key": "sk-other"}}
    refused = frame(client, POLLED, "check", {**other, **state})
    assert refused["data"]["status"] == "failed"
    assert "cannot be asked for" in refused["data"]["error"]
    # The plain plugin declares nothing of the kind: the SDK raises, which Dify shows as a server error.
    assert frame(client, MODEL_PLUGIN, "start", asked)["code"] == -500


def test_a_structured_answer_is_decoded(client):
    schema = {"type": "object", "properties": {"pages": {"type": "integer"}}}
    model = ScriptedModel([[Text(text='{"pages": 300}')]])
    with ResponsesSimulator(model=model, background_seconds=0.1) as server:
        asked = {**model_call(server.base_url, user("How many?")), "stream": False}
        data = frame(client, POLLED, "start", {**asked, "json_schema": schema})["data"]
        time.sleep(0.2)
        named = {key: asked[key] for key in ("provider", "model", "model_type", "credentials")}
        state = {"plugin_state": data["plugin_state"]}
        data = frame(client, POLLED, "check", {**named, **state})["data"]
    assert data["result"]["structured_output"] == {"pages": 300}


def test_an_answer_goes_on_in_the_next_turn(client, slow):
    messages, shown = [user("Count.")], []
    while len(shown) < 5:
        call = model_call(slow.base_url, *messages, background=True)
        frames = list(client.call(MODEL_PLUGIN, "llm/invoke", call))
        contents = [one["delta"]["message"]["content"] for one in frames]
        shown.append("".join(contents))
        if "resume:" not in shown[-1]:
            break
        told = {"role": "assistant", "content": shown[-1], "tool_calls": []}
        messages += [told, user("continue")]
    assert len(shown) == 2
    said = re.sub("\u2063[^\u2063]*\u2063|</?think>", "", "".join(shown))
    assert "".join(said.split()) == "".join((THOUGHT + ANSWER).split())
    assert [request.method for request in slow.requests].count("POST") == 1
    assert frames[-1]["delta"]["usage"]["total_tokens"] > 0


def test_json_that_takes_too_long_is_stopped_before_the_limit(client, slow):
    asked = user("Count in JSON.")
    call = model_call(slow.base_url, asked, background=True, response_format="json_object")
    with pytest.raises(DaemonError) as ended:
        list(client.call(MODEL_PLUGIN, "llm/invoke", call))
    assert "JSON cannot go on in a later turn" in str(ended.value)
    assert slow.requests[-1].path.endswith("/cancel")
