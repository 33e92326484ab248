import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpt5_simulator import SIMULATOR_KEY, ResponsesSimulator


README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    ("example", "told"), [*zip(EXAMPLES, ["Usage(", "completed"], strict=True)]
)
def test_each_example_of_the_readme_runs(example: str, told: str) -> None:
    with ResponsesSimulator() as server:
        settings = {"OPENAI_API_KEY": SIMULATOR_KEY, "OPENAI_BASE_URL": server.base_url}
        run = subprocess.run(
            [sys.executable, "-c", example],
            env={**os.environ, **settings},
            capture_output=True,
            check=True,
            text=True,
        )

    assert told in run.stdout
