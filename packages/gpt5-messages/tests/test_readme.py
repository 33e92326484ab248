import doctest
import re
from pathlib import Path

import pytest

import gpt5_messages


README = Path(__file__).parent.parent / "README.md"
EXAMPLES = [
    example
    for name in gpt5_messages.__all__
    for example in doctest.DocTestFinder(recurse=False).find(getattr(gpt5_messages, name), name)
    if example.examples
]


def test_the_readme_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)

    exec(compile(example, str(README), "exec"), {})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_docstring_example_runs(example: doctest.DocTest) -> None:
    assert doctest.DocTestRunner().run(example).failed == 0
