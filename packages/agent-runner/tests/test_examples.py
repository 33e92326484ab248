import asyncio
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_runner import (
    AgentRunner,
    AudioOutput,
    ErrorOutput,
    ImageOutput,
    JsonOutput,
    ResourceOutput,
    TextOutput,
)
from gpt5_simulator import SIMULATOR_KEY, ResponsesSimulator


EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def example(tmp_path):
    """Return a function that copies an example, so that its logs stay out of the repository."""
    return lambda name: Path(shutil.copytree(EXAMPLES / name, tmp_path / name))


PROMPT = {"prompt": "What is the weather in Tokyo?"}


@pytest.fixture(scope="module")
def simulator():
    with ResponsesSimulator() as simulator:
        yield simulator


@pytest.fixture(scope="module")
def variables(simulator):
    return {"OPENAI_BASE_URL": simulator.base_url, "OPENAI_API_KEY": SIMULATOR_KEY}


@pytest.fixture(scope="module")
def weather(simulator, variables, tmp_path_factory):
    """Return the outputs and the result of the weather agent, and its last request to the model."""
    folder = shutil.copytree(EXAMPLES / "weather", tmp_path_factory.mktemp("agents") / "weather")
    runner = AgentRunner(command=[sys.executable, "main.py"], production_env=variables)

    async def collect():
        return [output async for output in runner.run(folder, PROMPT)]

    *outputs, result = asyncio.run(collect())
    return outputs, result, simulator.requests[-1].body


def test_the_weather_agent_calls_its_tool_and_answers(weather):
    [text, answer], result, request = weather
    items = [item for item in request["input"] if "output" in item]
    assert text == TextOutput(text="Looking up: What is the weather in Tokyo?")
    assert [item["output"] for item in items] == ["Tokyo: sunny, 24 degrees"]
    assert "24 degrees" in answer.value["answer"]
    assert result.status == "succeeded"
    assert result.metadata["_llm_usage"][0]["requests"] == 2


def test_the_script_alone_gives_the_same_answer(example, weather, variables):
    [_, answer], _, _ = weather
    alone = subprocess.run(
        [sys.executable, "main.py"],
        cwd=example("weather"),
        env=variables | {"OPENAI_AGENTS_DISABLE_TRACING": "1"},
        input=json.dumps(PROMPT),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(alone.stdout.splitlines()[-1])["answer"] == answer.value["answer"]


def test_an_unreachable_model_fails_the_run(example, run_agent):
    variables = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": SIMULATOR_KEY}
    outputs, result = run_agent(example("weather"), PROMPT, production_env=variables)
    assert (result.status, result.exit_code) == ("failed", 1)
    assert any(isinstance(output, ErrorOutput) for output in outputs)


def test_one_example_prints_every_type(example, run_agent):
    outputs, result = run_agent(example("every_output"))
    kinds = {type(output) for output in outputs}
    assert kinds == {TextOutput, JsonOutput, ImageOutput, AudioOutput, ResourceOutput, ErrorOutput}
    assert result.metadata == {"_profile_data": [{"steps": 1}]}
    assert result.status == "succeeded"


def test_one_example_fails_and_what_it_said_is_kept(example, run_agent):
    outputs, result = run_agent(example("failing"), {"prompt": "test"})
    said = "cannot answer 'test': this example always fails"
    assert outputs == [TextOutput(text="Half of the work is done"), ErrorOutput(message=said)]
    assert (result.status, result.exit_code) == ("failed", 1)


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*/main.py")), ids=lambda path: path.parent.name
)
def test_every_example_declares_its_dependencies(path):
    assert re.match(r"# /// script\n(# .*\n)+# ///\n", path.read_text(encoding="utf-8"))
