import re
from pathlib import Path

import pytest


README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.+?)```", README, re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_readme_examples_run(number):
    exec(compile(EXAMPLES[number], "README.md", "exec"), {})


def test_the_readme_has_examples():
    assert len(EXAMPLES) == 2
