"""Every body that the client, an agent and the plugin send, asked of the classes by which servers read a request."""

import json
import subprocess
from pathlib import Path

import pytest

from gpt5_responses import ModelConfig, Request, ResponsesClient
from gpt5_simulator import LIKENESSES
from proxies import KEY
from talks import TALKS, TOOL
from upstream import MODEL, serve_responses


_READER = Path(__file__).with_name("request_classes.py")
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
# What a caller may ask for besides.
_SETTINGS = [
    {"effort": "high", "verbosity": "low", "max_output_tokens": 1000},
    {"json_schema": _SCHEMA},
    {"temperature": 0.5, "top_p": 0.9},
    {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False},
    {"tools": [TOOL], "tool_choice": {"type": "function", "name": TOOL["name"]}},
    {"tools": [TOOL], "tool_choice": "none"},
]


def _ask(environments, name, bodies):
    """Return what a class has against each of the bodies that it refuses."""
    # So many texts that end an answer vLLM reads from its environment.
    done = subprocess.run(
        [environments / "classes/bin/python", _READER, name],
        input="\n".join(map(json.dumps, bodies)),
        env={"VLLM_MAX_STOP_STRINGS": "64"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", ["open-responses", "openrouter", "sglang", "vllm"])
async def test_a_server_s_class_takes_every_body_that_is_sent_to_it(name, environments):
    # What is sent depends on what answers: vLLM is given no reasoning that it cannot read.
    like = name if name in LIKENESSES else None
    with serve_responses(like=like) as (base_url, asked):
        for talk in TALKS.values():
            await talk(base_url, MODEL, KEY)
        client = ResponsesClient(ModelConfig(model_id=MODEL, api_key=KEY, base_url=base_url))
        for settings in _SETTINGS:
            client.complete(Request(messages=[{"role": "user", "content": "Hello."}], **settings))
        bodies = asked()
    assert len(bodies) == 4 * len(TALKS) + len(_SETTINGS)
    assert _ask(environments, name, bodies) == []
