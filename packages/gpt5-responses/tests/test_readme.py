import os
import re
import subprocess
import sys
from pathlib import Path

from gpt5_simulator import ResponsesSimulator


README = Path(__file__).parent.parent / "README.md"


def test_the_readme_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)

    with ResponsesSimulator() as server:
        settings = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.base_url}
        run = subprocess.run(
            [sys.executable, "-c", example],
            env={**os.environ, **settings},
            capture_output=True,
            check=True,
            text=True,
        )

    assert "Usage(" in run.stdout
