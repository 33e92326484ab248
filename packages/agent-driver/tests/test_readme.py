import re
from pathlib import Path

import pytest


README = Path(__file__).parent.parent / "README.md"
PAGES = sorted((README.parents[2] / "docs" / "agent-driver").glob("*.md"))


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page):
    examples = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, str(page), "exec"), {"__name__": "example"})
