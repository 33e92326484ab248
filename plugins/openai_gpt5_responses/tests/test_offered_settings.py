"""Whatever a model's form offers makes a request that the server accepts."""

import itertools
import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from gpt5_payloads import build_request, profile_for
from gpt5_simulator import ResponsesSimulator


ROOT = Path(__file__).parent.parent
NAMES = [path.stem for path in sorted((ROOT / "models/llm").glob("gpt-*.yaml"))]
RETIRED = [name for name in NAMES if profile_for(name).retired]
CURRENT = [name for name in NAMES if name not in RETIRED]
MESSAGES = [
    {"role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
    {"role": "user", "content": [{"type": "input_text", "text": "Hello."}]},
]
TOOL = {"name": "clock", "description": "Tell the time.", "parameters": {"type": "object"}}


DECLARED = {
    name: yaml.load((ROOT / f"models/llm/{name}.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader)
    for name in CURRENT
}


@pytest.fixture(scope="module")
def server():
    with ResponsesSimulator() as running:
        yield running


def options_of(model, name):
    declared = DECLARED[model]
    return next(rule["options"] for rule in declared["parameter_rules"] if rule["name"] == name)


def status_of(server, body):
    request = urllib.request.Request(
        f"{server.base_url}/responses",
        data=json.dumps(body).encode(),
        headers={"Authorization": "Bearer sk-test", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def each_once(*options):
    """Yield combinations in which each option occurs."""
    for number in range(max(map(len, options))):
        yield tuple(each[number % len(each)] for each in options)


@pytest.mark.parametrize(
    "combine", [each_once, pytest.param(itertools.product, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("model", CURRENT)
def test_every_offered_setting_is_accepted(server, model, combine):
    names = ("reasoning_effort", "reasoning_summary", "verbosity")
    refused = []
    for values in combine(*(options_of(model, name) for name in names)):
        body = build_request(
            model=model,
            input=MESSAGES,
            parameters=dict(zip(names, values, strict=True), enable_stream=False),
        )
        status, answer = status_of(server, body)
        if status != 200:
            refused.append((values, answer))

    assert refused == []


@pytest.mark.parametrize("model", CURRENT)
@pytest.mark.parametrize("choice", ["auto", "none", "required", "clock"])
def test_every_offered_tool_choice_is_accepted(server, model, choice):
    body = build_request(
        model=model,
        input=MESSAGES,
        parameters={"tool_choice": choice, "max_output_tokens": 1, "enable_stream": False},
        tools=[TOOL],
        stop=["END"],
        safety_identifier="a" * 64,
        prompt_cache_key="b" * 64,
    )

    assert status_of(server, body)[0] == 200


@pytest.mark.parametrize("model", RETIRED)
def test_a_retired_model_is_not_found(server, model):
    body = build_request(model=model, input=MESSAGES, parameters={})

    assert status_of(server, body)[0] == 404
