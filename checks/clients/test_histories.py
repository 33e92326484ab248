"""Conversations that other libraries have kept go on with our packages.

Each library holds one for real, with a picture, a document and tools.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpt5_responses import ModelConfig, Request, ResponsesClient
from gpt5_simulator import FunctionCall, Reasoning, ResponsesSimulator, ScriptedModel, Text


FOLDER = Path(__file__).parent
TURNS = [
    [
        Reasoning(summary=("Both tools.",)),
        FunctionCall(name="calculator", arguments={"expression": "17 * 23"}),
        FunctionCall(name="chart", arguments={}),
    ],
    [Text(text="It is 391.")],
    [Text(text="Of the chart.")],
]


@pytest.fixture
def server():
    with ResponsesSimulator(model=ScriptedModel(TURNS)) as simulator:
        yield simulator


def hold_conversation(library, server):
    """Run the library's program in an environment of its own and return what `build_input` makes of its history, live and dumped."""
    script = FOLDER / f"with_{library}.py"
    subprocess.run(["uv", "sync", "-q", "--script", script, "--python", sys.executable], check=True)
    python = subprocess.check_output(["uv", "python", "find", "--script", script], text=True)
    variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.base_url}
    done = subprocess.run(
        [python.strip(), script],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def find(items, kind):
    """Iterate over the parts of a kind, wherever they stand."""
    for value in items.values() if isinstance(items, dict) else items:
        if isinstance(value, dict | list):
            yield from find(value, kind)
            if isinstance(value, dict) and value.get("type") == kind:
                yield value


@pytest.mark.parametrize(
    ("library", "thoughts"),
    [
        ("openai_agents", 1),
        ("pydantic_ai", 0),
        ("langchain", 0),
    ],  # the others keep them in forms of their own
)
def test_a_history_that_a_library_holds_goes_on(library, thoughts, server):
    histories = hold_conversation(library, server)
    items = histories["live"]
    assert histories["dumped"] == items
    sent = server.requests[-1].body["input"]

    calls = list(find(items, "function_call"))
    outputs = {item["call_id"]: item["output"] for item in find(items, "function_call_output")}
    assert [call["name"] for call in calls] == ["calculator", "chart"]
    calculated, _ = (outputs.pop(call["call_id"]) for call in calls)
    assert (calculated, outputs) == ("391", {})
    pictures = [part["image_url"] for part in find(items, "input_image")]
    assert pictures == [part["image_url"] for part in find(sent, "input_image")]
    assert len(pictures) == 2
    [document] = find(items, "input_file")
    assert document["file_data"] == "data:application/pdf;base64,JVBERi0xLjc="
    kept = [item for item in find(items, "reasoning") if item["encrypted_content"]]
    assert len(kept) == thoughts
    assert "It is 391." in json.dumps(items[-1])

    config = ModelConfig(model_id="gpt-5.2", api_key="k", base_url=server.base_url)
    question = {"role": "user", "content": "Of what?"}
    answer = ResponsesClient(config).complete(Request(messages=[*items, question]))
    assert answer.text == "Of the chart."
    first, *others = server.requests[-1].body["input"][: len(items)]
    assert others == items[1:]
    assert first["content"] == items[0]["content"]  # whose role is `developer` on the wire
