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


def test_the_readme_examples_run() -> None:
    examples = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)

    for example in examples:
        exec(compile(example, str(README), "exec"), {})
    assert len(examples) == 4


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_docstring_example_runs(example: doctest.DocTest) -> None:
    assert doctest.DocTestRunner().run(example).failed == 0
