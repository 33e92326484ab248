import sys
from pathlib import Path

import pytest

from agent_runner import AgentRunner, TextOutput
from gpt5_simulator import SIMULATOR_KEY, ResponsesSimulator


PROMPT = "What is the current time and the weather in Tokyo?"
WEATHER = Path(__file__).parents[2] / "examples" / "weather" / "main.py"


@pytest.fixture
def lay_out(run_command):
    return lambda folder: run_command("new", folder)


def test_a_new_agent_is_laid_out_whole(lay_out, tmp_path):
    done = lay_out(tmp_path / "deep" / "agent")
    names = {path.name for path in (tmp_path / "deep" / "agent").iterdir()}
    assert names == {"main.py", "input_schema.json", ".env.example", ".gitignore"}
    assert {Path(line).name for line in done.stdout.decode().splitlines()} == names
    assert done.returncode == 0


# One process for both, since the library that they are written with takes seconds to load.
RUN_EACH = """
import io, runpy, sys
fields = sys.stdin.read()
for script in sys.argv[1:]:
    sys.stdin = io.StringIO(fields)
    runpy.run_path(script, run_name="__main__")
"""


async def test_a_new_agent_and_the_example_call_their_tools_and_answer(lay_out, tmp_path):
    lay_out(tmp_path)
    with ResponsesSimulator() as simulator:
        runner = AgentRunner(
            command=[sys.executable, "-c", RUN_EACH, "main.py", WEATHER],
            production_env={
                "OPENAI_BASE_URL": simulator.base_url,
                "OPENAI_API_KEY": SIMULATOR_KEY,
                "OPENAI_AGENTS_DISABLE_TRACING": "1",  # else it tries to reach OpenAI before it ends
            },
        )
        stream = runner.run(tmp_path, {"prompt": PROMPT})
        *outputs, result = [output async for output in stream]
        asked = [request.body["input"] for request in simulator.requests]
    new, said, weather = outputs
    results = [[one["output"] for one in items if "output" in one] for items in asked]
    assert result.status == "succeeded"
    assert [len(each) for each in results] == [0, 1, 0, 1]
    assert results[3] == ["Tokyo: sunny, 24 degrees"]
    assert set(new.value) == {"answer"}
    assert said == TextOutput(text=f"Looking up: {PROMPT}")
    assert "24 degrees" in weather.value["answer"]
    assert result.metadata["_llm_usage"][0]["requests"] == 2


def test_nothing_is_overwritten(lay_out, tmp_path):
    (tmp_path / "main.py").write_text("mine")
    done = lay_out(tmp_path)
    assert (
        done.stderr.decode()
        == f"agent-runner: {tmp_path}: expected a folder that is new or empty\n"
    )
    assert done.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["main.py"]


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_told(lay_out, tmp_path, name):
    (tmp_path / "file").touch()
    done = lay_out(tmp_path / name)
    assert "expected a folder to write to" in done.stderr.decode()
    assert done.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
