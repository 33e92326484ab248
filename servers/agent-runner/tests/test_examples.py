import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_runner import (
    AudioOutput,
    ErrorOutput,
    ImageOutput,
    JsonOutput,
    ResourceOutput,
    TextOutput,
    classify_line,
)


EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def example(tmp_path):
    """Return a function that copies an example, so that its logs stay out of the repository."""
    return lambda name: Path(shutil.copytree(EXAMPLES / name, tmp_path / name))


async def test_one_example_prints_every_type(example, run_agent):
    outputs, result = await run_agent(example("every_output"))
    kinds = {type(output) for output in outputs}
    assert kinds == {TextOutput, JsonOutput, ImageOutput, AudioOutput, ResourceOutput, ErrorOutput}
    assert result.metadata == {"_profile_data": [{"steps": 1}]}
    assert result.status == "succeeded"


def _run_alone(folder):
    command = [sys.executable, "main.py"]
    done = subprocess.run(command, cwd=folder, env={}, input=b"{}", capture_output=True, check=True)
    return done.stdout.splitlines()


async def test_a_script_can_be_tried_without_the_runner(example, run_agent):
    folder = example("every_output")
    alone = [classify_line(line) for line in _run_alone(folder)]
    outputs, _ = await run_agent(folder)
    said = [output for output in outputs if not isinstance(output, ErrorOutput)]
    assert list(map(type, alone)) == list(map(type, said))
    assert alone[2:] == said[2:]


async def test_one_example_fails_and_what_it_said_is_kept(example, run_agent):
    outputs, result = await run_agent(example("failing"), {"prompt": "test"})
    said = "cannot answer 'test': this example always fails"
    assert outputs == [TextOutput(text="Half of the work is done"), ErrorOutput(message=said)]
    assert (result.status, result.exit_code) == ("failed", 1)


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*/main.py")), ids=lambda path: path.parent.name
)
def test_every_example_declares_its_dependencies(path):
    assert re.match(r"# /// script\n(# .*\n)+# ///\n", path.read_text(encoding="utf-8"))
