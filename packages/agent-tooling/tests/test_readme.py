import re
from pathlib import Path

import pytest


README = Path(__file__).parents[1] / "README.md"


BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=["tools", "declarations"])
def test_each_example_of_the_readme_runs(block):
    exec(compile(block, str(README), "exec"), {})
