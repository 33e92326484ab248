import sys
from pathlib import Path

import pytest

from agent_runner import AgentRunner
from gpt5_simulator import SIMULATOR_KEY, ResponsesSimulator


@pytest.fixture
def lay_out(run_command):
    return lambda folder: run_command("new", folder)


def test_a_new_agent_is_laid_out_whole(lay_out, tmp_path):
    done = lay_out(tmp_path / "deep" / "agent")
    names = {path.name for path in (tmp_path / "deep" / "agent").iterdir()}
    assert names == {"main.py", "input_schema.json", ".env.example", ".gitignore"}
    assert {Path(line).name for line in done.stdout.decode().splitlines()} == names
    assert done.returncode == 0


async def test_a_new_agent_calls_its_tool_and_answers(lay_out, tmp_path):
    lay_out(tmp_path)
    with ResponsesSimulator() as simulator:
        runner = AgentRunner(
            command=[sys.executable, "main.py"],
            production_env={
                "OPENAI_BASE_URL": simulator.base_url,
                "OPENAI_API_KEY": SIMULATOR_KEY,
                "OPENAI_AGENTS_DISABLE_TRACING": "1",  # else it tries to reach OpenAI before it ends
            },
        )
        stream = runner.run(tmp_path, {"prompt": "What is the current time?"})
        *outputs, result = [output async for output in stream]
        kinds = [item.get("type") for item in simulator.requests[-1].body["input"]]
    assert result.status == "succeeded"
    assert "function_call_output" in kinds
    assert set(outputs[-1].value) == {"answer"}


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
