import os
import re
import subprocess
import sys
from pathlib import Path

from gpt5_simulator import SIMULATOR_KEY, ResponsesSimulator


README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


# One process for all examples: starting it costs more than they do.
RUN_EACH = "import sys\nfor example in sys.argv[1:]:\n    exec(example, {})\n    print('-' * 9)"


def test_each_example_of_the_readme_runs() -> None:
    with ResponsesSimulator() as server:
        settings = {"OPENAI_API_KEY": SIMULATOR_KEY, "OPENAI_BASE_URL": server.base_url}
        run = subprocess.run(
            [sys.executable, "-c", RUN_EACH, *EXAMPLES],
            env={**os.environ, **settings},
            capture_output=True,
            check=True,
            text=True,
        )

    call, conversation, session, background, cost, _ = run.stdout.split("-" * 9)
    assert "Tokyo" in call
    assert "Usage(" in conversation
    assert "websocket" in session
    assert "completed" in background
    assert "USD" in cost
